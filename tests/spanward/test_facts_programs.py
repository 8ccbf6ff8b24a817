"""Do a program's last words say that it failed? What programs print when they do, and what only looks like it."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward.facts import foreign_text_tool, result_facts
from spanward.facts.programs import complaint, shows

from tests.outputs import outputs

FAILED = outputs("programs/failed.txt")
FINE = outputs("programs/fine.txt")
SHOWS = [
    "cat build.log",
    "cd app && tail -n 50 build.log",
    "git log --oneline",
    "docker logs web",
    "kubectl logs pod/x",
    "grep -rn Error src",
    "journalctl -u web | tail",
    "sed -n 1,20p a.py",
    "ls; cat a.txt",
]
RUNS = ["make 2>&1 | tail -20", "npm test | grep -v ok", "python a.py", "git push", "docker build .", "cargo build"]


@pytest.mark.parametrize("name", FAILED)
def test_a_program_that_failed_is_believed_by_its_last_words(name: str) -> None:
    """The line that says so is found, also below much that went well, and is the text that makes the signature."""
    line = complaint(FAILED[name])
    assert line
    assert line in FAILED[name]
    assert complaint("step done\n" * 300 + FAILED[name].strip()) or FAILED[name].count("\n")


@pytest.mark.parametrize("name", FINE)
def test_a_program_that_worked_is_not_taken_for_one_that_failed(name: str) -> None:
    """Warnings, tallies of tests, sources and what was got over say nothing."""
    assert complaint(FINE[name]) == ""


def test_the_end_of_a_long_output_counts_and_not_its_middle() -> None:
    """What a program complained of and got over is no failure."""
    assert complaint("x\n" * 100 + "cp: cannot stat 'a': No such file or directory\n" + "x\n" * 100) == ""
    assert complaint("x\n" * 100 + "cp: cannot stat 'a': No such file or directory")


def test_tools_that_run_programs_are_known_by_their_names_and_judged_by_last_words() -> None:
    """A shell, an interpreter and whatever runs commands or code; a reader or a trade is none."""
    for name in ("bash", "run_terminal", "execute_python", "Shell", "run_command", "executeCode", "python_repl"):
        assert foreign_text_tool(name) == "program", name
    for name in ("execute_trade", "run_report", "read_file", "web_search", "get_weather"):
        assert foreign_text_tool(name) != "program", name
    failed = "Reading rows\nTraceback (most recent call last):\n  File \"a.py\", line 1\nKeyError: 'a'"
    assert result_facts(failed, foreign_text="program").error == "text"
    assert result_facts(failed, foreign_text="by_name").error == ""


@pytest.mark.parametrize("command", SHOWS)
def test_a_command_that_shows_what_others_wrote_brings_no_words_of_its_own(command: str) -> None:
    """A log that ends in an error is no failure of who reads it."""
    assert shows(command)
    assert foreign_text_tool("bash", json.dumps({"command": command})) == "by_name"


@pytest.mark.parametrize("command", RUNS)
def test_a_command_whose_output_is_cut_by_a_reader_is_still_the_program(command: str) -> None:
    """What is piped into tail or grep is the program's own output."""
    assert foreign_text_tool("bash", json.dumps({"command": command})) == "program"


def test_an_exit_code_in_the_last_line_of_a_program_counts() -> None:
    """Runners write it below the output, too."""
    assert result_facts("a\nb\n[exit code: 2]", foreign_text="program").exit_code == 2
    assert result_facts("a\nerror: x\n[exit code: 0]", foreign_text="program").error == ""


@given(st.text(max_size=3000))
def test_any_output_is_read_quickly(output: str) -> None:
    """No output raises, and none takes long."""
    began = time.thread_time()
    line = complaint(output)
    assert time.thread_time() - began < 0.2
    assert not line or line in output
