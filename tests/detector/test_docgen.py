"""Generated pages: fresh, whole, and true."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest
from spanward import semconv
from spanward_detector.detectors import DETECTORS
from spanward_detector.docgen import checkout, pages, stale, write
from spanward_detector.docgen.content_off import WAYS, bare, findings, with_facts
from spanward_detector.docgen.scenarios import Scenarios
from spanward_detector.docgen.text import markdown, parts
from spanward_detector.model import Kind
from spanward_detector.policy import Policy

from tests.detectors.script import Script

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """Every page."""
    return dict(pages(ROOT))


def test_pages_are_fresh(made: dict[str, str]) -> None:
    """What is in the project is what the code says; `python -m spanward_detector.docgen` brings it up to date."""
    assert [
        path for path, text in made.items() if not (ROOT / path).exists() or (ROOT / path).read_text() != text
    ] == []
    assert {f"docs/rules/{p.name}" for p in (ROOT / "docs" / "rules").iterdir()} <= set(made)


@pytest.mark.parametrize("detector", DETECTORS, ids=lambda cls: cls.name)
def test_a_rule_has_a_page_with_everything_in_it(detector: type, made: dict[str, str]) -> None:
    """Failure types, every threshold with what it means, telemetry, ladder and cases."""
    page = made[f"docs/rules/{detector.name}.md"]
    own = dataclasses.fields(detector)
    rows = re.findall(r"^\| `(\w+)` \| `[^`]+` \| `[^`]*` \| (.*) \|$", page, re.MULTILINE)

    assert page.splitlines()[2] == f"# {detector.name}"
    assert all(f"`{name}`" in page for name in detector.failure_types)
    assert {name for name, _ in rows} == {f.name for f in own if not f.metadata.get("section")} - {"mode"}
    assert all(meaning for _, meaning in rows)
    assert all(f"- `{f.name}`: " in page for f in own if f.metadata.get("section"))
    assert all(f"## {part}\n" in page for part in ("Thresholds", "Telemetry", "What is done about it"))
    assert f"({detector.name}.md)" in made["docs/rules/README.md"]


def test_examples_are_those_of_the_tests(made: dict[str, str]) -> None:
    """A case's name stands on its rule's page."""
    examples = Scenarios(ROOT).of_rule("loop")

    assert len(examples.fires) > 5
    assert all(f"- {name}\n" in made["docs/rules/loop.md"] for name in examples.fires[:12])
    assert Scenarios(ROOT).of_rule("nobody").fires == ()


def test_every_attribute_is_on_its_page(made: dict[str, str]) -> None:
    """Names of ours have a meaning; none is left out."""
    page = made["docs/attributes.md"]
    named = {name: value for name, value in vars(semconv).items() if not name.startswith("_")}
    keys = {v for v in named.values() if isinstance(v, str) and v.startswith(("spanward.", "gen_ai."))}
    keys |= set(semconv.RUN_LIMITS)

    missing = {key for key in keys if f"`{key}`" not in page}
    assert missing <= {semconv.DETECTOR_SCOPE, semconv.EVALUATION_EVENT}
    assert not re.findall(r"conventions of OpenTelemetry: [^\n]*`spanward\.", page)
    assert ":data:" not in page


def test_what_is_stripped_is_gone() -> None:
    """With content off no text is left, and without facts no digest, fact or call either."""
    script = Script()
    script.llm("SECRET", [], user_input="SECRET", tool_messages=(("c1", "SECRET"),))
    script.tool(arguments='{"a": "SECRET"}', result="SECRET", error_text="SECRET")
    script.tool(error="ValueError", text="SECRET")
    for step in script.steps:
        told, left = with_facts(step), bare(step)
        assert told is not None
        assert left is not None
        assert "SECRET" not in repr(told)
        assert (left.result_facts, left.arguments_digest, left.answer_facts, left.n_calls) == (None, "", None, None)
    assert bare(script.tick()) is None


def test_less_is_never_more_on_the_cases() -> None:
    """What a rule finds from names, counts and times in its own cases, it finds from facts too."""
    scenarios = Scenarios(ROOT)
    for rule in ("loop", "tool_error", "silent_error", "consecutive_errors", "truncated_output"):
        for case in scenarios.firing(rule):
            policy = Policy(rules={rule: case.thresholds} if case.thresholds else {})
            found = [bool([f for f in findings(case.steps, way, policy) if f.rule == rule]) for way in WAYS]
            assert found == sorted(found, reverse=True), (rule, case.name)


def test_captures_are_read_whole() -> None:
    """Each capture has its steps, tool calls among them where there are any to be seen."""
    captures = dict(Scenarios(ROOT).captures())

    assert len(captures) > 50
    assert [s.action for s in captures["langgraph__genai/loop"] if s.kind is Kind.TOOL] == ["fetch_order"] * 4


def test_a_stale_page_is_found_and_a_left_over_one_removed(tmp_path: Path, made: dict[str, str]) -> None:
    """Checking names both, writing mends both, and writing again changes nothing."""
    for folder in ("tests", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "tests" / "detectors").symlink_to(ROOT / "tests" / "detectors")
    (tmp_path / "tests" / "fixtures").mkdir()
    write(tmp_path, made)
    (tmp_path / "docs" / "rules" / "gone.md").write_text("old")
    (tmp_path / "docs" / "attributes.md").write_text("old")

    assert checkout(tmp_path / "docs") == tmp_path
    assert stale(tmp_path, made) == ["docs/attributes.md", "docs/rules/gone.md"]
    assert write(tmp_path, made) == ["docs/attributes.md", "docs/rules/gone.md"]
    assert stale(tmp_path, made) == []
    assert checkout(Path("/")) is None


def test_docstrings_become_markdown() -> None:
    """Prose and attributes are told apart, continued lines joined, marks translated."""
    prose, fields = parts(
        "One.\n\n    Two ``x``.\n\n    Attributes:\n        a: first\n            and more.\n        b: :class:`m.C`.\n"
    )

    assert prose == "One.\n\nTwo `x`."
    assert fields == {"a": "first and more.", "b": "`m.C`."}
    assert markdown("``a`` :data:`~b.C`") == "`a` `b.C`"
