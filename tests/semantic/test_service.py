"""The semantic checks in the whole detector: noted like other findings, ordering nothing, and the same in replay."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest
from spanward_detector import replay as replaying
from spanward_detector.config import ServerConfig
from spanward_detector.evaluate import SETS, judge_all, read_runs
from spanward_detector.evaluate import judge as judging
from spanward_detector.policy import Policy, load
from spanward_detector.replay import Found, replay, sources
from spanward_detector.semantic import Meaning, SemanticError
from spanward_detector.service import Detector

from tests.detector.conftest import config as config  # the fixture of the service's tests
from tests.detector.otlp import TRACE_ID
from tests.detector.service_fakes import eventually, get_json, http
from tests.detector.test_evaluate_steps import row, write
from tests.semantic import traffic
from tests.semantic.fakes import ANSWER, ASKED, DISH, RECORDS, Words

PROTOBUF = {"content-type": "application/x-protobuf"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that looks like a model's."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).touch()
    return folder


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replay and eval read with an embedder of words."""
    for module in (replaying, judging):
        monkeypatch.setattr(module, "Meaning", lambda: Meaning(lambda _: Words()))


async def live(config: ServerConfig, model: Path, data: bytes, meaning: Meaning | None = None) -> dict[str, Any]:
    """What a detector says of a run once it is over and no answer waits."""
    values = {name: getattr(config, name) for name in ("grpc_address", "http_address", "data_dir", "foreign_settle_s")}
    detector = Detector(ServerConfig(**values, tick_s=0.05, semantic_model=str(model)))
    await detector.start()
    try:
        assert detector._parts is not None
        follower = detector._parts.semantic
        if meaning is not None:
            follower._meaning = meaning
        status, _, _ = await http(detector.http_port, "/v1/traces", data, PROTOBUF)
        assert status == 200

        async def over() -> bool:
            await detector.fresh()
            return (await get_json(detector.http_port, f"/api/runs/{TRACE_ID}"))["state"] in ("DONE", "FAILED")

        async with asyncio.timeout(30):
            while not await over():
                await asyncio.sleep(0.01)
        await eventually(lambda: not follower.waiting, 60)
        await detector.fresh()
        run: dict[str, Any] = await get_json(detector.http_port, f"/api/runs/{TRACE_ID}")
        run["scraped"] = detector.metrics.exposition("")[0].decode()
        return run
    finally:
        await detector.stop()


def replayed(data: bytes, model: Path) -> list[Found]:
    """What replay says of the same bytes."""
    return list(replay(sources(["-"], io.BytesIO(data)), Policy().with_model(str(model))))


def semantic(findings: list[dict[str, Any]]) -> list[tuple[str, str, Any]]:
    """Those of the model: type, span, facts."""
    return sorted((f["failure_type"], f["span_id"], f["facts"]) for f in findings if f["rule"] == "semantic")


async def test_a_doubted_answer_is_noted_and_orders_nothing(config: ServerConfig, folder: Path) -> None:
    """Findings in API and metrics with mode observe; the run is DONE and has no directive."""
    data = traffic.conversation(DISH, RECORDS)
    run = await live(config, folder, data, Meaning(lambda _: Words()))
    found = [f for f in run["findings"] if f["rule"] == "semantic"]

    assert {(f["failure_type"], f["span_id"], f["mode"], f["severity"]) for f in found} == {
        ("off_topic", traffic.SAY, "observe", "warning"),
        ("ungrounded", traffic.SAY, "observe", "warning"),
    }
    assert (run["state"], run["directives"]) == ("DONE", [])
    assert 'spanward_findings_total{failure_type="off_topic",mode="observe",rule="semantic"' in run["scraped"]
    assert 'spanward_semantic_questions_total{outcome="asked"} 1.0' in run["scraped"]


@pytest.mark.usefixtures("words")
async def test_replay_finds_what_was_found_live(config: ServerConfig, folder: Path) -> None:
    """The same types at the same spans with the same numbers; a good answer gives none in either."""
    for answer, expected in ((DISH, 2), (ANSWER, 0)):
        data = traffic.conversation(answer, RECORDS)
        again = [found for found in replayed(data, folder) if found.finding.rule == "semantic"]
        said = sorted((f.finding.failure_type, f.finding.ref.span_id, dict(f.finding.facts)) for f in again)
        at_first = await live(config, folder, data, Meaning(lambda _: Words())) if expected else {"findings": []}

        assert len(said) == expected
        assert semantic(at_first["findings"]) == said
        assert all(found.directive is None and not found.first_cause for found in again)


@pytest.mark.usefixtures("words")
def test_steps_are_replayed_and_scored_with_it(tmp_path: Path, folder: Path) -> None:
    """Files of steps too, and the scores count what the model finds; without a model nothing of it is there."""
    steps = write(
        tmp_path / "a.jsonl",
        [
            row(1, "user", result=ASKED),
            row(2, "llm", tool_calls=[{"name": "look", "arguments": {}}]),
            row(3, "tool", name="look", args={}, result=RECORDS),
            row(4, "llm", result=DISH, tool_calls=[]),
        ],
    )
    found = list(replay(sources([str(steps)], io.BytesIO()), Policy().with_model(str(folder))))
    with_model, without = (
        judge_all(read_runs(steps), SETS["trail"], policy) for policy in (Policy().with_model(str(folder)), Policy())
    )

    assert {f.finding.failure_type for f in found if f.finding.rule == "semantic"} == {"off_topic", "ungrounded"}
    assert not any(f.finding.rule == "semantic" for f in replay(sources([str(steps)], io.BytesIO()), Policy()))
    assert with_model[0].cause == without[0].cause
    assert not with_model[0].acted


def test_replay_says_what_is_wrong_with_a_model(folder: Path) -> None:
    """A damaged file ends it with the file's name; nothing is left out in silence."""
    with pytest.raises(SemanticError, match=r"tokenizer\.json cannot be read"):
        replayed(traffic.conversation(DISH, RECORDS), folder)


def test_a_back_test_shows_what_a_model_would_find(folder: Path, tmp_path: Path, words: None) -> None:
    """Two policies differ by their model alone."""
    from spanward_detector.backtest import backtest

    file = tmp_path / "trace.pb"
    file.write_bytes(traffic.conversation(DISH, RECORDS))
    test = backtest(sources([str(file)], io.BytesIO()), load(f"semantic: {{model: {folder}}}"), load("version: 1"))

    assert test.rules["semantic"].new == 2
    assert len(test.rules["semantic"].findings["gained"]) == 2
