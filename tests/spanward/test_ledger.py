"""Each directive is executed at most once, however often and from wherever it comes."""

from concurrent.futures import ThreadPoolExecutor

import hypothesis.strategies as st
from hypothesis import given
from spanward.ledger import DirectiveLedger
from spanward.ports import FINAL_STATES, DirectiveOutcome


def test_first_one_may_and_the_others_hear_how_it_went():
    """A second copy gets the state so far, later the final one."""
    ledger = DirectiveLedger()

    assert ledger.claim("d1") is None
    assert ledger.claim("d1").state == "received"
    ledger.settle(DirectiveOutcome("d1", "applied", "", "b", "a", 1.5))
    assert ledger.claim("d1") == DirectiveOutcome("d1", "applied", "", "b", "a", 1.5)


def test_first_final_state_stands():
    """What was applied is not rejected afterwards."""
    ledger = DirectiveLedger()
    ledger.claim("d1")
    ledger.settle(DirectiveOutcome("d1", "applied"))
    ledger.settle(DirectiveOutcome("d1", "failed"))

    assert [outcome.state for outcome in ledger.outcomes()] == ["applied"]


def test_memory_is_bounded_but_never_forgets_what_is_being_done():
    """The oldest final ones go first; one in execution stays, or its copy would be executed too."""
    ledger = DirectiveLedger(capacity=3)
    ledger.claim("busy")
    for number in range(10):
        ledger.claim(f"d{number}")
        ledger.settle(DirectiveOutcome(f"d{number}", "applied"))

    assert len(ledger) == 3
    assert ledger.claim("busy").state == "received"
    assert ledger.claim("d9").state == "applied"
    assert ledger.claim("d0") is None


def test_threads_race_for_one_directive():
    """Of many callers at once exactly one may execute."""
    ledger = DirectiveLedger()
    with ThreadPoolExecutor(16) as pool:
        claims = list(pool.map(lambda _: ledger.claim("d1"), range(200)))

    assert claims.count(None) == 1


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(["claim", *sorted(FINAL_STATES)])), max_size=60))
def test_no_order_of_deliveries_executes_twice(events):
    """Whatever comes in whatever order: one execution an id, and one final state that never changes."""
    ledger = DirectiveLedger()
    executions, final = {}, {}
    for name, event in events:
        if event == "claim":
            known = ledger.claim(name)
            if known is None:
                executions[name] = executions.get(name, 0) + 1
            elif name in final:
                assert known.state == final[name]
        elif name in executions:
            ledger.settle(DirectiveOutcome(name, event))
            final.setdefault(name, event)

    assert all(count == 1 for count in executions.values())
    assert {outcome.directive_id: outcome.state for outcome in ledger.outcomes()} == final
