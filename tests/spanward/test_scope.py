"""What a call would reach, and the scope of a run that it must stay in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import spanward
from hypothesis import given, settings
from hypothesis import strategies as st
from spanward import semconv
from spanward.facts.commands import in_command, in_sql
from spanward.facts.reach import touched
from spanward.facts.scope import Outside, Scope, lexical, real
from spanward.testing import supervised


@pytest.mark.parametrize(
    ("arguments", "paths"),
    [
        ({"path": "a.txt"}, ("a.txt",)),
        ({"file_path": "/etc/passwd", "content": "/etc/shadow"}, ("/etc/passwd",)),
        ({"filename": "x", "file_id": "abc"}, ("x",)),
        ({"url": "file:///etc/passwd"}, ("/etc/passwd",)),
        ({"command": "cat < /etc/hosts >> out.log"}, ("/etc/hosts", "out.log")),
        ({"command": "cd /srv && cat a ../b | tee c"}, ("/srv/a", "/srv/../b", "/srv/c")),
        ({"cmd": ["rm", "-rf", "/a b"]}, ("/a b",)),
        ({"command": "bash -c 'cat /x'", "cwd": "/w"}, ("/x", "/w")),
        ({"command": "ls $HOME/x `pwd` 2>/dev/null"}, ()),
        ({"command": "sed -i 's/a/b/' x && git push origin feature/x"}, ()),
        ({"command": "tar czf --file=/out/x.tgz ."}, ("/out/x.tgz",)),
        ({"source": "web", "target": "de", "query": "a/b testing"}, ()),
        ({"source": "docs/a.md", "dest": "b.md"}, ("docs/a.md", "b.md")),
        ({"edits": [{"path": "src/a"}, {"path": "src/b"}]}, ("src/a", "src/b")),
        ({"question": "/why", "pattern": "/x/", "message": "/etc"}, ()),
        ("not a mapping", ()),
    ],
)
def test_paths_are_read_from_names_and_forms(arguments: object, paths: tuple[str, ...]) -> None:
    """Of arguments and of command lines; what is unknown is left out."""
    assert touched(arguments).paths == paths


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://example.com/x", "example.com"),
        ("https://example.com@evil.test/", "evil.test"),
        ("https://evil.test\\@example.com/", "evil.test"),
        ("HTTPS://Example.COM.:8443/", "example.com"),
        ("http://[::1]:80/", "::1"),
        ("http://2130706433/", "2130706433"),
    ],
)
def test_the_host_is_the_one_that_is_spoken_to(url: str, host: str) -> None:
    """Whatever a URL is dressed up as."""
    assert touched({"url": url}).hosts == (host,)
    assert touched({"command": f"curl -s '{url}'"}).hosts == (host,)


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("select * from orders o join public.users u on 1", ("orders", "public.users")),
        ("select a from t1, t2 as x where n = 'from z' -- from y", ("t1", "t2")),
        ("with c as (select 1 from a) select * from c", ("a",)),
        ('insert into "Log" (x) values (1); update acc set y = 2', ("log", "acc")),
        ("select extract(year from made), substring(a from 2) from t", ("t",)),
        ("delete from only x; drop table if exists y; truncate z", ("x", "y", "z")),
        ("select * from generate_series(1, 2)", ()),
    ],
)
def test_tables_are_read_from_sql(sql: str, tables: tuple[str, ...]) -> None:
    """Not from its texts, comments, functions and common table expressions."""
    assert in_sql(sql)[0] == tables


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("rm -rf build", "rm"),
        ("sudo rm --recursive --force x", "rm"),
        ("rm -r x", ""),
        ("git -C /srv reset --hard HEAD~2", "git_reset"),
        ("git reset --soft HEAD~1", ""),
        ("git clean -fdx", "git_clean"),
        ("git clean -nfd", ""),
        ("git checkout -- a.py", "git_checkout"),
        ("git checkout main", ""),
        ("git restore --staged a.py", ""),
        ("find / -name x -delete", "find_delete"),
        ("dd if=x of=/dev/sda", "disk"),
        ("echo 'rm -rf /'", ""),
        ("FOO=1 nohup rm -fr x &", "rm"),
        ("ls | xargs rm -rf x", "rm"),
    ],
)
def test_commands_that_destroy_are_told_from_those_that_look_like_it(line: str, what: str) -> None:
    """By the program and its options, not by words."""
    assert [d.what for d in in_command(line).destroys] == ([what] if what else [])


@settings(max_examples=300)
@given(st.text(max_size=400))
def test_no_text_breaks_the_reading(text: str) -> None:
    """Command lines and SQL come from a model and may be anything."""
    touched(
        {"command": text, "sql": f"select {text}", "path": text, "url": f"http://{text}", "nested": [{"cmd": [text]}]}
    )


def test_symlinks_and_climbing_are_resolved(tmp_path: Path) -> None:
    """A link inside of the scope that leads out of it is outside."""
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    (work / "link").symlink_to(other)
    scope = Scope.of({"paths": [str(work)]}, real)

    def outside(path: Path | str) -> bool:
        return scope.first_outside(touched({"path": str(path)}), real) is not None

    assert not outside(work / "a" / ".." / "b")
    assert not outside(work)
    assert outside(work / "link" / "x")
    assert outside(work / ".." / "other")
    assert outside(f"{work}x")
    assert outside("~/x")


@pytest.mark.parametrize(
    ("scope", "arguments", "outside"),
    [
        ({"hosts": ["example.com"]}, {"url": "https://api.example.com/"}, False),
        ({"hosts": ["*.example.com"]}, {"host": "example.com:443"}, False),
        ({"hosts": ["example.com"]}, {"url": "https://notexample.com/"}, True),
        ({"hosts": ["10.0.0.0/8"]}, {"url": "http://10.1.2.3/"}, False),
        ({"hosts": ["10.0.0.0/8"]}, {"url": "http://11.1.2.3/"}, True),
        ({"hosts": []}, {"url": "http://x/"}, True),
        ({"tables": ["orders"]}, {"table": "Public.Orders"}, False),
        ({"tables": ["orders"]}, {"sql": "select * from secret.orders"}, True),
        ({"tables": ["orders"]}, {"url": "http://x/", "path": "/etc"}, False),
        ({"paths": ["/srv/a"]}, {"path": "/srv/a/b"}, False),
        ({"paths": ["/srv/a"]}, {"path": "/srv/a/../b"}, True),
        ({"paths": ["/srv/a"]}, {"command": "cd /opt && git clean -fd"}, True),
    ],
)
def test_only_what_is_stated_is_limited(scope: dict[str, list[str]], arguments: object, outside: bool) -> None:
    """Hosts with their subdomains, networks, tables with the default schema; an empty list is nothing."""
    assert (Scope.of(scope).first_outside(touched(arguments), lexical) is not None) is outside


def test_a_scope_that_makes_no_sense_is_refused() -> None:
    """An unknown key, or a text instead of a list."""
    for wrong in ({"path": ["/x"]}, {"paths": "/x"}):
        with pytest.raises(ValueError, match="scope"):
            spanward.run("bot", scope=wrong)


# ---------------------------------------------------------------------------------------------------------- at the gate

written: list[str] = []


@spanward.tool(side_effect="write")
def write_file(path: str, content: str = "") -> str:
    """A tool that tells where it would write."""
    written.append(path)
    return "written"


def test_a_call_outside_is_not_made_and_the_model_is_told(tmp_path: Path) -> None:
    """A refused step with a code; the text advises, and no content leaves."""
    written.clear()
    with supervised() as gate, spanward.run("bot", scope={"paths": [tmp_path]}):
        inside = write_file(str(tmp_path / "a"))
        said = write_file(f"{tmp_path}/../b", "SECRET")
    good, refused = gate.spans.steps("tool")

    assert inside == "written"
    assert written == [str(tmp_path / "a")]
    assert "outside" in said
    assert semconv.GATE_REFUSED not in good
    assert refused[semconv.GATE_REFUSED] == "scope"
    assert refused[semconv.GATE_OUTSIDE] == "paths"
    assert "SECRET" not in "".join(span.to_json() for span in gate.spans.ended)


def test_a_run_inside_another_keeps_to_both_scopes(tmp_path: Path) -> None:
    """A sub-agent can narrow what its caller may touch, and never widen it."""
    written.clear()
    with (
        supervised(),
        spanward.run("outer", scope={"paths": [tmp_path / "a"]}),
        spanward.run("inner", scope={"paths": [tmp_path]}),
    ):
        write_file(str(tmp_path / "b"))
        write_file(str(tmp_path / "a" / "x"))

    assert written == [str(tmp_path / "a" / "x")]


def test_relative_paths_count_from_where_the_agent_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the tool itself would read them."""
    written.clear()
    monkeypatch.chdir(tmp_path)
    with supervised(), spanward.run("bot", scope={"paths": ["."]}):
        write_file("a")
        write_file("../a")

    assert written == ["a"]


def test_the_scope_is_told_only_where_content_is(tmp_path: Path) -> None:
    """Names of directories are content; what a run may cost is none."""
    told = []
    for capture in (False, True):
        with (
            supervised(capture_content=capture) as gate,
            spanward.run("bot", scope={"paths": [tmp_path]}, max_cost=2.5),
        ):
            write_file(str(tmp_path / "a"))
        told.append(gate.spans.steps("tool")[0])

    assert semconv.RUN_SCOPE[0] not in told[0]
    assert list(told[1][semconv.RUN_SCOPE[0]]) == [os.path.realpath(tmp_path)]
    assert [row[semconv.RUN_MAX_COST] for row in told] == [2.5, 2.5]


def test_what_is_outside_is_named_for_the_caller_only() -> None:
    """The value stays in this process, as the finding of a plain function."""
    found: Any = Scope.of({"hosts": ["a"]}).first_outside(touched({"url": "http://b/"}))

    assert found == Outside("hosts", "b")


def test_a_file_on_a_host_that_is_none_is_still_a_file() -> None:
    """A broken host in its address hides no path."""
    assert touched({"url": "file://[/etc/passwd", "x": "file:///etc/hosts"}).paths == ("/etc/passwd", "/etc/hosts")
