"""How long a hold may wait, when holding stops and starts again, breakers and epochs."""

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from spanward.policy_cache import PROBE_LAST_S, STRIKES, HoldBudget, PolicyCache
from spanward.ports import Limits, PolicyUpdate, ToolFacts
from spanward.testing import FakeClock


@pytest.fixture
def clock():
    """A clock that stands still."""
    return FakeClock()


@pytest.fixture
def budget(clock):
    """A budget with the default bounds."""
    return HoldBudget(clock=clock)


def answer(budget, clock, seconds):
    """Asks, and is answered after a while."""
    ticket = budget.ask()
    clock.advance(seconds)
    budget.answered(ticket)


def time_out(budget, clock):
    """Asks in vain."""
    ticket = budget.ask()
    clock.advance(ticket.timeout_s)
    return budget.timed_out(ticket)


def test_first_deadline_is_the_longest(budget):
    """Nothing is known yet, so the first hold may take all the time that is allowed."""
    assert budget.ask().timeout_s == 0.25


@pytest.mark.parametrize(
    ("answers_ms", "deadline_ms"),
    [([1] * 64, 50), ([20] * 64, 80), ([100] * 64, 250), ([1] * 63 + [30], 120), ([30] + [1] * 64, 50)],
    ids=["lower-bound", "four-times-p99", "upper-bound", "one-slow-of-64", "slow-one-left-the-window"],
)
def test_deadline_follows_the_answers(budget, clock, answers_ms, deadline_ms):
    """The deadline is four times the 99th percentile of the last 64 answered holds, within bounds."""
    for milliseconds in answers_ms:
        answer(budget, clock, milliseconds / 1000)

    assert budget.deadline_s * 1000 == pytest.approx(deadline_ms)


def test_three_timeouts_in_a_row_suspend(budget, clock):
    """Only the third says so, and then nobody waits any more."""
    assert [time_out(budget, clock) for _ in range(3)] == [False, False, True]
    assert budget.suspended
    assert budget.ask() is None


def test_an_answer_between_timeouts_resets_the_count(budget, clock):
    """Two, an answer, and two more are not three in a row."""
    time_out(budget, clock)
    time_out(budget, clock)
    answer(budget, clock, 0.001)
    time_out(budget, clock)
    time_out(budget, clock)

    assert not budget.suspended


def test_a_parallel_batch_counts_once(budget, clock):
    """Ten holds that time out together are one strike."""
    for _ in range(2):
        tickets = [budget.ask() for _ in range(10)]
        clock.advance(0.25)
        for ticket in tickets:
            budget.timed_out(ticket)

    assert not budget.suspended
    assert time_out(budget, clock)


def test_probes_come_one_second_apart_and_double_to_thirty(budget, clock):
    """While suspended one hold at a time asks whether anybody answers again."""
    for _ in range(STRIKES):
        time_out(budget, clock)
    gaps = []
    for _ in range(8):
        waited = 0.0
        while (ticket := budget.ask()) is None:
            clock.advance(0.25)
            waited += 0.25
        assert ticket.probe
        assert budget.ask() is None
        clock.advance(ticket.timeout_s)
        budget.timed_out(ticket)
        gaps.append(waited)

    assert gaps == [1, 2, 4, 8, 16, 30, 30, 30]


def test_only_an_answered_hold_re_arms(budget, clock):
    """A probe that is answered ends the suspension at once."""
    for _ in range(STRIKES):
        time_out(budget, clock)
    clock.advance(1.0)
    answer(budget, clock, 0.002)

    assert not budget.suspended
    assert budget.ask() is not None


def test_a_cancelled_probe_leaves_room_for_the_next(budget, clock):
    """A probe that nobody waited out teaches nothing and blocks nothing."""
    for _ in range(STRIKES):
        time_out(budget, clock)
    clock.advance(1.0)
    budget.abandoned(budget.ask())

    assert budget.ask().probe


class BudgetMachine(RuleBasedStateMachine):
    """Any order of asking, answering, timing out and cancelling, several at once, against what must hold."""

    def __init__(self):
        super().__init__()
        self.clock = FakeClock()
        self.budget = HoldBudget(clock=self.clock)
        self.open = []

    @rule(seconds=st.floats(0, 40))
    def let_time_pass(self, seconds):
        """The clock goes on."""
        self.clock.advance(seconds)

    @rule()
    def ask(self):
        """Somebody wants to wait."""
        if (ticket := self.budget.ask()) is not None:
            self.open.append(ticket)

    @precondition(lambda self: self.open)
    @rule(data=st.data())
    def end_one(self, data):
        """One of those that wait is answered, times out or is cancelled."""
        ticket = self.open.pop(data.draw(st.integers(0, len(self.open) - 1)))
        end = data.draw(st.sampled_from(["answered", "timed_out", "abandoned"]))
        getattr(self.budget, end)(ticket)
        if end == "answered":
            assert not self.budget.suspended

    @invariant()
    def deadlines_keep_their_bounds(self):
        """No hold waits shorter or longer than was promised."""
        assert 0.05 <= self.budget.deadline_s <= 0.25

    @invariant()
    def probes_come_alone(self):
        """While suspended at most one probe waits; it never stays suspended for longer than the last gap."""
        if not self.budget.suspended:
            return
        assert sum(ticket.probe for ticket in self.open) <= 1
        if not any(ticket.probe for ticket in self.open):
            assert self.budget._next_probe - self.clock.now <= PROBE_LAST_S


TestBudgetMachine = BudgetMachine.TestCase
TestBudgetMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_breaker_refuses_until_its_time_is_over(clock):
    """Open means closed for business; after that one probe may go, and the next one only much later."""
    cache = PolicyCache(clock)
    cache.set_breaker("pay", "open", 30)

    assert cache.breaker_open_s("other") == 0
    assert cache.breaker_open_s("pay") == 30
    clock.advance(31)
    assert cache.breaker_open_s("pay") == 0
    assert cache.breaker_open_s("pay") > 0


def test_half_open_lets_one_probe_through(clock):
    """All other callers are refused until the detector has seen how it went."""
    cache = PolicyCache(clock)
    cache.set_breaker("pay", "half_open", 0)

    assert cache.breaker_open_s("pay") == 0
    assert cache.breaker_open_s("pay") > 0
    cache.set_breaker("pay", "closed", 0)
    assert cache.breaker_open_s("pay") == 0
    assert cache.breaker_open_s("pay") == 0


def test_epochs_only_grow(clock):
    """What an older detector says is stale."""
    cache = PolicyCache(clock)

    assert cache.see_epoch(3)
    assert cache.see_epoch(3)
    assert not cache.see_epoch(2)
    assert cache.epoch == 3


def test_policy_stays_in_force(clock):
    """Limits, timeouts and fail-closed tools are those of the last policy."""
    cache = PolicyCache(clock)
    cache.apply(PolicyUpdate("v1", Limits(15), {"pay": ToolFacts("write", 4.0)}, frozenset({"pay"})))

    assert cache.version == "v1"
    assert cache.limits.max_steps == 15
    assert cache.timeout_s("pay") == 4.0
    assert cache.timeout_s("other") == 0.0
    assert cache.fails_closed("pay")
    assert not cache.fails_closed("other")
