"""From a census to what can be said: which rules can fire, what to set, which deadlines make sense."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from spanward_detector.detectors import DETECTORS
from spanward_detector.doctor import health
from spanward_detector.doctor.census import Census, Source
from spanward_detector.doctor.deadlines import Durations, durations, longest
from spanward_detector.doctor.fixes import FACTS, OF_CONTENT, TEXTS, fixes
from spanward_detector.doctor.needs import Standing, Status, standing
from spanward_detector.doctor.signals import OF_MODELS, OF_TOOLS, SIGNS, Presence, Signal, Tally, tally
from spanward_detector.policy import Policy, Problem

_LEFT_OUT: Final = "{n} spans beyond the first ones were not looked at"


class Remedy(NamedTuple):
    """A setting, and what it is good for.

    Attributes:
        setting: what to write; "" when nothing is known to help.
        brings: signals that come with it.
        rules: that can fire, or fire better, with it.
    """

    setting: str
    brings: tuple[Signal, ...]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One source.

    Attributes:
        source: what was seen.
        tallies: its signals.
        rules: every rule of ours on it.
        remedies: settings, the one that helps most rules first.
        complaints: what is wrong with the telemetry as such.
        tools: how long its tools take.
    """

    source: Source
    tallies: Mapping[Signal, Tally]
    rules: tuple[Standing, ...]
    remedies: tuple[Remedy, ...]
    complaints: tuple[health.Complaint, ...]
    tools: tuple[Durations, ...]

    def count(self, status: Status) -> int:
        """Rules that stand so."""
        return sum(rule.status is status for rule in self.rules)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything.

    Attributes:
        spans: that were read; 0 where only stored steps are known.
        logs: log records that were read.
        diagnoses: one per source.
        complaints: about the telemetry as a whole.
        deadlines: of the policy, that are too short for what was seen.
        unknowable: what this way of looking cannot tell.
    """

    spans: int
    logs: int
    diagnoses: tuple[Diagnosis, ...]
    complaints: tuple[health.Complaint, ...] = ()
    deadlines: tuple[Problem, ...] = ()
    unknowable: tuple[str, ...] = ()

    @property
    def longest(self) -> Mapping[str, float]:
        """Seconds of the longest normal call by tool, over all sources."""
        return longest(tool for diagnosis in self.diagnoses for tool in diagnosis.tools)


def diagnose(source: Source, policy: Policy, unknowable: frozenset[Signal] = frozenset()) -> Diagnosis:
    """What can be said of one source."""
    tallies = tally(source.steps, unknowable)
    if policy.rules.get("token_budget", {}).get("max_tokens"):
        tallies[Signal.LIMIT] = Tally(Presence.YES, 1, 1)
    rules = tuple(standing(detector.name, tallies) for detector in DETECTORS)
    return Diagnosis(
        source,
        tallies,
        rules,
        _remedies(source, tallies, rules),
        (*health.of_source(source, tallies), *_gaps(source, tallies)),
        durations(source.steps),
    )


_GAPS: Final[tuple[tuple[str, Signal, str], ...]] = (
    ("no_tool_calls", Signal.TOOL_CALLS, "the model asks for tools, and no call of one is here"),
    ("no_tool_spans", Signal.TOOL_SPANS, "tools have no spans: no durations, and calls are seen one request late"),
    ("no_model_calls", Signal.MODEL_CALLS, "no model call is here"),
    ("statuses_never_set", Signal.FAILURES, "no tool span ever has an error status, though tools did fail"),
    ("no_tool_definitions", Signal.DEFINITIONS, "nobody says which tools there are"),
    (
        "no_call_ids",
        Signal.CALL_IDS,
        "tool calls have no ids: they are joined to what the model wrote by name and order",
    ),
    ("no_finish_reasons", Signal.FINISH, "model calls do not say why they ended"),
    ("no_token_counts", Signal.TOKENS, "model calls do not say how many tokens they took"),
)
"""Code, signal that is missing, and what it means for a person."""


def _gaps(source: Source, tallies: Mapping[Signal, Tally]) -> Iterator[health.Complaint]:
    """What the instrumentation leaves out."""
    texts = [tallies[signal] for signal in TEXTS]
    if not content_is_on(tallies) and any(seen.presence is Presence.NO for seen in texts):
        yield health.Complaint(
            "content_off",
            "info",
            "arguments, results and messages are not recorded",
            next(iter(settings(Signal.MESSAGES, source, tallies)), FACTS),
        )
    models = tallies[Signal.MODEL_CALLS].presence is Presence.YES
    for code, signal, message in _GAPS:
        seen = tallies[signal]
        if seen.presence is not Presence.NO or (
            signal in OF_MODELS and signal is not Signal.MODEL_CALLS and not models
        ):
            continue
        if (
            signal in OF_TOOLS
            and signal is not Signal.TOOL_CALLS
            and tallies[Signal.TOOL_CALLS].presence is Presence.NO
        ):
            continue  # said already
        if signal is Signal.FAILURES and tallies[Signal.TOOL_SPANS].presence is Presence.NO:
            continue
        fix = next(iter(settings(signal, source, tallies)), "")
        yield health.Complaint(code, "warning", message, fix, seen.seen, seen.due)


def report(census: Census, policy: Policy) -> Report:
    """What can be said of everything that was seen."""
    diagnoses = tuple(diagnose(source, policy) for source in sorted(census.sources(), key=_order))
    unknowable = (_LEFT_OUT.format(n=census.left_out),) if census.left_out else ()
    return Report(
        census.spans, census.logs, diagnoses, tuple(health.of_ingest(census.clamped())), unknowable=unknowable
    )


def with_deadlines(found: Report, problems: Iterable[Problem]) -> Report:
    """The report with what it means for a policy's deadlines."""
    return replace(found, deadlines=tuple(problems))


def _order(source: Source) -> tuple[int, str, tuple[str, ...]]:
    return (-len(source.steps), source.service, source.dialects)


def content_is_on(tallies: Mapping[Signal, Tally]) -> bool:
    """Whether the instrumentation records content at all."""
    return any(tallies[signal].presence in (Presence.YES, Presence.PARTLY) for signal in TEXTS)


def settings(signal: Signal, source: Source, tallies: Mapping[Signal, Tally]) -> tuple[str, ...]:
    """What would bring a signal to a source, the nearest first; empty when nothing is known to help."""
    if signal in OF_MODELS and tallies[Signal.MODEL_CALLS].presence is Presence.NO:
        return fixes(Signal.MODEL_CALLS, source.scopes, source.dialects)
    if signal is Signal.FAILURES and tallies[Signal.TOOL_SPANS].presence is Presence.NO:
        return fixes(Signal.TOOL_SPANS, source.scopes, source.dialects)
    on = content_is_on(tallies)
    if signal in (Signal.DEFINITIONS, Signal.SCHEMAS) and on:
        return fixes(signal, (), ())
    if signal is Signal.TOOL_CALLS and not on:  # the results of calls stand in the next request's messages
        return (*fixes(signal, (), ()), *fixes(Signal.MESSAGES, source.scopes, source.dialects))
    if signal in OF_CONTENT:
        facts = () if signal in TEXTS else (FACTS,)
        # With the switch on, it is this instrumentation that leaves the signal out.
        return facts if on else (*fixes(signal, source.scopes, source.dialects), *facts)
    return fixes(signal, source.scopes, source.dialects)


def _remedies(source: Source, tallies: Mapping[Signal, Tally], rules: Iterable[Standing]) -> tuple[Remedy, ...]:
    brings: dict[str, dict[Signal, None]] = {}
    wakes: dict[str, dict[str, None]] = {}
    for rule in rules:
        if rule.status not in (Status.CANNOT, Status.PARTLY):
            continue
        for signal in rule.missing:
            first = next(iter(settings(signal, source, tallies)), "")
            if first:
                brings.setdefault(first, {})[signal] = None
                wakes.setdefault(first, {})[rule.rule] = None
    found = (Remedy(setting, tuple(brings[setting]), tuple(wakes[setting])) for setting in brings)
    return tuple(sorted(found, key=lambda remedy: (-len(remedy.rules), remedy.setting)))


def as_json(found: Report) -> dict[str, object]:
    """A report as plain data; keys are part of the command's interface and only ever added."""
    return {
        "spans": found.spans,
        "log_records": found.logs,
        "sources": [_diagnosis_json(diagnosis) for diagnosis in found.diagnoses],
        "problems": [_complaint_json(complaint) for complaint in found.complaints],
        "deadlines": [
            {"line": p.line, "level": p.level, "message": p.message, "hint": p.hint} for p in found.deadlines
        ],
        "durations": dict(found.longest),
        "unknowable": list(found.unknowable),
    }


def _complaint_json(complaint: health.Complaint) -> dict[str, object]:
    return {**complaint._asdict(), "examples": list(complaint.examples)}


def _diagnosis_json(one: Diagnosis) -> dict[str, object]:
    source = one.source
    return {
        "service": source.service,
        "dialects": list(source.dialects),
        "scopes": sorted(source.scopes),
        "runs": len(source.runs),
        "steps": len(source.steps),
        "signals": {
            signal.value: {
                "presence": seen.presence.value,
                "seen": seen.seen,
                "due": seen.due,
                "what": SIGNS[signal].text,
            }
            for signal, seen in one.tallies.items()
        },
        "rules": [
            {
                "rule": rule.rule,
                "status": rule.status.value,
                "missing": [signal.value for signal in rule.missing],
                "note": rule.note,
                "fixes": list(
                    dict.fromkeys(text for signal in rule.missing for text in settings(signal, source, one.tallies))
                )
                if rule.status in (Status.CANNOT, Status.PARTLY)
                else [],
            }
            for rule in one.rules
        ],
        "remedies": [
            {"setting": r.setting, "brings": [signal.value for signal in r.brings], "rules": list(r.rules)}
            for r in one.remedies
        ],
        "problems": [_complaint_json(complaint) for complaint in one.complaints],
        "tools": [tool._asdict() for tool in one.tools],
    }
