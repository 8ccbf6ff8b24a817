"""The run travels into threads and executors while instrumented, and nowhere else."""

import asyncio
import threading
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

import spanward
import wrapt
from opentelemetry import trace
from spanward import context, semconv
from spanward.testing import supervised


@spanward.tool(side_effect="read")
def look(x):
    """A tool."""
    return x


def test_executor_carries_the_run_and_the_span():
    """Submit and map alike; the steps hang below the run's own span."""
    with supervised() as gate, spanward.run("bot") as run, ThreadPoolExecutor(4) as pool:
        assert pool.submit(look, 1).result() == 1
        assert list(pool.map(look, range(8))) == list(range(8))
    root = gate.spans.ended[-1]
    steps = [span for span in gate.spans.ended if span.name == "execute_tool look"]

    assert {span.attributes[semconv.RUN_ID] for span in steps} == {run.id}
    assert {span.parent.span_id for span in steps} == {root.context.span_id}
    assert gate.runtime.counters.implicit_runs == 0


def test_pool_worker_belongs_to_no_run():
    """A pool made inside a run serves later ones: each call has the run of who submitted it."""
    with supervised(), ThreadPoolExecutor(1) as pool:
        with spanward.run("first") as first:
            assert pool.submit(spanward.current_run).result() is first
        with spanward.run("second") as second:
            assert pool.submit(spanward.current_run).result() is second
        assert pool.submit(spanward.current_run).result() is None


def test_thread_carries_the_run():
    """A plain thread started inside a run is part of it."""
    seen = []
    with supervised(), spanward.run("bot") as run:
        thread = threading.Thread(target=lambda: seen.append((spanward.current_run(), trace.get_current_span())))
        thread.start()
        thread.join()

    assert seen[0][0] is run
    assert seen[0][1].get_span_context().trace_id == int(run.trace_id, 16)


def test_thread_subclass_keeps_its_own_run_method():
    """Overridden run methods are called as they are, with the run in force."""
    seen = []

    class Worker(threading.Thread):
        def run(self):
            seen.append((spanward.current_run(), self.name))

    with supervised(), spanward.run("bot") as run:
        worker = Worker(name="w")
        worker.start()
        worker.join()

    assert seen == [(run, "w")]


def test_bind_carries_the_run_by_hand():
    """Also several calls of one bound function at once."""
    with supervised(), spanward.run("bot") as run:
        bound = spanward.bind(spanward.current_run)
        results = []
        threads = [threading.Thread(target=lambda: results.append(bound())) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert results == [run] * 4


async def test_to_thread_and_run_in_executor():
    """Async code that moves sync tools off the loop keeps the run, and there the gate may wait."""
    with supervised() as gate:
        async with spanward.run("bot") as run:
            assert await asyncio.to_thread(look, 1) == 1
            assert await asyncio.get_running_loop().run_in_executor(None, look, 2) == 2

    assert {row[semconv.RUN_ID] for row in gate.spans.steps()} == {run.id}
    assert gate.runtime.counters.hold_skipped_loop == 0
    assert gate.runtime.counters.holds_answered == 2


def test_nothing_is_carried_without_a_run_or_without_instrumentation():
    """The patches are there only while instrumented, and do nothing outside a run."""
    submit, start = ThreadPoolExecutor.__dict__["submit"], threading.Thread.__dict__["start"]
    with supervised():
        assert isinstance(ThreadPoolExecutor.__dict__["submit"], wrapt.FunctionWrapper)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(spanward.current_run).result() is None

    assert ThreadPoolExecutor.__dict__["submit"] is submit
    assert threading.Thread.__dict__["start"] is start


def test_install_is_idempotent_and_spares_other_peoples_patches():
    """Twice is once; what somebody wrapped round it since stays."""
    original = ThreadPoolExecutor.__dict__["submit"]
    context.install()
    context.install()
    ours = ThreadPoolExecutor.__dict__["submit"]
    assert ours.__wrapped__ is original
    theirs = wrapt.FunctionWrapper(ours, lambda wrapped, instance, args, kwargs: wrapped(*args, **kwargs))
    ThreadPoolExecutor.submit = theirs
    context.uninstall()

    assert ThreadPoolExecutor.__dict__["submit"] is theirs
    ThreadPoolExecutor.submit = original
    context.uninstall()


def test_parallel_holds_in_threads_do_not_wait_for_each_other():
    """Each thread gets its own verdict as soon as that is there."""
    from spanward.ports import Verdict

    patient = {"manual": True, "hold_min_ms": 10_000, "hold_max_ms": 10_000}
    with supervised(**patient) as gate, spanward.run("bot"), ThreadPoolExecutor(3) as pool:
        futures = [pool.submit(look, number) for number in range(3)]
        assert gate.control.until(lambda control: len(control.holds) == 3)
        gate.control.settle(gate.control.holds[2].span_id, Verdict("none"))
        done, waiting = wait(futures, timeout=10, return_when=FIRST_COMPLETED)
        for hold in gate.control.holds:
            gate.control.settle(hold.span_id, Verdict("none"))
        results = [future.result(10) for future in futures]

    assert (len(done), len(waiting)) == (1, 2)
    assert results == [0, 1, 2]
