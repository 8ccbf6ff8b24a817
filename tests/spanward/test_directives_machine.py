"""Any order of calls, verdicts, deliveries, repetitions and outages, against what must hold for each directive."""

import hypothesis.strategies as st
import spanward
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from spanward.ports import FINAL_STATES, GateDirective
from spanward.testing import SILENCE, directive_for, supervised

IDS = [f"d{number}" for number in range(6)]
KINDS = [
    "retry", "feedback", "fallback", "repair_arguments", "terminate", "pause", "resume", "approve", "ask",
    "interrupt_call",
]  # fmt: skip


class GateMachine(RuleBasedStateMachine):
    """One agent, one run at a time, one tool with an effect, and a detector that may send anything at any time."""

    def __init__(self):
        super().__init__()
        self._supervised = supervised(lambda span: self.said(span), pause_lease_s=1)
        self.gate = self._supervised.__enter__()
        self.scope = None
        self.run = None
        self.next_verdict = None
        self.effects = 0
        self.attempts = 0
        self.epoch = 0
        self.last_call = None

        @spanward.tool
        def pay(amount):
            self.effects += 1
            if amount < 0:
                raise ValueError("negative")
            return {"paid": amount}

        self.pay = pay

    def said(self, span):
        """The verdict that the next held span gets, once."""
        verdict, self.next_verdict = self.next_verdict, None
        return verdict(span) if callable(verdict) else verdict

    @precondition(lambda self: self.run is None)
    @rule()
    def begin(self):
        """A run starts."""
        self.scope = spanward.run("bot")
        self.run = self.scope.__enter__()

    @precondition(lambda self: self.run is not None)
    @rule()
    def end(self):
        """The run ends."""
        self.scope.__exit__(None, None, None)
        self.scope = self.run = None

    @rule(connected=st.booleans())
    def outage(self, connected):
        """The detector comes and goes."""
        self.gate.control.connected = connected

    @rule(seconds=st.sampled_from([0.0, 0.3, 2.0, 40.0]))
    def time_passes(self, seconds):
        """The clock goes on."""
        self.gate.clock.advance(seconds)

    @rule(epoch=st.integers(0, 3))
    def new_detector(self, epoch):
        """Another detector takes over, or an old one comes back."""
        self.epoch = max(self.epoch, epoch)
        self.gate.runtime.set_epoch(epoch)

    @rule(
        kind=st.sampled_from(KINDS),
        directive_id=st.sampled_from(IDS),
        epoch=st.integers(0, 3),
        expired=st.booleans(),
        changed=st.booleans(),
    )
    def prepare_verdict(self, kind, directive_id, epoch, expired, changed):
        """The next held span will be answered by this directive."""
        self.next_verdict = lambda span: directive_for(
            span,
            kind,
            directive_id=directive_id,
            epoch=epoch,
            expires_at=1.0 if expired else 0.0,
            target_digest="sha256:other" if changed else "",
            lease_ms=1,
        )

    @rule()
    def prepare_silence(self):
        """The next held span will not be answered."""
        self.next_verdict = SILENCE

    @precondition(lambda self: self.run is not None and not self.run.paused)
    @rule(amount=st.integers(-1, 1))
    def call(self, amount):
        """The agent calls its tool."""
        over, before = self.run.is_over(), self.effects
        try:
            self.pay(amount)
        except ValueError:
            assert amount < 0
        except spanward.AgentTerminated:
            assert self.run.is_over()
        # A write that may have happened is never repeated, and a dead run has no effects.
        assert self.effects - before == (0 if over else 1)

    @precondition(lambda self: self.run is not None)
    @rule(
        kind=st.sampled_from(KINDS),
        directive_id=st.sampled_from(IDS),
        epoch=st.integers(0, 3),
        answers_hold=st.booleans(),
        mine=st.booleans(),
    )
    def deliver(self, kind, directive_id, epoch, answers_hold, mine):
        """A directive that no hold takes."""
        run_id = self.run.id if mine else "another"
        self.gate.runtime.deliver(
            GateDirective(directive_id, run_id, kind, epoch=epoch, answers_hold=answers_hold, payload={"lease_ms": 500})
        )
        self.epoch = self.gate.runtime.policy.epoch

    @invariant()
    def every_directive_is_executed_at_most_once(self):
        """Received at most once and before its end; one final state, which every repetition repeats."""
        for directive_id in IDS:
            told = [status for status in self.gate.control.statuses if status.directive_id == directive_id]
            assert sum(status.state == "received" for status in told) <= 1
            finals = {status for status in told if status.state in FINAL_STATES}
            assert len(finals) <= 1
            if told and told[0].state == "received":
                assert len(told) > 1
            if any(status.state == "applied" for status in told):
                assert told[0].state == "received"

    @invariant()
    def every_hold_is_accounted_for(self):
        """Each one that was waited for was answered, timed out, or lost its stream."""
        counters = self.gate.runtime.counters
        assert counters.holds == counters.holds_answered + counters.fail_open_timeout
        assert counters.internal_errors == 0

    @invariant()
    def dead_runs_stay_dead(self):
        """Nothing but a new run lifts the latch."""
        if self.run is not None and self.run._latch is not None:
            assert self.run.is_over()
            assert not self.run.resume()

    def teardown(self):
        """Puts everything back."""
        if self.scope is not None:
            self.scope.__exit__(None, None, None)
        self._supervised.__exit__(None, None, None)


TestGateMachine = GateMachine.TestCase
TestGateMachine.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
