"""Requests that wait for the peer: never more bytes than allowed, and no span is forgotten."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from spanward.backlog import Backlog
from spanward.span_codec import Batch

BATCHES = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), max_size=20)


@given(BATCHES)
def test_spans_are_kept_in_order_or_counted(sizes: list[tuple[int, int]]) -> None:
    """What was kept and what was lost is all that came; the newest are kept, the oldest are taken first."""
    backlog = Backlog(limit=20)
    batches = [Batch(b"x" * size, spans) for size, spans in sizes]
    lost = sum(map(backlog.keep, batches))
    kept = []
    while backlog:
        kept.append(backlog.take())
    real = [batch for batch in batches if batch.spans]
    assert sum(len(batch.payload) for batch in kept) <= 20
    assert kept == real[len(real) - len(kept) :]
    assert lost + sum(batch.spans for batch in kept) == sum(batch.spans for batch in real)


def test_what_is_let_go_is_counted() -> None:
    """At the end nothing stays, and the spans are told."""
    backlog = Backlog()
    backlog.keep(Batch(b"a", 2))
    backlog.keep(Batch(b"b", 3))
    assert backlog.clear() == 5
    assert not backlog
