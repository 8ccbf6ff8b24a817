"""Two policies on the same stored telemetry: what can be seen at all, then what one finds that the other does not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from spanward_detector.doctor import Census, Report, Status, kept, report, take
from spanward_detector.model import SpanRef
from spanward_detector.policy import Policy
from spanward_detector.replay import Found, Source, as_json, replay

SAMPLES: Final = 3
"""Findings and directives that are shown of each kind of difference."""

_Key = tuple[str, str, str, SpanRef]
_WAYS: Final = ("gained", "lost", "changed")


class Change(NamedTuple):
    """The same finding under two policies; one side is None where only the other has it.

    Attributes:
        new: under the policy that is tried.
        old: under the policy that it is held against.
    """

    new: Found | None
    old: Found | None

    @property
    def shown(self) -> Found:
        """The side that is there, the new one where both are."""
        found = self.new or self.old
        assert found is not None
        return found


@dataclass(slots=True)
class RuleChange:
    """What changes for one rule.

    Attributes:
        new: findings under the policy that is tried.
        old: findings under the other.
        findings: by "gained", "lost" and "changed" (of severity or mode).
        directives: by "gained", "lost" and "changed" (of kind); a finding that comes or goes takes its directive along.
    """

    new: int = 0
    old: int = 0
    findings: dict[str, list[Change]] = field(default_factory=lambda: {way: [] for way in _WAYS})
    directives: dict[str, list[Change]] = field(default_factory=lambda: {way: [] for way in _WAYS})

    @property
    def differs(self) -> bool:
        return any(self.findings.values()) or any(self.directives.values())


@dataclass(frozen=True, slots=True)
class Backtest:
    """The outcome.

    Attributes:
        coverage: which rules can fire on this telemetry, under the policy that is tried.
        rules: by name, every rule that found something under either policy.
    """

    coverage: Report
    rules: Mapping[str, RuleChange]


def backtest(files: Iterable[Source], new: Policy, old: Policy) -> Backtest:
    """Replay the same files under two policies.

    Args:
        files: as :func:`spanward_detector.replay.replay` takes them; standard input is held in memory.
        new: the policy that is tried.
        old: the policy that it is held against.

    Raises:
        ReplayError: a file cannot be read.
    """
    given = kept(files)
    census = Census(new)
    take(given, census)
    return Backtest(report(census, new), compare(replay(given, new), replay(given, old)))


def compare(new: Iterable[Found], old: Iterable[Found]) -> dict[str, RuleChange]:
    """Differences by rule, in the order of its name."""
    here, there = _by_key(new), _by_key(old)
    rules: dict[str, RuleChange] = defaultdict(RuleChange)
    for key in dict.fromkeys((*here, *there)):
        rule = rules[key[1]]
        change = Change(here.get(key), there.get(key))
        rule.new += change.new is not None
        rule.old += change.old is not None
        if (way := _of_finding(change)) is not None:
            rule.findings[way].append(change)
        if (way := _of_directive(change)) is not None:
            rule.directives[way].append(change)
    return {name: rules[name] for name in sorted(rules)}


def _by_key(found: Iterable[Found]) -> dict[_Key, Found]:
    return {(one.file, *one.finding.key): one for one in found}


def _of_finding(change: Change) -> str | None:
    if change.new is None or change.old is None:
        return "lost" if change.new is None else "gained"
    new, old = change.new.finding, change.old.finding
    return "changed" if (new.severity, new.mode) != (old.severity, old.mode) else None


def _of_directive(change: Change) -> str | None:
    new = change.new.directive if change.new is not None else None
    old = change.old.directive if change.old is not None else None
    if new is None or old is None:
        return None if new is old else "lost" if new is None else "gained"
    return "changed" if new.kind != old.kind else None


# ------------------------------------------------------------------------------------------------------ for scripts


def lines(test: Backtest) -> Iterator[dict[str, object]]:
    """The outcome as objects, one a line; keys are part of the command's interface and only ever added.

    - ``{"type": "coverage", "service", "scopes", "dialects", "runs", "steps", "can", "partly": {rule: [signal]},
      "cannot": {rule: [signal]}, "unknown": {rule: [signal]}}``: one per source of telemetry, first of all.
    - ``{"type": "rule", "rule", "findings": {"new", "old", "gained", "lost", "changed"}, "directives": {"gained",
      "lost", "changed"}, "samples": [...]}``: one per rule that differs; numbers, and up to three samples of each way:
      ``{"way", "of": "finding" | "directive", ...}`` with the keys of ``replay --json`` and, where it changed, ``was``:
      ``{"severity", "mode", "directive"}``.
    - ``{"type": "summary", "rules", "same", "gained", "lost", "changed", "directives_gained", "directives_lost",
      "directives_changed"}``: last.
    """
    for one in test.coverage.diagnoses:
        by_status = {
            status.value: {r.rule: [signal.value for signal in r.missing] for r in one.rules if r.status is status}
            for status in Status
        }
        yield {
            "type": "coverage",
            "service": one.source.service,
            "scopes": sorted(one.source.scopes),
            "dialects": list(one.source.dialects),
            "runs": len(one.source.runs),
            "steps": len(one.source.steps),
            **by_status,
            "can": list(by_status["can"]),
        }
    for name, rule in test.rules.items():
        if rule.differs:
            yield {
                "type": "rule",
                "rule": name,
                "findings": {"new": rule.new, "old": rule.old, **_numbers(rule.findings)},
                "directives": _numbers(rule.directives),
                "samples": list(_samples(rule)),
            }
    yield {"type": "summary", **totals(test)}


def totals(test: Backtest) -> dict[str, int]:
    """Numbers over all rules."""
    rules = test.rules.values()
    total = {"rules": sum(rule.differs for rule in rules)}
    total["same"] = sum(r.new - len(r.findings["gained"]) - len(r.findings["changed"]) for r in rules)
    total |= {way: sum(len(rule.findings[way]) for rule in rules) for way in _WAYS}
    total |= {f"directives_{way}": sum(len(rule.directives[way]) for rule in rules) for way in _WAYS}
    return total


def _numbers(changes: Mapping[str, Sequence[Change]]) -> dict[str, int]:
    return {way: len(changes[way]) for way in _WAYS}


def _samples(rule: RuleChange) -> Iterator[dict[str, object]]:
    for of, changes in (("finding", rule.findings), ("directive", rule.directives)):
        for way in _WAYS:
            for change in changes[way][:SAMPLES]:
                sample: dict[str, object] = {"way": way, "of": of, **as_json(change.shown)}
                if change.new is not None and change.old is not None:
                    was = as_json(change.old)
                    sample["was"] = {key: was[key] for key in ("severity", "mode", "directive")}
                yield sample
