"""Rows of the store from plain objects, and back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from spanward_detector.model import Directive, Finding, SpanRef
from spanward_detector.store.base import Record, Row
from spanward_detector.store.statements import dumps

if TYPE_CHECKING:
    from spanward_detector.run_lifecycle import Life, Move


def run_row(life: Life) -> Row:
    """A run as it stands."""
    return Row(
        "runs",
        (
            life.run_id, life.agent, life.service, life.conversation_id, life.instance_id, life.state.value,
            life.steps,
            life.findings, life.started_ns, life.ended_ns, life.updated_ns, life.end_reason,
            dumps(list(life.trace_ids)),
        ),
    )  # fmt: skip


def finding_row(run_id: str, finding: Finding, at_ns: int, policy_version: str, *, withdrawn: bool = False) -> Row:
    """A finding, or its withdrawal."""
    return Row(
        "findings",
        (
            run_id, finding.rule, finding.failure_type, finding.ref.trace_id, finding.ref.span_id, finding.severity,
            finding.mode, finding.message, finding.step, finding.agent, finding.action, dumps(list(finding.evidence)),
            dumps(dict(finding.facts)), dumps(list(finding.stack)), withdrawn, at_ns, policy_version,
        ),
    )  # fmt: skip


def transition_rows(moves: Iterable[Move]) -> list[Row]:
    """Moves of a run."""
    return [Row("transitions", (m.run_id, m.from_state.value, m.to_state.value, m.reason, m.at_ns)) for m in moves]


def directive_row(
    directive: Directive,
    *,
    instance_id: str,
    sent_ns: int,
    final_ns: int,
    reason: str,
    before: str,
    after: str,
    apply_ms: float,
    recovered_by: str,
) -> Row:
    """A directive and what became of it so far."""
    return Row(
        "directives",
        (
            directive.id, directive.run_id, directive.kind, directive.level, directive.state, directive.ref.trace_id,
            directive.ref.span_id, directive.failure_type, directive.rule, dumps(dict(directive.payload)),
            directive.expires_in_ms, directive.target_digest, directive.answers_hold, directive.epoch, instance_id,
            directive.created_ns, sent_ns, final_ns, reason, before, after, apply_ms, recovered_by,
        ),
    )  # fmt: skip


def directive_from(record: Record) -> Directive:
    """A directive as it was stored."""
    payload = record["payload"]
    return Directive(
        id=str(record["id"]),
        run_id=str(record["run_id"]),
        kind=str(record["kind"]),  # type: ignore[arg-type]  # written by directive_row
        level=str(record["level"]),
        ref=SpanRef(str(record["trace_id"]), str(record["span_id"])),
        failure_type=str(record["failure_type"]),
        rule=str(record["rule"]),
        payload=payload if isinstance(payload, dict) else {},
        expires_in_ms=int(str(record["expires_in_ms"])),
        target_digest=str(record["target_digest"]),
        epoch=int(str(record["epoch"])),
        answers_hold=bool(record["answers_hold"]),
        state=str(record["state"]),  # type: ignore[arg-type]
        created_ns=int(str(record["created_ns"])),
    )
