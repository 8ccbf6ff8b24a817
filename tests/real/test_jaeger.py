"""The repository's Jaeger file in a real Jaeger, and traces read back from its API."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.parse

from tests.real import stack


def test_jaeger_accepts_the_file() -> None:
    """Jaeger's own check finds nothing wrong, with no variable set."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("JAEGER", "PROMETHEUS"))}
    done = subprocess.run(
        [stack.binary("jaeger"), "validate", f"--config={stack.ROOT / 'deploy/jaeger.yaml'}"],
        capture_output=True,
        text=True,
        env=env | {"OTEL_TRACES_SAMPLER": "always_off"},
        cwd=stack.ROOT,
        timeout=60,
    )

    assert done.returncode == 0, done.stderr


def test_a_trace_reads_back_with_its_attributes(collector: stack.Collector, jaeger: stack.Jaeger) -> None:
    """Run, step and finding come back from the API with their keys, types and parents."""
    run = {"spanward.run.id": "0199-read-back"}
    step = stack.make(attributes={**run, "spanward.step.index": 3, "gen_ai.tool.name": "search"}, error=True)
    finding = stack.make(
        "detect tool_error",
        scope="spanward.detector",
        resource={"service.name": "spanward-detector"},
        attributes={**run, "spanward.failure_type": "tool_error"},
        trace_id=step.trace_id,
        parent_id=step.span_id,
    )
    stack.send(collector.otlp_steps, step)
    stack.send(collector.otlp_grpc, finding)
    by_id = {span["spanID"]: span for span in jaeger.spans(step.trace_id, at_least=2)}

    assert by_id[step.span_id]["tags"]["spanward.step.index"] == 3
    assert by_id[step.span_id]["tags"]["otel.scope.name"] == "spanward"
    assert by_id[step.span_id]["tags"]["error"] is True
    assert by_id[finding.span_id]["tags"]["spanward.failure_type"] == "tool_error"
    [reference] = by_id[finding.span_id]["references"]
    assert (reference["refType"], reference["spanID"]) == ("CHILD_OF", step.span_id)


def test_a_run_is_found_by_its_id(collector: stack.Collector, jaeger: stack.Jaeger) -> None:
    """The search by tag that the dashboard and the API link to finds exactly the run's traces."""
    made = stack.make(attributes={"spanward.run.id": "0199-by-tag"})
    other = stack.make(attributes={"spanward.run.id": "0199-other"})
    stack.send(collector.otlp_steps, made, other)
    jaeger.spans(made.trace_id)
    jaeger.spans(other.trace_id)
    tags = urllib.parse.quote(json.dumps({"spanward.run.id": "0199-by-tag"}))
    found = jaeger.json(f"/api/traces?service=test-agent&tags={tags}&limit=10&lookback=1h")

    assert [trace["traceID"] for trace in found] == [made.trace_id]


def test_jaeger_does_not_trace_itself(collector: stack.Collector, jaeger: stack.Jaeger) -> None:
    """Only agents and the detector are among the services."""
    made = stack.make()
    stack.send(collector.otlp_steps, made)
    jaeger.spans(made.trace_id)

    assert "jaeger" not in jaeger.json("/api/services")


def test_the_ui_gets_our_links(jaeger: stack.Jaeger) -> None:
    """The page carries deploy/jaeger-ui.json: from a span to its run in the detector's API."""
    page = (stack.get(f"{jaeger.url}/search") or b"").decode()
    ours = json.loads((stack.ROOT / "deploy/jaeger-ui.json").read_text())

    assert ours["linkPatterns"][0]["url"] in page
