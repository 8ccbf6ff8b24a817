"""``run`` and ``step``: what a person puts around their agent's code.

Both are sync and async context managers; ``run`` is a decorator, too.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar, cast

from spanward import semconv
from spanward.config import Settings
from spanward.context import current_run
from spanward.errors import AgentTerminated, termination_in
from spanward.gate import OpenStep, end_step, open_step, safe_point
from spanward.ops import Op, adrive, drive
from spanward.ports import Limits
from spanward.runs import Run, implicit_run
from spanward.runtime import NoSpans, Runtime, runtime
from spanward.terms import INCOMPLETE
from spanward.terms import stated as stated_terms

if TYPE_CHECKING:
    from spanward.checklist import Item

P = ParamSpec("P")
R = TypeVar("R")


class RunScope:
    """What :func:`run` returns."""

    def __init__(self, name: str, limits: Limits, **options: Any) -> None:
        self._name = name
        self._limits = limits
        self._options = options
        self._open: list[tuple[Run, contextlib.ExitStack]] = []

    def __enter__(self) -> Run:
        active = runtime()
        stack = contextlib.ExitStack()
        if active is None:
            # Not instrumented: an object that can be used as any run, and that nobody looks at.
            opened = Run(_inert(), self._name, limits=self._limits, **self._options)
        else:
            opened = Run(active, self._name, limits=self._limits, parent=current_run(), **self._options)
            try:
                opened.begin()
                stack.enter_context(opened.entered())
            except Exception:
                active.internal_error("start of run")
        self._open.append((opened, stack))
        return opened

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if (flow := self._checks(error)) is not None:
            with self._ending_on_interrupt():
                drive(flow, _no_call)
        self._leave(error)

    def _checks(self, error: BaseException | None) -> Generator[Op, Any, None] | None:
        """The checklist of a run that is about to end well; None where there is nothing to check."""
        opened, _ = self._open[-1]
        if error is not None or opened.completion is None or opened.root is None or opened.is_over():
            return None
        return opened.completion.settle(opened)

    @contextlib.contextmanager
    def _ending_on_interrupt(self) -> Iterator[None]:
        """Our own failure is counted; an interrupt in the middle of a check ends the run as any exception does."""
        try:
            yield
        except Exception:
            self._open[-1][0].runtime.internal_error("checklist")
        except BaseException as stop:
            self._leave(stop)
            raise

    def _leave(self, error: BaseException | None) -> None:
        opened, stack = self._open.pop()
        ended_by = termination_in(error)
        try:
            stack.close()
            if error is not None:
                opened.end(type(ended_by or error).__qualname__, failed=True)
            elif opened.is_over():
                # Something between the gate and here swallowed the exception; the latch knows better.
                opened.end(AgentTerminated.__qualname__, failed=True)
            elif opened.completion is not None and not opened.completion.met:
                opened.end(INCOMPLETE, failed=True)
            else:
                opened.end("completed")
        except Exception:
            opened.runtime.internal_error("end of run")
        if ended_by is None or isinstance(error, AgentTerminated):
            return
        if opened.parent is None or ended_by.run_id == opened.id:
            # A framework wrapped it, or it had to travel as what no framework swallows: here it is what it was.
            raise ended_by from error

    async def __aenter__(self) -> Run:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if (flow := self._checks(error)) is not None:
            with self._ending_on_interrupt():
                await adrive(flow, _no_call)
        self._leave(error)

    def __call__(self, fn: Callable[P, R]) -> Callable[P, R]:
        """Each call of ``fn`` is a run of its own."""
        if inspect.iscoroutinefunction(fn):

            @functools.wraps(fn)
            async def arunner(*args: P.args, **kwargs: P.kwargs) -> Any:
                async with self._copy() as opened:
                    result = await fn(*args, **kwargs)
                    opened.answer = result if result is not None else opened.answer
                    return result

            return cast("Callable[P, R]", arunner)

        @functools.wraps(fn)
        def runner(*args: P.args, **kwargs: P.kwargs) -> R:
            with self._copy() as opened:
                result = fn(*args, **kwargs)
                opened.answer = result if result is not None else opened.answer
                return result

        return runner

    def _copy(self) -> Self:
        return type(self)(self._name, self._limits, **self._options)


def run(
    name: str,
    *,
    input: object = None,  # noqa: A002 - the word for it
    run_id: str | None = None,
    conversation_id: str | None = None,
    max_steps: int | None = None,
    max_tokens: int | None = None,
    max_seconds: float | None = None,
    max_cost: float | None = None,
    checklist: Iterable[Item | Callable[..., Any]] | None = None,
    scope: Mapping[str, Iterable[str | os.PathLike[str]]] | None = None,
) -> RunScope:
    """One task of an agent, from start to outcome.

    As in ``with run("refund-bot", input=question) as r: ...``; ``async with`` and ``@run("refund-bot")`` work, too. A
    run inside a run is a sub-agent's: the latch and the pause of the outer one hold for it. An exception of the block
    passes; one that a termination is buried in comes out as :class:`spanward.AgentTerminated`.

    Args:
        name: of the agent.
        input: what it is asked; leaves the process only where content capture is on.
        run_id: by default a new UUIDv7.
        conversation_id: links runs of one conversation.
        max_steps: stated limit: the detector acts on it, and without a detector the gate does.
        max_tokens: likewise, input and output of all model calls.
        max_seconds: likewise, since the start of the run.
        max_cost: what its model calls may cost together, by the prices and in the currency of the policy; kept by the
            detector.
        checklist: what has to hold at the end: items of :mod:`spanward.checklist`, or functions that tell. Without the
            hard ones the run ends as ``incomplete``, whatever its last answer says.
        scope: what it may touch: ``paths``, ``hosts`` and ``tables``, each a list; what is not named is not limited. A
            tool call outside is not made, as far as its arguments tell.

    Raises:
        ValueError: a limit is not above 0, the checklist holds something else, or the scope has another key.
    """
    stated = {"max_steps": max_steps, "max_tokens": max_tokens, "max_seconds": max_seconds}
    for key, value in stated.items():
        if value is not None and not value > 0:
            raise ValueError(f"{key}={value!r}: write a number above 0, or leave it out")
    limits = Limits(max_steps or 0, max_tokens or 0, max_seconds or 0.0)
    terms = stated_terms(checklist, scope, max_cost)
    return RunScope(name, limits, input=input, run_id=run_id, conversation_id=conversation_id, terms=terms)


_SPAN_NAMES: Final[dict[semconv.StepKind, str]] = {
    "decision": semconv.OP_PLAN,
    "validation": "validate",
    "repair": "repair",
    "llm": semconv.OP_CHAT,
    "tool": semconv.OP_EXECUTE_TOOL,
}


class StepScope:
    """What :func:`step` returns. Used once."""

    def __init__(self, name: str, reason: str | None, kind: semconv.StepKind) -> None:
        self._name = name
        self._reason = reason
        self._kind = kind
        self._step: OpenStep | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Run | None:
        if (found := self._run()) is not None:
            drive(safe_point(found), _no_call)
            self._start(found)
        return found

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._step is not None:
            end_step(self._step, {}, error)
        self._stack.close()

    async def __aenter__(self) -> Run | None:
        if (found := self._run()) is not None:
            await adrive(safe_point(found), _no_call)
            self._start(found)
        return found

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def _run(self) -> Run | None:
        active = runtime()
        if active is None:
            return None
        try:
            return current_run() or self._stack.enter_context(implicit_run(active).entered())
        except Exception:
            active.internal_error("step")
            return None

    def _start(self, found: Run) -> None:
        verb = _SPAN_NAMES[self._kind]
        attributes: dict[str, Any] = {semconv.OPERATION_NAME: verb} if self._kind == "decision" else {}
        if self._reason:
            attributes[semconv.STEP_REASON] = self._reason
        try:
            self._step = open_step(found, f"{verb} {self._name}", attributes, kind=self._kind, action=self._name)
        except Exception:
            found.runtime.internal_error("step")


def step(name: str, reason: str | None = None, kind: semconv.StepKind = "decision") -> StepScope:
    """What the agent does beside calling tools and models.

    As in ``with step("choose supplier", reason="cheapest"): ...``. A safe point: a pause is waited out here (by ``async
    with`` in async code), and a run that is over ends.

    Args:
        name: of the decision; low cardinality.
        reason: why; part of what makes two steps the same one again.
        kind: decision, validation or repair.

    Raises:
        ValueError: no such kind.
    """
    if kind not in semconv.STEP_KINDS:
        raise ValueError(f"kind={kind!r}: write one of {', '.join(semconv.STEP_KINDS)}")
    return StepScope(name, reason, kind)


def _no_call(_arguments: object) -> None:
    """A safe point calls nothing."""


@functools.cache
def _inert() -> Runtime:
    return Runtime(Settings(), NoSpans())
