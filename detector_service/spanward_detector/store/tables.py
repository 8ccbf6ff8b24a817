"""What is stored, as SQLAlchemy Core tables. Portable: nothing here is particular to SQLite.

Times are nanoseconds since the Unix epoch, ids lower-case hex, columns named ``*_json`` hold JSON text. Content of
arguments, results and messages has no column of its own.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, Float, Index, Integer, MetaData, String, Table, Text

METADATA: Final = MetaData()

# SQLite numbers rows by itself only where the key is spelled INTEGER; elsewhere 32 bits would run out.
_SERIAL: Final = BigInteger().with_variant(Integer, "sqlite")


def _id(name: str) -> Column[str]:
    return Column(name, String(64), nullable=False, default="")


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, default="")


def _json(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, default="{}")


def _int(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, default=0)


def _float(name: str) -> Column[float]:
    return Column(name, Float, nullable=False, default=0.0)


def _bool(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False, default=False)


runs: Final = Table(
    "runs",
    METADATA,
    Column("run_id", String(128), primary_key=True),
    _text("agent"),
    _text("service"),
    _text("conversation_id"),
    _id("instance_id"),
    Column("state", String(24), nullable=False, default="IDLE"),
    _int("steps"),
    _int("findings"),
    _int("started_ns"),
    _int("ended_ns"),
    _int("updated_ns"),
    _text("end_reason"),
    Column("trace_ids_json", Text, nullable=False, default="[]"),
    Index("ix_runs_updated", "updated_ns"),
    Index("ix_runs_started", "started_ns"),
)

steps: Final = Table(
    "steps",
    METADATA,
    Column("trace_id", String(32), primary_key=True),
    Column("span_id", String(16), primary_key=True),
    Column("run_id", String(128), nullable=False),
    _id("parent_id"),
    _int("step"),
    Column("kind", String(16), nullable=False),
    _text("action"),
    _text("agent"),
    _text("name"),
    _text("dialect"),
    _int("start_ns"),
    _int("end_ns"),
    _int("attempt"),
    _bool("failed"),
    _text("error_type"),
    _text("arguments_digest"),
    _text("result_digest"),
    _text("finish_reason"),
    _int("input_tokens"),
    _int("output_tokens"),
    _text("model"),
    _json("facts_json"),
    Index("ix_steps_run", "run_id", "start_ns"),
)

findings: Final = Table(
    "findings",
    METADATA,
    Column("run_id", String(128), primary_key=True),
    Column("rule", String(64), primary_key=True),
    Column("failure_type", String(64), primary_key=True),
    Column("trace_id", String(32), primary_key=True),
    Column("span_id", String(16), primary_key=True),
    _text("severity"),
    _text("mode"),
    _text("message"),
    _int("step"),
    _text("agent"),
    _text("action"),
    _json("evidence_json"),
    _json("facts_json"),
    _json("stack_json"),
    _bool("withdrawn"),
    _int("found_ns"),
    _text("policy_version"),
)

directives: Final = Table(
    "directives",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("run_id", String(128), nullable=False),
    _text("kind"),
    _text("level"),
    _text("state"),
    _id("trace_id"),
    _id("span_id"),
    _text("failure_type"),
    _text("rule"),
    _json("payload_json"),
    _int("expires_in_ms"),
    _text("target_digest"),
    _bool("answers_hold"),
    _int("epoch"),
    _id("instance_id"),
    _int("created_ns"),
    _int("sent_ns"),
    _int("final_ns"),
    _text("reason"),
    _text("before_digest"),
    _text("after_digest"),
    _float("apply_ms"),
    _text("recovered_by"),
    Index("ix_directives_run", "run_id", "created_ns"),
    Index("ix_directives_state", "state"),
)

acknowledgements: Final = Table(
    "acknowledgements",
    METADATA,
    Column("id", _SERIAL, primary_key=True, autoincrement=True),
    Column("directive_id", String(64), nullable=False),
    Column("run_id", String(128), nullable=False),
    _text("state"),
    _text("reason"),
    _int("at_ns"),
    Index("ix_acknowledgements_directive", "directive_id"),
    Index("ix_acknowledgements_run", "run_id"),
)

transitions: Final = Table(
    "transitions",
    METADATA,
    Column("id", _SERIAL, primary_key=True, autoincrement=True),
    Column("run_id", String(128), nullable=False),
    Column("from_state", String(24), nullable=False),
    Column("to_state", String(24), nullable=False),
    _text("reason"),
    _int("at_ns"),
    Index("ix_transitions_run", "run_id"),
)

audit: Final = Table(
    "audit",
    METADATA,
    Column("id", _SERIAL, primary_key=True, autoincrement=True),
    _int("at_ns"),
    _text("actor"),
    _text("act"),
    _text("run_id"),
    _text("subject"),
    _json("detail_json"),
    Index("ix_audit_at", "at_ns"),
)

meta: Final = Table(
    "meta",
    METADATA,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

OF_RUN: Final = (steps, findings, directives, acknowledgements, transitions)
"""Tables whose rows go when their run goes. ``audit`` is append-only and has an age of its own."""
