"""Which telemetry each rule needs, as data. A rule without a row is a test failure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from spanward_detector.doctor.signals import Presence, Signal, Tally

S = Signal


@dataclass(frozen=True, slots=True)
class Needs:
    """What a rule lives on.

    Attributes:
        all_of: each entry is a set of alternatives of which at least one has to be there, or the rule cannot fire.
        better: without these it fires less often, or says less.
        note: what is lost without ``better``, for a person; "" where the signals speak for themselves.
    """

    all_of: tuple[tuple[Signal, ...], ...] = ()
    better: tuple[Signal, ...] = ()
    note: str = ""


_OF_MODELS: Final = "only failures of model calls, and results that say so themselves"

NEEDS: Final[Mapping[str, Needs]] = {
    # form
    "invalid_json": Needs(
        ((S.RESULTS, S.ANSWERS, S.MODEL_CALLS),),
        (S.RESULTS, S.ANSWERS, S.SCHEMAS),
        "only what was surely due as JSON counts",
    ),
    "invalid_arguments": Needs(((S.ARGUMENT_FORMS,),)),
    "schema_violation": Needs(((S.SCHEMAS, S.FAILURES),), (S.SCHEMAS,), "only violations that made the call fail"),
    "unknown_tool": Needs(
        ((S.DEFINITIONS, S.FAILURES, S.MODEL_CALLS),), (S.DEFINITIONS, S.CALLS), "only what the framework refused"
    ),
    "truncated_output": Needs(((S.MODEL_CALLS,), (S.FINISH, S.TOKENS)), (S.FINISH,)),
    "empty_output": Needs(((S.MODEL_CALLS,), (S.ANSWERS,))),
    "refusal": Needs(
        ((S.MODEL_CALLS, S.FAILURES, S.RESULT_TEXT),), (S.FINISH, S.ANSWER_TEXT), "only refusals that are errors"
    ),
    # course of the run
    "tool_error": Needs(((S.TOOL_CALLS,), (S.FAILURES, S.RESULTS)), (S.FAILURES, S.TOOL_SPANS)),
    "http_error": Needs(((S.HTTP, S.FAILURES, S.MODEL_CALLS),), (S.HTTP, S.FAILURES), "only errors that name a status"),
    "auth_error": Needs(((S.HTTP, S.FAILURES, S.RESULTS, S.MODEL_CALLS),), (S.FAILURES,), _OF_MODELS),
    "rate_limited": Needs(
        ((S.HTTP, S.FAILURES, S.RESULTS, S.MODEL_CALLS),), (S.HTTP, S.FAILURES), "nobody knows Retry-After"
    ),
    "environment_error": Needs(((S.FAILURES, S.RESULTS, S.MODEL_CALLS),), (S.FAILURES,), _OF_MODELS),
    "context_overflow": Needs(((S.MODEL_CALLS,),)),
    "context_budget": Needs(((S.MODEL_CALLS,), (S.TOKENS,))),
    "timeout": Needs(((S.TOOL_SPANS, S.MODEL_CALLS),), (S.TOOL_SPANS, S.FAILURES), _OF_MODELS),
    "hung": Needs(((S.GATE,),)),
    "heartbeat_lost": Needs(((S.GATE,),)),
    "stalled": Needs(((S.GATE,),)),
    "loop": Needs(
        ((S.TOOL_CALLS, S.MODEL_CALLS),),
        (S.ARGUMENTS, S.RESULTS),
        "more repeats are needed, and it is information only",
    ),
    "no_progress": Needs(
        ((S.TOOL_CALLS,), (S.RESULTS, S.FAILURES)), (S.ARGUMENTS, S.RESULTS), "only repeated failures"
    ),
    "polling_runaway": Needs(((S.TOOL_CALLS,), (S.ARGUMENTS,), (S.RESULTS,))),
    "stopped_by_limit": Needs((), (S.ANSWER_TEXT, S.RESULT_TEXT), "only limits that are exceptions"),
    "announced_call": Needs(((S.ANSWER_TEXT,), (S.DEFINITIONS,))),
    "step_limit": Needs((), (S.GATE,), "a run cannot state a limit of its own; the policy can"),
    "consecutive_errors": Needs(((S.FAILURES, S.RESULTS, S.MODEL_CALLS),), (S.FAILURES,), _OF_MODELS),
    "token_budget": Needs(((S.TOKENS,), (S.LIMIT,))),
    "telemetry_gap": Needs(((S.CALLS, S.GATE),), (S.CALLS,), "calls that were asked for and never seen go unnoticed"),
    "cost_budget": Needs(((S.TOKENS,),)),
    "circuit_open": Needs(((S.TOOL_CALLS,), (S.FAILURES, S.RESULTS))),
    # meaning
    "silent_error": Needs(((S.TOOL_CALLS, S.ANSWER_TEXT), (S.RESULTS, S.ANSWER_TEXT)), (S.RESULTS,)),
    "ignored_failure": Needs(((S.TOOL_CALLS,), (S.FAILURES, S.RESULTS), (S.ANSWERS, S.GATE)), (S.ANSWERS,)),
    "unbacked_answer": Needs(((S.ANSWER_TEXT,), (S.DEFINITIONS,))),
    "premature_done": Needs(((S.MODEL_CALLS,), (S.ANSWERS,))),
    "incomplete": Needs((), (S.GATE,), "without the gate a run has no checklist"),
    "cross_check": Needs(((S.GATE,),)),
    "off_topic": Needs(((S.ANSWER_TEXT,), (S.MESSAGES,))),
    "ungrounded": Needs(((S.ANSWER_TEXT,), (S.RESULT_TEXT,))),
    "ungrounded_argument": Needs(((S.ARGUMENT_TEXT,), (S.RESULT_TEXT, S.MESSAGES))),
    "goal_lost": Needs(((S.MESSAGES,),)),
    "wrong_tool": Needs(((S.ARGUMENT_TEXT,), (S.MESSAGES,))),
    "order_violation": Needs(((S.TOOL_CALLS,),)),
    "unsafe_action": Needs(((S.TOOL_CALLS,),), (S.ARGUMENT_TEXT,), "only what the gate tells of arguments counts"),
    "prompt_injection": Needs(((S.RESULT_TEXT, S.GATE),)),
    "secret_leak": Needs(((S.ARGUMENT_TEXT, S.RESULT_TEXT, S.ANSWER_TEXT, S.GATE),)),
    "duplicate_side_effect": Needs(((S.TOOL_CALLS,), (S.ARGUMENTS,)), (S.GATE,), "side effects are guessed from names"),
    "custom": Needs((), (S.ARGUMENT_TEXT, S.RESULT_TEXT), "what your rules ask for decides"),
    "judge": Needs(((S.ANSWER_TEXT,), (S.MESSAGES,))),
}
"""Needs by rule. Rules of other packages are not here: nothing is claimed of them."""


class Status(StrEnum):
    """Whether a rule can fire on some telemetry."""

    CAN = "can"
    PARTLY = "partly"
    CANNOT = "cannot"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Standing:
    """A rule on some telemetry.

    Attributes:
        rule: its name.
        status: whether it can fire.
        missing: signals whose absence is the reason, the ones to be mended.
        note: what is lost, for a person.
    """

    rule: str
    status: Status
    missing: tuple[Signal, ...] = ()
    note: str = ""


_BEST: Final = (Presence.YES, Presence.PARTLY, Presence.UNKNOWN, Presence.NO)


def standing(rule: str, tallies: Mapping[Signal, Tally]) -> Standing:
    """Whether a rule can fire where these signals are there."""
    needs = NEEDS.get(rule)
    if needs is None:
        return Standing(rule, Status.UNKNOWN, note="a rule of another package")

    def presence(signal: Signal) -> Presence:
        return tallies[signal].presence

    def at_best(clause: tuple[Signal, ...]) -> Presence:
        return min(map(presence, clause), key=_BEST.index)

    lacking = [signal for clause in needs.all_of if at_best(clause) is Presence.NO for signal in clause]
    if lacking:
        return Standing(rule, Status.CANNOT, tuple(dict.fromkeys(lacking)))
    unsure = [
        signal
        for clause in needs.all_of
        if at_best(clause) is Presence.UNKNOWN
        for signal in clause
        if presence(signal) is Presence.UNKNOWN
    ]
    if unsure:
        return Standing(rule, Status.UNKNOWN, tuple(dict.fromkeys(unsure)))
    gaps = [s for s in needs.better if presence(s) in (Presence.NO, Presence.PARTLY)]
    gaps += [s for clause in needs.all_of if at_best(clause) is Presence.PARTLY for s in clause
             if presence(s) is Presence.PARTLY]  # fmt: skip
    if gaps:
        return Standing(rule, Status.PARTLY, tuple(dict.fromkeys(gaps)), needs.note)
    return Standing(rule, Status.CAN)
