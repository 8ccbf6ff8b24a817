"""What every store promises, run against each of them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from spanward_detector.model import SpanRef
from spanward_detector.run_lifecycle import Life, Move
from spanward_detector.states import State
from spanward_detector.store import Row, SqliteStore, Store, StoreError, StoreSettings
from spanward_detector.store.records import directive_from, directive_row, finding_row, run_row, transition_rows

from tests.detector.service_fakes import make_directive, make_finding, make_step

MakeStore = Callable[[], Store]
NO_FATE = {
    "instance_id": "i", "sent_ns": 0, "final_ns": 0, "reason": "", "before": "", "after": "", "apply_ms": 0.0,
    "recovered_by": "",
}  # fmt: skip


@pytest.fixture(params=["sqlite-normal", "sqlite-full"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeStore]:
    """Opens the same store again and again."""
    opened: list[Store] = []

    def make_store() -> Store:
        for store in opened:
            store.close()
        synchronous = request.param.partition("-")[2].upper()
        store: Store = SqliteStore(tmp_path / "data" / "spanward.db", StoreSettings(synchronous=synchronous))
        store.open()
        opened.append(store)
        return store

    yield make_store
    for store in opened:
        store.close()


def life(run_id: str = "r1", started_ns: int = 5, state: State = State.RUNNING) -> Life:
    return Life(
        run_id, agent="bot", state=state, started_ns=started_ns, updated_ns=started_ns, trace_ids={"ab" * 16: None}
    )


async def test_what_was_committed_is_there_after_a_restart(make: MakeStore) -> None:
    """A directive reads back equal to the one that was committed."""
    directive = make_directive(make_step("r1"), "feedback", held=True)
    await make().commit(directive_row(directive, **NO_FATE))

    records = make().unfinished_directives()

    assert [directive_from(record) for record in records] == [directive]
    assert records[0]["instance_id"] == "i"


async def test_a_directive_is_unfinished_until_its_state_is_final(make: MakeStore) -> None:
    """The same id is the same row, whatever state it is written with."""
    store = make()
    directive = make_directive(make_step("r1"), "retry", held=False)
    for state, unfinished in (("pending", 1), ("sent", 1), ("received", 1), ("applied", 0)):
        await store.commit(directive_row(directive.with_state(state), **NO_FATE))

        assert len(store.unfinished_directives()) == unfinished


async def test_a_run_reads_back_whole(make: MakeStore) -> None:
    """Steps, findings, directives and transitions come back with their run, in order."""
    store = make()
    later, first = make_step("r1", start_ns=20, action="b", index=2), make_step("r1", start_ns=10, action="a", index=1)
    finding = make_finding(later)
    move = Move("r1", State.IDLE, State.RUNNING, "started", 7)
    rows = [run_row(life()), Row("steps", later), Row("steps", first), finding_row("r1", finding, 3, "v1")]
    for row in [*rows, *transition_rows([move])]:
        store.put(row)
    await store.commit(directive_row(make_directive(later, "feedback", held=True), **NO_FATE))
    await store.flush()

    run = store.get_run("r1")

    assert run is not None
    assert [(s["step"], s["action"]) for s in run["steps"]] == [(1, "a"), (2, "b")]
    assert [(f["rule"], f["span_id"], f["facts"]) for f in run["findings"]] == [
        ("tool_error", later.ref.span_id, {"tool": "b"})
    ]
    assert [d["kind"] for d in run["directives"]] == ["feedback"]
    assert [(t["from_state"], t["to_state"]) for t in run["transitions"]] == [("IDLE", "RUNNING")]
    assert run["trace_ids"] == ["ab" * 16]


async def test_the_same_span_twice_is_one_row(make: MakeStore) -> None:
    """Steps and findings are idempotent on their keys; the last telling counts."""
    store = make()
    ref = SpanRef("ab" * 16, "cd" * 8)
    for action in ("old", "new"):
        step = make_step("r1", ref, action=action)
        store.put(Row("steps", step))
        store.put(finding_row("r1", make_finding(step), 1, "v1", withdrawn=action == "new"))
    store.put(run_row(life()))
    await store.flush()

    run = store.get_run("r1")

    assert run is not None
    assert [s["action"] for s in run["steps"]] == ["new"]
    assert [f["withdrawn"] for f in run["findings"]] == [True]


async def test_unknown_runs_are_none(make: MakeStore) -> None:
    """Asking for a run that is not there is no error."""
    assert make().get_run("nobody") is None


async def test_runs_come_newest_first_and_paged(make: MakeStore) -> None:
    """The list is ordered by start, and can be gone on with from there."""
    store = make()
    for n in range(5):
        store.put(run_row(life(f"r{n}", started_ns=n + 1)))
    await store.flush()

    assert [r["run_id"] for r in store.list_runs(2)] == ["r4", "r3"]
    assert [r["run_id"] for r in store.list_runs(2, before_ns=4)] == ["r2", "r1"]


async def test_open_runs_are_those_that_may_go_on(make: MakeStore) -> None:
    """DONE and FAILED runs are over."""
    store = make()
    for n, state in enumerate(State):
        store.put(run_row(life(state.value, n + 1, state)))
    await store.flush()

    assert {r["run_id"] for r in store.open_runs()} == {s.value for s in State} - {"DONE", "FAILED"}


async def test_each_start_has_a_higher_epoch(make: MakeStore) -> None:
    """The epoch fences off directives of earlier starts."""
    first, second = make().epoch, make().epoch

    assert second == first + 1


async def test_an_epoch_that_an_agent_has_seen_is_never_fallen_below(make: MakeStore) -> None:
    """Raising the epoch outlives a restart, and never lowers it."""
    store = make()
    await store.raise_epoch(41)
    await store.raise_epoch(3)

    assert store.epoch == 41
    assert make().epoch == 42


async def test_many_at_once_are_all_committed(make: MakeStore) -> None:
    """Commits that wait together are written together, and each is answered."""
    store = make()
    directives = [make_directive(make_step("r1"), "feedback", held=False) for _ in range(500)]

    await asyncio.gather(*(store.commit(directive_row(d, **NO_FATE)) for d in directives))

    assert {r["id"] for r in store.unfinished_directives()} == {d.id for d in directives}


async def test_numbers_beyond_64_bits_are_clamped_and_counted(make: MakeStore) -> None:
    """A hostile timestamp is stored as the largest there is, with the rows around it."""
    store = make()
    store.put(Row("steps", make_step("r1", start_ns=2**64 - 1, end_ns=2**63, input_tokens=-(2**70))))
    store.put(run_row(life()))
    await store.flush()

    run = store.get_run("r1")

    assert run is not None
    assert run["steps"][0]["start_ns"] == run["steps"][0]["end_ns"] == 2**63 - 1
    assert run["steps"][0]["input_tokens"] == -(2**63 - 1)
    assert store.counters["clamped"] == 3


async def test_text_that_is_no_unicode_is_stored_escaped(make: MakeStore) -> None:
    """A lone surrogate costs neither its own row nor its neighbours."""
    store = make()
    await store.commit(run_row(life("ok")), run_row(Life("odd", agent="\ud800x", started_ns=1)))

    assert [(r["run_id"], r["agent"]) for r in store.list_runs()] == [("ok", "bot"), ("odd", "\\ud800x")]


async def test_one_bad_commit_fails_alone(make: MakeStore) -> None:
    """Those that were to be written with it are not lost."""
    store = make()
    good = directive_row(make_directive(make_step("r1"), "feedback", held=False), **NO_FATE)
    bad = Row("directives", ("too", "few"))

    results = await asyncio.gather(store.commit(good), store.commit(bad), store.commit(good), return_exceptions=True)

    assert [type(result) for result in results] == [type(None), StoreError, type(None)]
    assert len(store.unfinished_directives()) == 1


async def test_export_tells_every_run_on_a_line_of_its_own(make: MakeStore) -> None:
    """Oldest first, each line one JSON object with everything in it."""
    store = make()
    for n in range(250):
        store.put(run_row(life(f"r{n:03}", started_ns=n // 2)))
        store.put(Row("steps", make_step(f"r{n:03}")))
    await store.flush()

    lines = [json.loads(line) for line in store.export()]

    assert [line["run_id"] for line in lines] == [f"r{n:03}" for n in range(250)]
    assert all(len(line["steps"]) == 1 for line in lines)


async def test_a_closed_store_refuses_politely(make: MakeStore) -> None:
    """After the end, commits fail and rows are dropped; closing twice is no error."""
    store = make()
    store.close()
    store.close()

    with pytest.raises(StoreError):
        await store.commit()
    assert store.put(run_row(life())) is False
