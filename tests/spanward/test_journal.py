"""The journal: what was about to happen is known even when the process is not there any more."""

import os
import signal
import subprocess
import sys
import textwrap

import pytest
from spanward.journal import Entry, Journal, unfinished


def entry(call="c1", run="r1", digest="sha256:a"):
    """A call about to be made."""
    return Entry(run, call, "pay", digest)


def test_finished_call_is_found_with_its_value():
    """Only the same call of the same run with the same arguments, and only when it succeeded."""
    journal = Journal()
    made = entry()
    journal.intent(made)
    assert journal.finished("r1", "c1", "sha256:a") is None
    journal.result(made, "ok", "sha256:b", {"paid": 1})

    assert journal.finished("r1", "c1", "sha256:a").value == {"paid": 1}
    assert journal.finished("r1", "c1", "sha256:other") is None
    assert journal.finished("r2", "c1", "sha256:a") is None


@pytest.mark.parametrize("state", ["error", "unknown", "cancelled"])
def test_failed_call_may_be_made_again(state):
    """What did not succeed is not finished."""
    journal = Journal()
    made = entry()
    journal.intent(made)
    journal.result(made, state, "", None)

    assert journal.finished("r1", "c1", "sha256:a") is None


def test_memory_is_bounded_and_ends_with_the_run():
    """The oldest calls are forgotten, and all of a run when it is over."""
    journal = Journal(capacity=3)
    for number in range(5):
        made = entry(f"c{number}")
        journal.intent(made)
        journal.result(made, "ok", "", number)

    assert [journal.finished("r1", f"c{n}", "sha256:a") is not None for n in range(5)] == [
        False,
        False,
        True,
        True,
        True,
    ]
    journal.forget("r1")
    assert journal.finished("r1", "c4", "sha256:a") is None


def test_file_holds_no_content(tmp_path):
    """Names, ids, digests and states are written; values are not."""
    path = tmp_path / "journal.jsonl"
    journal = Journal(str(path))
    made = entry()
    journal.intent(made)
    journal.result(made, "ok", "sha256:b", "very secret")
    journal.close()
    journal.close()

    text = path.read_text()
    assert text.count("\n") == 2
    assert "secret" not in text
    assert path.stat().st_mode & 0o077 == 0


def test_unfinished_calls_are_read_back(tmp_path):
    """Started and never ended, or abandoned; broken lines are passed over."""
    path = tmp_path / "journal.jsonl"
    journal = Journal(str(path))
    done, lost, abandoned = entry("done"), entry("lost"), entry("abandoned")
    for made in (done, lost, abandoned):
        journal.intent(made)
    journal.result(done, "ok", "", None)
    journal.result(abandoned, "unknown", "", None)
    journal.close()
    with path.open("a") as file:
        file.write('[1]\n{"run":\n')

    assert {found.call_id for found in unfinished(path)} == {"lost", "abandoned"}


def test_a_killed_process_leaves_its_intent(tmp_path):
    """SIGKILL in the middle of a call: the file says that the call had started."""
    path = tmp_path / "journal.jsonl"
    program = textwrap.dedent("""
        import os, signal, sys
        from spanward.journal import Entry, Journal
        Journal(sys.argv[1]).intent(Entry("r1", "c1", "pay", "sha256:a"))
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    ended = subprocess.run([sys.executable, "-c", program, str(path)], env=dict(os.environ), check=False)

    assert ended.returncode == -signal.SIGKILL
    assert [found.tool for found in unfinished(path)] == ["pay"]
