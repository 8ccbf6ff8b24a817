"""``spanward demo``: agents that fail are steered back, on an embedded detector, in front of your eyes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from spanward_detector.cli.client import get
from spanward_detector.cli.console import fail, json_line, out

SCENARIOS: Final[tuple[str, ...]] = ("weather", "loop", "flaky", "malformed", "hung")
_SETTLED_S: Final = 5.0
_AGENT_S: Final = 60.0

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a detector listens."""

    grpc: str
    url: str


def demo(
    scenarios: Annotated[list[str] | None, typer.Argument(help=f"Some of: {', '.join(SCENARIOS)}.")] = None,
    without: Annotated[
        bool, typer.Option("--without", help="The same agents without Spanward, to see them fail.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One scenario a line as JSON.")] = False,
    data_dir: Annotated[Path | None, typer.Option(help="Keep the runs here; default: a folder that goes away.")] = None,
    emit_endpoint: Annotated[str, typer.Option(help="HOST:PORT of a Collector that gets findings as spans.")] = "",
    spans_endpoint: Annotated[str, typer.Option(help="HOST:PORT of a Collector's otlp/steps; default: straight.")] = "",
    grpc_address: Annotated[
        str, typer.Option(help="HOST:PORT of the embedded detector; port 0 = any.")
    ] = "127.0.0.1:0",
    http_address: Annotated[str, typer.Option(help="HOST:PORT of its API; port 0 = any.")] = "127.0.0.1:0",
) -> None:
    """Play five agents that fail, and watch them being steered back."""
    if unknown := set(scenarios or ()) - set(SCENARIOS):
        fail(f"there is no scenario {', '.join(sorted(unknown))}", f"write some of {', '.join(SCENARIOS)}")
    chosen = [name for name in SCENARIOS if not scenarios or name in scenarios]
    teller = _JsonTeller() if as_json else _StoryTeller(without=without)
    played = []
    with ExitStack() as stack:
        place = None if without else stack.enter_context(_detector(data_dir, emit_endpoint, grpc_address, http_address))
        teller.opening(place)
        for name in chosen:
            events = list(teller.watch(_agent(name, place, spans_endpoint)))
            run = _settled(place, events[-1].get("run_id", "")) if place and events else {}
            story = _Story(name, events, run)
            teller.told(story)
            played.append(story)
        teller.closing(played, data_dir)
    if not without and not all(story.ok for story in played):
        raise typer.Exit(1)


@dataclass(frozen=True, slots=True)
class _Story:
    """A scenario after its end."""

    name: str
    events: list[Json]
    run: Json

    @property
    def ending(self) -> Json:
        return self.events[-1] if self.events else {}

    @property
    def ok(self) -> bool:
        return bool(self.ending.get("ok"))

    @property
    def outcome(self) -> str:
        """The run's state as the detector sees it; without one, how the agent ended."""
        return str(self.run.get("state") or ("completed" if self.ok else self.ending.get("error") or "wrong answer"))

    def result(self) -> Json:
        """In the form that scripts rely on."""
        return {
            "scenario": self.name,
            "ok": self.ok,
            "findings": [
                {k: f.get(k) for k in ("failure_type", "rule", "severity", "span_id", "message")}
                for f in self.run.get("findings", [])
                if not f.get("withdrawn")
            ],
            "directives": [
                {"kind": d["kind"], "level": d["level"], "state": d["state"], "latency_ms": latency_ms(d)}
                for d in self.run.get("directives", [])
            ],
            "outcome": self.outcome,
        }


def latency_ms(directive: Mapping[str, Any]) -> float | None:
    """From the failing call's return to the effect, as the agent measured it; else from decision to acknowledgement."""
    if applied := directive.get("apply_ms"):
        return round(float(applied), 2)
    if directive.get("final_ns") and directive.get("created_ns"):
        return round((int(directive["final_ns"]) - int(directive["created_ns"])) / 1e6, 2)
    return None


@contextmanager
def _detector(data_dir: Path | None, emit_endpoint: str, grpc_address: str, http_address: str) -> Iterator[Place]:
    from spanward_detector.config import ServerConfig
    from spanward_detector.server import EmbeddedDetector

    with ExitStack() as stack:
        folder = data_dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="spanward-demo-")))
        policy = stack.enter_context(as_file(files("spanward_detector.policy").joinpath("demo.yaml")))
        config = ServerConfig.from_env(
            grpc_address=grpc_address,
            http_address=http_address,
            data_dir=folder,
            policy_path=policy,
            emit_endpoint=emit_endpoint,
        )
        detector = stack.enter_context(EmbeddedDetector(config))
        yield Place(f"127.0.0.1:{detector.grpc_port}", f"http://127.0.0.1:{detector.http_port}")


def _agent(name: str, place: Place | None, spans_endpoint: str) -> Iterator[Json]:
    """The agent as a process of its own, as it is in life; its events as they come."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("SPANWARD_", "OTEL_"))}
    if place is not None:
        environment["SPANWARD_ENDPOINT"] = place.grpc
        # A verdict may take longer on a busy laptop than the 50 to 250 ms that suit production.
        environment |= {"SPANWARD_HOLD_MIN_MS": "2000", "SPANWARD_HOLD_MAX_MS": "2000"}
        if spans_endpoint:
            environment["SPANWARD_SPANS_ENDPOINT"] = spans_endpoint
    command = [sys.executable, "-u", "-m", "spanward.demo.agent", name, *(["--without"] if place is None else [])]
    with subprocess.Popen(  # noqa: S603 - our own agent
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        ended = False
        for line in child.stdout:
            if line.startswith("{"):
                event = json.loads(line)
                ended = event.get("event") == "end"
                yield event
        errors = child.stderr.read()
        child.wait(timeout=_AGENT_S)
    if not ended:
        reason = errors.strip().splitlines()[-1] if errors.strip() else f"exit code {child.returncode}"
        if "No module named 'openai'" in errors:
            fail("the demo's agent needs the openai SDK", "pip install 'spanward[openai]'")
        yield {"event": "end", "scenario": name, "ok": False, "error": f"the agent's process failed: {reason}"}


def _settled(place: Place, run_id: str) -> Json:
    """The run once the detector has judged it."""
    if not run_id:
        return {}
    until = time.monotonic() + _SETTLED_S
    run: Json = {}
    while time.monotonic() < until:
        try:
            run = dict(get(place.url, f"/api/runs/{run_id}"))
        except LookupError:
            run = {}
        if run.get("state") in ("DONE", "FAILED"):
            break
        time.sleep(0.05)
    return run


class _JsonTeller:
    """One line a scenario."""

    def opening(self, place: Place | None) -> None: ...

    def watch(self, events: Iterator[Json]) -> Iterator[Json]:
        return events

    def told(self, story: _Story) -> None:
        json_line(story.result())

    def closing(self, stories: list[_Story], data_dir: Path | None) -> None: ...


class _StoryTeller:
    """For people."""

    def __init__(self, *, without: bool) -> None:
        self._without = without

    def opening(self, place: Place | None) -> None:
        if place is None:
            text = "The same five agents [bold]without[/] Spanward."
        else:
            text = (
                "Five agents on the openai SDK, a local stand-in for the model, and the detector beside them.\n"
                "Content capture is off: arguments, results and messages never leave the agent's process."
            )
        out.print(Panel(text, title="spanward demo", border_style="cyan", expand=False))

    def watch(self, events: Iterator[Json]) -> Iterator[Json]:
        for event in events:
            if event["event"] == "begin":
                out.print()
                out.print(Text(f"{event['scenario']}  ", style="bold cyan").append(event["title"], style="bold"))
                out.print(Text(f"  user: {event['request']}"))
            elif event["event"] == "step":
                line = Text(f"  {event['t_ms']:>7.0f} ms  ", style="quiet")
                line.append(event["text"], style="")
                out.print(line, soft_wrap=True)
            yield event

    def told(self, story: _Story) -> None:
        for finding in story.run.get("findings", []):
            if not finding.get("withdrawn"):
                text = f"              ! {finding['failure_type']}: {finding.get('message', '')}"
                out.print(Text(text, style=f"finding.{finding['severity']}"), soft_wrap=True)
        for directive in story.run.get("directives", []):
            latency = latency_ms(directive)
            line = Text(f"              > {directive['level']:<2} {directive['kind']}", style="directive")
            line.append(f"  {directive['state']}", style="good" if directive["state"] in _GOOD else "")
            if latency is not None:
                line.append(f"  {latency:.1f} ms", style="quiet")
            out.print(line)
        ending = story.ending
        mark = Text("  ✔ " if story.ok else "  ✘ ", style="good" if story.ok else "bad")
        mark.append(str(ending.get("answer") or ending.get("error") or "no answer"), style="bold")
        out.print(mark, soft_wrap=True)

    def closing(self, stories: list[_Story], data_dir: Path | None) -> None:
        out.print()
        table = Table("scenario", "found", "ordered", "latency", "run", "end", box=None, header_style="quiet")
        for story in stories:
            directives = story.run.get("directives", [])
            latencies = [ms for d in directives if (ms := latency_ms(d)) is not None]
            table.add_row(
                story.name,
                ", ".join(dict.fromkeys(f["failure_type"] for f in story.run.get("findings", []))) or "-",
                ", ".join(f"{d['level']} {d['kind']}".strip() for d in directives) or "-",
                f"{min(latencies):.1f} ms" if latencies else "-",
                story.outcome,
                Text("right", style="good") if story.ok else Text("wrong", style="bad"),
            )
        out.print(table)
        out.print()
        for line in self._next(data_dir):
            out.print(line, soft_wrap=True)

    def _next(self, data_dir: Path | None) -> list[str]:
        if self._without:
            return ["With Spanward: [directive]spanward demo[/]"]
        kept = f"; stored in {data_dir}" if data_dir else ""
        return [
            f"Without Spanward: [directive]spanward demo --without[/]{kept}",
            "In your own agent: [directive]spanward up[/], then [directive]instrument_agent()[/] (README.md)",
            "With Collector, Jaeger and Grafana: [directive]docker compose up[/] (docs/deploy.md)",
        ]


_GOOD: Final = frozenset({"applied", "verified"})
