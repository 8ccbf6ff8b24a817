"""What detectors remember of a run: small, bounded, and copied now and then so that a late step can be told over again.

Everything here is a function of the ordered steps alone. Each step costs O(1); nothing grows with the run.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Protocol, Self

from spanward_detector.effects import Effects
from spanward_detector.model import Kind, SpanRef, Step
from spanward_detector.naming import may_write, only_looks
from spanward_detector.outcome import Outcome
from spanward_detector.ranges import Ranges
from spanward_detector.sameness import alike, command_of, reworded, same_but_for_clocks
from spanward_detector.streaks import Failed, Streak
from spanward_detector.text.goal import Goal
from spanward_detector.text.heard import Heard
from spanward_detector.text.words import subject
from spanward_detector.tracks import Act, Key, Track, push
from spanward_detector.work import Work, runs

LANES: Final = 64
"""Agents within one run that are told apart; the one unheard for longest is forgotten."""
TOOLS: Final = 256
"""Tools of a run of which durations and the like are kept."""
JSON_COUNTED: Final = 64
"""JSON results in a row that are counted."""
_SAYS_NOTHING: Final = 2
_STATES: Final = 4
"""Words of a text that states something."""
_STATED: Final = 256
"""Words of what was stated that are kept."""
_SENTENCE: Final = 24
"""Bytes of an answer that is more than a label."""
_PROMISES: Final = frozenset({"announced", "standby"})


class Notes(Protocol):
    """What a detector of a third party keeps in :attr:`Memory.notes`."""

    def copy(self) -> Self:
        """An independent copy; it is taken every few dozen steps."""


@dataclass(slots=True)
class Request:
    """Tool calls that the model asked for in its last reply, and how many of them were seen."""

    span_id: str
    trace_id: str
    step: int
    asked: int
    seen: int = 0


@dataclass(slots=True)
class Lane:
    """What one agent of the run has been doing.

    Attributes:
        tools: its tool calls.
        models: its failed model calls since one worked.
        decisions: its decisions, where something is known of them.
        promises: its last answers in a row that call nothing, where they announce something or tools were at hand.
        tool_errors: failed tool calls in a row.
        model_errors: failed model calls in a row.
        open_failures: tool failures with no success since, by tool.
        request: what the model last asked for.
        answered: what it had asked for before the model call at hand.
        passed_over: failures of other tools that the tool call at hand made good by working.
        model_ns: time that model calls took since the last act.
        asked: the model was called since the last tool call.
        seen: how often the current act is among the last ones of its track.
        revisited: acts in a row that were all known already.
        pages: ranges read so far.
        goal: what its model was asked at first.
        stale_pages: ranges in a row that had been read before.
        paging: the last tool call read a range.
        said: result of the last tool call.
        given: arguments of the last tool call.
        alike: tool calls in a row that asked for or stated what those before did, and were told the same.
        stated: words of what they stated.
    """

    tools: Track = field(default_factory=Track)
    models: Track = field(default_factory=Track)
    decisions: Track = field(default_factory=Track)
    promises: Track = field(default_factory=Track)
    tool_errors: Streak = field(default_factory=Streak)
    model_errors: Streak = field(default_factory=Streak)
    open_failures: dict[str, Failed] = field(default_factory=dict)
    request: Request | None = None
    answered: Request | None = None
    passed_over: tuple[Failed, ...] = ()
    model_ns: int = 0
    asked: bool = False
    seen: int = 0
    revisited: int = 0
    pages: Ranges = field(default_factory=Ranges)
    goal: Goal = field(default_factory=Goal)
    stale_pages: int = 0
    paging: bool = False
    said: str | None = None
    given: str | None = None
    alike: int = 0
    stated: frozenset[str] = frozenset()

    def copy(self) -> Lane:
        return replace(
            self,
            tools=self.tools.copy(),
            models=self.models.copy(),
            decisions=self.decisions.copy(),
            promises=self.promises.copy(),
            tool_errors=replace(self.tool_errors),
            model_errors=replace(self.model_errors),
            open_failures=self.open_failures.copy(),
            request=None if self.request is None else replace(self.request),
            pages=self.pages.copy(),
            goal=self.goal.copy(),
        )

    def restates(self, arguments: str, before: str) -> bool:
        """Whether a call differs from the one before in one text only, which says nothing that was not said."""
        texts = reworded(arguments, before)
        if texts is None:
            self.stated = frozenset()
            return False
        now, known = subject(texts[0]), self.stated or subject(texts[1])
        self.stated = known | now if len(known) < _STATED else now
        return len(now) >= _STATES and now <= known


class ToolStats(NamedTuple):
    """What is normal for a tool in this run.

    Attributes:
        longest_ns: of the calls that worked.
        json: results in a row that were JSON, as far as it is counted; 0 after one that was not.
    """

    longest_ns: int = 0
    json: int = 0


NOTHING_KNOWN: Final = ToolStats()


@dataclass(slots=True)
class Memory:
    """Memory of one run after its ordered steps so far.

    Attributes:
        steps: number of the last step.
        stated: number of the last step that the agent numbered itself.
        missing: numbers that are missing among those.
        lost: what the limits of the agent's SDK took (:attr:`~spanward_detector.model.Step.lost`) -> the first step
            that lacks it.
        input_tokens: of model calls.
        output_tokens: of model calls.
        lanes: by agent; "" is the run's own.
        tools: by tool name.
        before: what was normal for the current step's tool before it.
        strayed: the current step's tool returned text, and JSON before.
        effects: what its calls have left behind.
        acted: a tool was called, by any agent of the run.
        last_tool: name of the last tool that was called, if it worked.
        asked: tool calls that models asked for.
        wrote: a tool was called that may have had an effect.
        work: what its steps show of its work.
        heard: what the agents have been given so far.
        notes: of detectors of third parties, by detector name.
    """

    steps: int = 0
    stated: int = 0
    missing: int = 0
    lost: dict[str, SpanRef] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    lanes: dict[str, Lane] = field(default_factory=dict)
    tools: dict[str, ToolStats] = field(default_factory=dict)
    before: ToolStats = NOTHING_KNOWN
    strayed: bool = False
    effects: Effects = field(default_factory=Effects)
    acted: bool = False
    last_tool: str = ""
    asked: int = 0
    wrote: bool = False
    work: Work = field(default_factory=Work)
    heard: Heard = field(default_factory=Heard)
    notes: dict[str, Notes] = field(default_factory=dict)

    def copy(self) -> Memory:
        return replace(
            self,
            lanes={name: lane.copy() for name, lane in self.lanes.items()},
            tools=self.tools.copy(),
            lost=self.lost.copy(),
            effects=self.effects.copy(),
            work=self.work.copy(),
            heard=self.heard.copy(),
            notes={name: notes.copy() for name, notes in self.notes.items()},
        )

    def lane(self, name: str) -> Lane:
        """The agent's lane; made when it is new."""
        lane = self.lanes.get(name)
        if lane is None:
            lane = self.lanes[name] = Lane()
            if len(self.lanes) > LANES:
                del self.lanes[next(iter(self.lanes))]
        return lane

    def take(self, step: Step, lane: Lane, outcome: Outcome, stated: int) -> Track | None:
        """Remember the next step in order and number it.

        Returns:
            The track that it became the last act of, or None.
        """
        if stated:
            # Steps without a number fill gaps: an agent may count what others' telemetry shows.
            self.missing += max(0, stated - max(self.stated, self.steps) - 1)
            self.stated = max(self.stated, stated)
        self.steps = step.index = max(stated, self.steps + 1)
        if step.lost:
            self.lost.setdefault(step.lost, step.ref)
        if step.kind is Kind.TOOL:
            return self._tool(step, lane, outcome)
        if step.kind is Kind.LLM:
            return self._model(step, lane, outcome)
        if step.kind is Kind.VALIDATION and step.extra.get("check") == "cross_check" and step.extra["passed"] is False:
            lane.open_failures[step.action] = Failed(step.action, "silent_error", step.ref.span_id, step.end_ns)
        if step.kind is Kind.DECISION and (step.arguments_digest or step.reason):
            return push(lane, lane.decisions, step, (step.action, step.arguments_digest, step.reason), outcome, 2)
        return None

    def _tool(self, step: Step, lane: Lane, outcome: Outcome) -> Track | None:
        if lane.request is not None:
            lane.request.seen += 1
        if step.extra and step.extra.get("refused"):
            lane.seen, self.effects.repeated = 0, None
            return None  # the gate did not make this call
        self.acted, self.last_tool = True, step.action if not outcome.type else ""
        self.wrote = self.wrote or may_write(step)
        self.work.take(step, outcome)
        self.heard.tool(step)
        if lane.passed_over:
            lane.passed_over = ()
        self.effects.repeated = None
        if step.side_effect != "read":
            self.effects.take(step, outcome)
        action = step.action
        track = lane.tools
        # Without a model call in between, an attempt is the same call again, made by the gate or by a client.
        again = step.attempt > 1 and not lane.asked and bool(track.acts) and track.acts[-1].action == action
        lane.asked = False
        self.before = stats = self.tools.get(action, NOTHING_KNOWN)
        if outcome.type:
            lane.tool_errors.failed(step, outcome.signature, again)
            lane.open_failures[action] = Failed(action, outcome.type, step.ref.span_id, step.end_ns)
            if len(lane.open_failures) > TOOLS:
                del lane.open_failures[next(iter(lane.open_failures))]
        else:
            if lane.tool_errors.count:
                lane.tool_errors.worked()
            if lane.open_failures:
                # Made good by the same call, or by another way that was taken after the failure was known.
                left = {t: f for t, f in lane.open_failures.items() if t != action and f.end_ns > step.start_ns}
                lane.passed_over = tuple(f for t, f in lane.open_failures.items() if t != action and t not in left)
                lane.open_failures = left
            self._normal(step, stats)
        arguments = step.arguments_digest or step.arguments or ""
        if step.arguments is not None and runs(action):
            arguments = command_of(step.arguments) or arguments
        end = outcome.signature if outcome.type else step.result_digest or step.result or ""
        known = (arguments != "") + (end != "")
        if again:
            lane.model_ns = lane.seen = 0
            return track
        key: Key = (action, arguments, end, step.reason)
        last = track.acts[-1] if track.acts else None
        if last is not None and _no_news(lane, step, last.key, key):
            key = last.key
        if step.result is not None:
            self._asked_again(lane, step, key, last)
        lane.said, lane.given = step.result, step.arguments
        if last is not None and last.key == key and step.start_ns < last.end_ns:
            lane.seen = 0  # beside its twin, not after it
            return track
        if step.arguments is not None:
            self._page(lane, action, step.arguments)
        push(lane, track, step, key, outcome, known)
        lane.revisited = lane.revisited + 1 if known == 2 and lane.seen > 1 else 0
        return track

    @staticmethod
    def _asked_again(lane: Lane, step: Step, key: Key, last: Act | None) -> None:
        """Who is told the same by calls that ask alike, or that state what was stated, gets no further."""
        told = last is not None and last.action == step.action and last.key[2] == key[2]
        if not told or step.arguments is None or lane.given is None:
            lane.alike, lane.stated = 0, frozenset()
            return
        result = step.result or ""
        if only_looks(step.action) or (runs(step.action) and len(result) > _SAYS_NOTHING):
            again = alike(step.arguments, lane.given, result)
        else:
            again = step.arguments == lane.given or lane.restates(step.arguments, lane.given)
        lane.alike = lane.alike + 1 if again else 0

    def _page(self, lane: Lane, action: str, arguments: str) -> None:
        page = Ranges.of(arguments)
        lane.paging = page is not None
        if page is not None:
            lane.stale_pages = lane.stale_pages + 1 if lane.pages.covers(action, page) else 0
            lane.pages.add(action, page)

    def _normal(self, step: Step, stats: ToolStats) -> None:
        facts, json = step.result_facts, stats.json
        if facts is not None and facts.is_json is not None:
            json = min(json + 1, JSON_COUNTED) if facts.is_json else 0
        self.strayed = json < stats.json
        took = step.end_ns - step.start_ns
        if took > stats.longest_ns or json != stats.json:
            self.tools[step.action] = ToolStats(max(took, stats.longest_ns), json)
            if len(self.tools) > TOOLS:
                del self.tools[next(iter(self.tools))]

    def _model(self, step: Step, lane: Lane, outcome: Outcome) -> Track | None:
        self.input_tokens += step.input_tokens
        self.output_tokens += step.output_tokens
        lane.model_ns += max(0, step.end_ns - step.start_ns)
        lane.asked = True
        lane.answered = lane.request
        if step.said or step.tool_messages:
            self.heard.model(step)
            lane.goal.follow(step)
        if not outcome.type:
            if lane.model_errors.count:
                lane.model_errors.worked()
                lane.models.clear()
            asked = step.n_calls or 0
            self.asked += asked
            lane.request = Request(step.ref.span_id, step.ref.trace_id, step.index, asked) if asked else None
            answer = step.answer_facts
            tells = answer is not None and (
                not _PROMISES.isdisjoint(answer.claims) or (bool(step.declared_tools) and answer.size >= _SENTENCE)
            )
            if asked or step.calls or answer is None or not tells:
                lane.promises.clear()
                return None
            # Whoever could act and says the same three times instead goes round in a circle, too.
            return push(lane, lane.promises, step, ("", step.answer or answer.size), outcome, 2)
        lane.request = None
        lane.model_errors.failed(step, outcome.signature, step.attempt > 1)
        if outcome.transient:
            return None  # trying again is right
        return push(lane, lane.models, step, (step.action, outcome.signature), outcome, 2)


def _no_news(lane: Lane, step: Step, before: Key, key: Key) -> bool:
    """The same call for the same reason as before, told another time of day and nothing else."""
    if before == key or (before[:2], before[3]) != (key[:2], key[3]):
        return False
    return lane.said is not None and step.result is not None and same_but_for_clocks(lane.said, step.result)
