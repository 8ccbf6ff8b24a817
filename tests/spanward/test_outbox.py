"""What waits to be told: coalesced, bounded, and kept where it must arrive."""

from __future__ import annotations

from spanward.control_client import outbox as outbox_module
from spanward.control_client.outbox import RESEND_S, Outbox, RunChange
from spanward.ports import DirectiveOutcome

from tests.spanward.fakes import FakeRun


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def everything(box: Outbox) -> list[object]:
    taken = []
    while (item := box.take()) is not None:
        taken.append(item)
    return taken


def test_changes_of_one_run_become_one() -> None:
    """A run that started, changed and ended before anybody listened is told once, with all of it."""
    box, run = Outbox(), FakeRun()
    box.put_run(RunChange(run, started=True))
    box.put_run(RunChange(run))
    box.put_run(RunChange(run, ended=True, reason="completed"))
    assert everything(box) == [RunChange(run, started=True, ended=True, reason="completed")]


def test_statuses_keep_their_order() -> None:
    """RECEIVED goes before the final state; a repeated one waits only once."""
    box = Outbox()
    for state in ("received", "applied", "received"):
        box.put_status(DirectiveOutcome("d", state))  # type: ignore[arg-type]
    assert [item.state for item in everything(box)] == ["received", "applied"]  # type: ignore[attr-defined]


def test_what_was_just_said_is_said_again_after_a_break() -> None:
    """Final states and ends of runs may have been lost with the stream: they come first on the next one."""
    box, run = Outbox(), FakeRun()
    box.put_status(DirectiveOutcome("d", "received"))
    box.put_status(DirectiveOutcome("d", "applied"))
    box.put_run(RunChange(run, ended=True))
    everything(box)
    box.put_status(DirectiveOutcome("e", "failed"))
    box.stream_broke()
    assert everything(box) == [
        DirectiveOutcome("d", "applied"), RunChange(run, ended=True), DirectiveOutcome("e", "failed"),
    ]  # fmt: skip


def test_what_was_said_long_ago_has_arrived() -> None:
    """Only the last minute before the break is in doubt."""
    clock = Clock()
    box = Outbox(clock)
    box.put_status(DirectiveOutcome("old", "applied"))
    everything(box)
    clock.now += RESEND_S + 1
    box.stream_broke()
    assert everything(box) == []


def test_open_runs_are_left_to_the_next_hello() -> None:
    """What waits of runs that are still open is told by Hello anyway."""
    box = Outbox()
    box.put_run(RunChange(FakeRun("open"), started=True))
    box.put_run(RunChange(FakeRun("over"), ended=True))
    box.stream_broke()
    assert [item.run.id for item in everything(box)] == ["over"]  # type: ignore[attr-defined]


def test_a_full_box_loses_what_matters_least(monkeypatch: object) -> None:
    """Beyond the bound the oldest unimportant item goes, and is counted; final states stay."""
    box = Outbox()
    limit = outbox_module.ITEMS_MAX
    box.put_status(DirectiveOutcome("first", "applied"))
    for number in range(limit + 10):
        box.put_status(DirectiveOutcome(str(number), "received"))
    assert len(box) == limit
    assert box.lost == 11
    assert box.take() == DirectiveOutcome("first", "applied")
    for number in range(2 * limit):
        box.put_status(DirectiveOutcome(f"final {number}", "applied"))
    assert len(box) == limit


def test_open_runs_may_be_taken_out_of_turn() -> None:
    """They go with spans that somebody waits for; ends of runs stay behind the states of what was done in them."""
    box, run, other = Outbox(), FakeRun(), FakeRun("other")
    box.put_status(DirectiveOutcome("d", "applied"))
    box.put_run(RunChange(run, ended=True))
    box.put_run(RunChange(other, started=True))
    assert box.take_open_runs() == [RunChange(other, started=True)]
    assert everything(box) == [DirectiveOutcome("d", "applied"), RunChange(run, ended=True)]
