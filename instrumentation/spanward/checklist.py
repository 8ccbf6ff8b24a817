"""What a run has to have done before it counts as done, said before it starts.

    from spanward import run
    from spanward.checklist import artefact, called, field, that

    with run("report", checklist=[
        called("send_mail", to="ops@example.com"),
        artefact("out/report.csv", min_size=100),
        field("/total", 42.0, tolerance=0.5, hard=False),
        that("queued", lambda: queue.holds("report")),
    ]) as r: ...

The checks run here, where the agent's files and objects are, when the run ends without an exception. Each is a
validation step that tells whether it holds and a code of why not; what was looked at stays in this process. A run with
a hard check that does not hold ends as ``incomplete``.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from spanward import semconv
from spanward.canonical import canonical_json
from spanward.gate import end_step, open_step
from spanward.ops import Invoke, Op, Outcome

if TYPE_CHECKING:
    from spanward.runs import Run

__all__ = ["CheckResult", "Completion", "Item", "answer", "artefact", "called", "field", "that"]

_CHUNK: Final = 1 << 20
_MISSING: Final = object()

Look = Callable[["Completion", "Run"], Any]
"""Returns "" when the item holds, else a code of :data:`spanward.semconv.CHECK_REASONS`; a function of the user's own,
whatever it likes to, or an awaitable of it."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that has to hold at the end. Made by the functions below.

    Attributes:
        name: in spans and findings; low cardinality.
        kind: what is looked at.
        look: looks.
        hard: without it the run is incomplete; else it is only noted.
        timeout: seconds; 0 = none. A sync look with one runs on a thread of its own.
        fits: whether a tool call, by name and arguments, is one that is waited for; None = calls do not matter.
    """

    name: str
    kind: semconv.CheckKind
    look: Look
    hard: bool = True
    timeout: float = 0.0
    fits: Callable[[str, Mapping[str, Any]], bool] | None = None


class CheckResult(NamedTuple):
    """What became of one item; see ``Run.checks``.

    Attributes:
        name: of the item.
        kind: of the item.
        hard: the run is incomplete when it does not hold.
        passed: whether it holds; None when that could not be told, which counts as not for a hard one.
        reason: one of :data:`spanward.semconv.CHECK_REASONS`, "" when it holds.
    """

    name: str
    kind: str
    hard: bool
    passed: bool | None
    reason: str = ""


def called(
    tool: str,
    *,
    times: int = 1,
    hard: bool = True,
    label: str = "",
    where: Mapping[str, Any] | None = None,
    **arguments: Any,
) -> Item:
    """The tool was called and worked.

    Args:
        tool: its name.
        times: how often at least.
        hard: as in :class:`Item`.
        label: name of the item; default ``called <tool>``.
        where: arguments that the call has to have had, where their names would clash with those above.
        **arguments: the same by keyword. A function is asked with the value, anything else has to be equal to it.
    """
    wanted = {**(where or {}), **arguments}
    item: Item

    def fits(name: str, given: Mapping[str, Any]) -> bool:
        return name == tool and all(_agrees(given.get(key, _MISSING), value) for key, value in wanted.items())

    def look(seen: Completion, _run: Run) -> str:
        return "" if seen.counts.get(id(item), 0) >= times else "not_called"

    item = Item(label or f"called {tool}", "called", look, hard, fits=fits)
    return item


def artefact(
    path: str | os.PathLike[str],
    *,
    min_size: int = 1,
    max_size: int | None = None,
    sha256: str = "",
    fresh: bool = False,
    hard: bool = True,
    label: str = "",
) -> Item:
    """A file is there.

    Args:
        path: of the file; a relative one is looked up where the run ends.
        min_size: bytes at least.
        max_size: bytes at most; None = any number.
        sha256: hex digest that its bytes have to have; "" = any.
        fresh: it has to have been written since the run started.
        hard: as in :class:`Item`.
        label: name of the item; default: the file's name.
    """
    place = Path(path)

    def look(_seen: Completion, run: Run) -> str:
        try:
            state = place.stat()
        except OSError:
            return "missing"
        if not place.is_file():
            return "missing"
        if state.st_size < min_size or (max_size is not None and state.st_size > max_size):
            return "size"
        if fresh and state.st_mtime_ns < run.started_ns - _CLOCK_NS:
            return "stale"
        return "checksum" if sha256 and _sha256(place) != sha256.lower().removeprefix("sha256:") else ""

    return Item(label or f"artefact {place.name}", "artefact", look, hard)


_CLOCK_NS: Final = 2_000_000_000
"""File systems keep times as coarsely as this."""


def answer(schema: Mapping[str, Any], *, hard: bool = True, label: str = "answer") -> Item:
    """The run's answer fits a JSON Schema.

    The answer is ``Run.answer``: what a decorated function returned, else the last text of the model, else what was put
    there.
    """
    from spanward.schema import Schema  # deferred: the validator is compiled code

    compiled = Schema.of(schema)

    def look(_seen: Completion, run: Run) -> str:
        value, why = _value_of(run.answer)
        return why or ("schema" if compiled.first_violation(value) else "")

    return Item(label, "answer", look, hard)


def field(
    pointer: str, expected: object, *, tolerance: float = 0.0, share: float = 0.0, hard: bool = True, label: str = ""
) -> Item:
    """One value of the run's answer is as expected.

    Args:
        pointer: JSON pointer into the answer, as in ``/items/0/price``; "" = the whole answer.
        expected: equal to it; or a function that is asked with the value.
        tolerance: numbers may differ by this much.
        share: numbers may differ by this share of what is expected.
        hard: as in :class:`Item`.
        label: name of the item; default ``field <pointer>``.
    """

    def look(_seen: Completion, run: Run) -> str:
        value, why = _value_of(run.answer)
        if why and pointer:
            return why
        found = _at(value if not why else run.answer, pointer)
        return "" if _agrees(found, expected, tolerance, share) else "value" if found is not _MISSING else "missing"

    return Item(label or f"field {pointer or '/'}", "field", look, hard)


def that(name: str, fn: Callable[..., Any], *, hard: bool = True, timeout: float = 0.0) -> Item:
    """Something of your own: the message has reached the queue, the row is there.

    Args:
        name: of the item.
        fn: called without arguments, or with the run when it takes one; a true value means that it holds. May be async
            where the run is (``async with``, or an async function that is decorated).
        hard: as in :class:`Item`.
        timeout: seconds, after which it counts as not told. A sync function with one runs on a thread of its own.
    """
    takes_run = _takes_one(fn)

    def look(_seen: Completion, run: Run) -> Any:
        return fn(run) if takes_run else fn()

    return Item(name, "callable", look, hard, timeout)


class Completion:
    """The checklist of one run and what was seen of it so far. Calls may come from any thread.

    Attributes:
        counts: fitting calls that worked, by ``id()`` of their item.
        results: of the items, once the run has ended.
    """

    def __init__(self, checklist: Iterable[Item | Callable[..., Any]]) -> None:
        self.items: tuple[Item, ...] = tuple(_item(entry) for entry in checklist)
        self._watched = tuple(item for item in self.items if item.fits is not None)
        self.counts: dict[int, int] = {}
        self.results: tuple[CheckResult, ...] = ()

    @property
    def met(self) -> bool:
        """Every hard item holds."""
        return all(result.passed or not result.hard for result in self.results)

    def saw(self, tool: str, arguments: object, worked: bool) -> None:
        """A tool call has ended; its arguments are a mapping, or the text of one.

        Never raises: an item whose own function does is not met.
        """
        if not worked or not self._watched:
            return
        if isinstance(arguments, str):
            arguments, _ = _value_of(arguments)
        if not isinstance(arguments, Mapping):
            return
        for item in self._watched:
            try:
                if item.fits is not None and item.fits(tool, arguments):
                    self.counts[id(item)] = self.counts.get(id(item), 0) + 1
            except Exception:  # noqa: S112 - the user's own comparison; the item stays open, which its step tells
                continue

    def settle(self, run: Run) -> Generator[Op, Any, None]:
        """Looks at every item, each as a validation step of the run, which MUST be the current one."""
        for item in self.items:
            result = yield from self._check(item, run)
            self.results = (*self.results, result)

    def _check(self, item: Item, run: Run) -> Generator[Op, Any, CheckResult]:
        attributes: dict[str, Any] = {semconv.CHECK_KIND: item.kind, semconv.CHECK_HARD: item.hard}
        step = open_step(run, f"validate {item.name}", attributes, kind="validation", action=item.name)
        worker = item.timeout > 0
        try:
            outcome: Outcome = yield Invoke(
                None, timeout_s=item.timeout, worker=worker, fn=lambda _: item.look(self, run), label=item.name
            )
        except BaseException as stop:
            end_step(step, {}, stop)
            raise
        passed, reason = judged(outcome, said=item.kind == "callable")
        end_step(step, verdict_attributes(passed, reason))
        return CheckResult(item.name, item.kind, item.hard, passed, reason)


def judged(outcome: Outcome, *, said: bool) -> tuple[bool | None, str]:
    """Whether a look says that it holds, and the code of why not.

    Args:
        outcome: of the look.
        said: it is a function of the user's that says so by being true or not; else it gave a code.
    """
    if outcome.cause == "timeout":
        return None, "timeout"
    if outcome.error is not None:
        return None, "raised"
    if inspect.isawaitable(outcome.value):  # async, and nobody here can await it
        if inspect.iscoroutine(outcome.value):
            outcome.value.close()
        return None, "unknown"
    reason = ("" if outcome.value else "false") if said else str(outcome.value)
    return not reason, reason


def verdict_attributes(passed: bool | None, reason: str) -> dict[str, Any]:
    """How a validation step tells it."""
    attributes: dict[str, Any] = {} if passed is None else {semconv.CHECK_PASSED: passed}
    return attributes | ({semconv.CHECK_REASON: reason} if reason else {})


def _item(entry: Item | Callable[..., Any]) -> Item:
    if isinstance(entry, Item):
        return entry
    if callable(entry):
        return that(str(getattr(entry, "__name__", type(entry).__name__)), entry)
    raise ValueError(f"checklist: {entry!r} is neither an item of spanward.checklist nor a function")


def _takes_one(fn: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # some builtins have none
        return False
    needed = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(needed) == 1


def _sha256(path: Path) -> str:
    sum_ = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            sum_.update(chunk)
    return sum_.hexdigest()


def _value_of(said: object) -> tuple[Any, str]:
    """The answer as a value, and why there is none."""
    if said is None:
        return None, "no_answer"
    if not isinstance(said, str | bytes):
        return said, ""
    try:
        return orjson.loads(said), ""
    except orjson.JSONDecodeError:
        return None, "not_json"


def _at(value: Any, pointer: str) -> Any:
    for raw in pointer.split("/")[1:]:
        part = raw.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value.get(part, _MISSING)
        elif isinstance(value, Sequence) and not isinstance(value, str) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return _MISSING
    return value


def _agrees(found: object, expected: object, tolerance: float = 0.0, share: float = 0.0) -> bool:
    if found is _MISSING:
        return False
    if callable(expected):
        return bool(expected(found))
    if isinstance(found, int | float) and isinstance(expected, int | float) and not _are_truths(found, expected):
        return abs(found - expected) <= max(tolerance, share * abs(expected))
    if found == expected and isinstance(found, bool) == isinstance(expected, bool):
        return True
    one, other = canonical_json(found), canonical_json(expected)
    return one is not None and one == other


def _are_truths(*values: object) -> bool:
    return any(isinstance(value, bool) for value in values)
