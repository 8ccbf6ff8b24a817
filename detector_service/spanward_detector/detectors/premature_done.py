"""An answer that says that the work is done, or waits for work, where no step shows any."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from spanward_detector.codeact import FINAL_ANSWER
from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode, Severity
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.text.quick import Quick
from spanward_detector.text.wishes import asks_back, tells_to_wait
from spanward_detector.text.words import subject

if TYPE_CHECKING:
    from spanward_detector.run import Run

_TASK: Final = 3
"""Words that carry a subject, from which on what the user said is a task."""
_FAULT: Final = re.compile(
    r"error|exception|fail|traceback|fehler|erreur|fout|hiba|错误|失败|エラー|오류|ошибк", re.IGNORECASE
)
_FILE: Final = re.compile(r"[\w./~\\-]{0,120}\w\.[A-Za-z][A-Za-z\d]{0,4}\b")
_READ: Final = 4096
_WROTE: Final = Quick(
    r"(?i)(?:\bi(?:'ve| have)? |\band |^|[.!] |\b(?:has|have) been |\b(?:is|are) )(?:just |also |now )?"
    r"(?:wrote|written|generated|created|saved|exported|produced) "
    r"(?:(?:the|a|an|your|to|it|them|results?|file|report|output|summary|new|as|into|in|under|at) ){0,4}[`'\"*]{0,2}"
    r"([\w./~-]{0,80}[\w-]\.[A-Za-z][A-Za-z0-9]{1,4})\b"
)
_ATTEMPT: Final = r"\b(?:[Tt]ried|[Tt]rying|[Cc]alled|[Ii]nvoked|[Rr]an)\b"
_DEEDS: Final = frozenset({"done", "written", "tested", "tried", "reported"})
"""Claims that something was done."""
_NOBODY_DID: Final = "the answer says that something was done, and no step could have done it"
_NAME: Final = 4
"""Letters of a tool's name that is told from a word."""


@dataclass(frozen=True, slots=True)
class PrematureDone:
    """The last answer waits for work though no tool was ever called, or tells of work that no step can have done.

    It ends by saying what it does next, and nothing follows; it tells of an effect (what is sent, booked, paid,
    deleted, published), of a file written, of tests that pass or of attempts where no call can have been that; it says
    that tests pass or that a build succeeds where the last one failed, or that all is done while the list of tasks
    shows some that are not; or it writes down a call of a tool as text.

    Which calls those are is what the tools state, else what their names say: a tool that may write excuses every claim
    of an effect, one that may run something every claim of a test. An answer that speaks of a failure claims nothing.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "premature_done"
    failure_types: ClassVar[tuple[str, ...]] = ("premature_done",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.LLM})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        answer = step.answer_facts
        if answer is None or run.outcome.type or not _final(step):
            return None
        if step.answer and (tool := _written_call(step, run)):
            return self._found(step, run, f"the answer writes a call of {tool} as text, and makes none", "as_text")
        if name := _unwritten_file(step, run):
            return self._found(
                step, run, f"the answer says that it wrote {name}, and no call that wrote names it", "written"
            )
        for claim in answer.claims:
            against = _UNFOUNDED.get(claim)  # a later release of the gate may know of more
            if against is None or (answer.admits_failure and claim not in _WORDS_ALONE):
                continue
            if message := against(step, run):
                return self._found(step, run, message, claim)
            if claim in _DEEDS and _idle(run) and _has_tools(step, run) and not step.extra.get("called_before"):
                # Earlier turns, which nobody shows, may have been more than talk.
                return self._found(step, run, "the answer tells of work, and nothing shows any", claim, "info")
        return None

    def _found(self, step: Step, run: Run, message: str, claim: str, severity: Severity = "warning") -> Finding:
        return finding(self, step, run, message, severity=severity, facts={"claim": claim, "count": run.memory.steps})


def _idle(run: Run) -> bool:
    return not run.memory.acted and not run.memory.asked


def _has_tools(step: Step, run: Run) -> bool:
    return bool(step.declared_tools or run.declared) or any(
        role == "system" and "tools" in text[:_READ].lower() for role, text in step.said
    )


def _waits(step: Step, run: Run) -> str:
    if not _idle(run) or not _has_task(step) or _turns(step) > 1:
        return ""
    return "the answer waits to be told what to do, and nothing was done"


def _announces(step: Step, run: Run) -> str:
    # A plain model without tools, of whose task nothing is known, can do nothing else than say so.
    if not (run.memory.acted or _has_tools(step, run) or (step.said and _has_task(step))):
        return ""
    return "the answer says what comes next, and nothing comes"


def _could_not(step: Step, run: Run, *, did: bool) -> bool:
    """No call can have done it. Without tool spans nobody knows what the calls that were asked for did."""
    looked = run.memory.acted and not did
    return (looked or (_idle(run) and _has_tools(step, run))) and not _goes_on(step)


def _done(step: Step, run: Run) -> str:
    return _NOBODY_DID if _could_not(step, run, did=run.memory.wrote) else ""


def _reported(step: Step, run: Run) -> str:
    """Told without saying whose deed it was: only where the user wanted it done, and no page can have told of it."""
    wanted = _last_request(step)
    if not wanted or asks_back(wanted) or not _could_not(step, run, did=run.memory.wrote):
        return ""
    if not _idle(run):
        files = {found.rpartition("/")[2] for found in _FILE.findall((step.answer or "")[:_READ])}
        if not any(file in wanted for file in files):
            return ""
    return _NOBODY_DID


def _tried(step: Step, run: Run) -> str:
    for name in _tools_named(step, run):
        if name not in run.memory.work.called and re.search(
            rf"{_ATTEMPT}[^.\n]{{0,40}}{re.escape(name)}", step.answer or ""
        ):
            return f"the answer tells of calls of {name}, and none was made"
    wanted = _last_request(step)
    if not wanted or _FAULT.search(wanted[:_READ]) or not _idle(run) or not _has_tools(step, run):
        return ""
    return "" if _goes_on(step) else "the answer tells of an attempt, and none was made"


def _tools_named(step: Step, run: Run) -> list[str]:
    """Declared tools that the answer names, if their names are no words."""
    text = (step.answer or "")[:_READ]
    return [name for name in step.declared_tools or run.declared if len(name) >= _NAME and "_" in name and name in text]


def _unwritten_file(step: Step, run: Run) -> str:
    """A file that the answer says it wrote, where others were written and nothing ran that could have made it."""
    work = run.memory.work
    if not step.answer or not work.wrote or work.programs:
        return ""
    for found in _WROTE.all(step.answer[:_READ]):
        name = found[1].rpartition("/")[2]
        if not any(name in text for text in work.wrote):
            return str(name)
    return ""


def _tested(step: Step, run: Run) -> str:
    work = run.memory.work
    if work.check == "failed":
        return "the answer says that it passes, and the last check failed"
    return "the answer says that it passes, and no step checked it" if _could_not(step, run, did=work.ran) else ""


def _complete(_: Step, run: Run) -> str:
    left = run.memory.work.left
    return f"the answer says that all is done, and {left} of its tasks are not" if left else ""


_UNFOUNDED: Final[Mapping[str, Callable[[Step, Run], str]]] = {
    "standby": _waits,
    "announced": _announces,
    "done": _done,
    "written": _done,
    "tested": _tested,
    "complete": _complete,
    "reported": _reported,
    "tried": _tried,
}
"""What speaks against a claim, by claim; "" when nothing does."""
_WORDS_ALONE: Final = frozenset({"standby", "announced", "tried"})
"""Claims that speaking of a failure does not take back."""


def _final(step: Step) -> bool:
    return step.n_calls == 0 or (step.n_calls is None and step.finish_reason == "stop" and not step.calls)


def _has_task(step: Step) -> bool:
    """The user asked for something, as far as is known, and not to wait."""
    if not _turns(step):
        return True
    last = _last_request(step)
    return len(subject(last)) >= _TASK and not tells_to_wait(last)


def _turns(step: Step) -> int:
    return sum(role == "user" for role, _ in step.said)


def _last_request(step: Step) -> str:
    return next((text for role, text in reversed(step.said) if role == "user"), "")


def _goes_on(step: Step) -> bool:
    """The user has spoken more than once, and what is said now may have been done or told before."""
    if _turns(step) <= 1:
        return False
    last = _last_request(step)
    return bool(step.extra.get("called_before")) or len(subject(last)) < _TASK or asks_back(last)


def _written_call(step: Step, run: Run) -> str:
    """The declared tool that the answer calls by writing it down; "" for none, and where agents act by code."""
    tools = step.declared_tools or run.declared
    text = (step.answer or "")[:_READ]
    if not tools or FINAL_ANSWER in run.declared or not ("(" in text or '"name"' in text or "<" in text):
        return ""
    for name in tools:
        if len(name) >= _NAME and name in text:
            written = re.escape(name)
            if re.search(
                rf"(?m)^[\s`>*-]{{0,8}}{written}\((?:\s*\w+\s*=|\s*[\"'{{])|<(?:function=)?{written}[\s>]"
                rf"|\"(?:name|tool|function|action)\"\s*:\s*\"{written}\"",
                text,
            ):
                return name
    return ""
