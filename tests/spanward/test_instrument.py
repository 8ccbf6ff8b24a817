"""Switching it on and off, and what a process that does neither pays."""

import os
import subprocess
import sys
import textwrap

import pytest
import spanward
from spanward.runtime import runtime


def python(program, **environ):
    """Runs a program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture(autouse=True)
def _off():
    """Leaves nothing switched on."""
    yield
    spanward.shutdown(0.1)


def test_importing_costs_nothing():
    """Neither gRPC nor OpenTelemetry is loaded by the import, and the public names are all there."""
    done = python("""
        import sys, spanward
        heavy = [name for name in sys.modules if name.partition(".")[0] in ("grpc", "opentelemetry", "orjson", "wrapt")]
        assert not heavy, heavy
        for name in spanward.__all__:
            assert getattr(spanward, name) is not None
        assert callable(spanward.run) and callable(spanward.step) and callable(spanward.tool)
        assert set(spanward.__all__) <= set(dir(spanward))
    """)

    assert done.returncode == 0, done.stderr


def test_unknown_name_is_an_attribute_error():
    """As of any module."""
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        spanward.nonsense  # noqa: B018 - the attribute access is the test


def test_switching_on_is_idempotent_and_returns_the_agent():
    """The second call changes nothing; the agent comes back as it is."""
    agent = object()

    assert spanward.instrument_agent(agent) is agent
    first = runtime()
    assert first is not None
    assert spanward.instrument_agent() is None
    assert runtime() is first
    spanward.shutdown(0.1)
    spanward.shutdown(0.1)
    assert runtime() is None


def test_bad_settings_are_an_error_even_when_nothing_else_is():
    """A misspelt setting must not be found out in production."""
    with pytest.raises(ValueError, match="always, suspect, never"):
        spanward.instrument_agent(hold="sometimes")
    with pytest.raises(TypeError, match="no setting"):
        spanward.instrument_agent(nonsense=1)


def test_disabled_is_off():
    """By argument and by either variable."""
    spanward.instrument_agent(disabled=True)

    assert runtime() is None


@pytest.mark.parametrize("variable", ["SPANWARD_DISABLED", "OTEL_SDK_DISABLED"])
def test_disabled_by_variable(variable, monkeypatch):
    """The environment can keep it off."""
    monkeypatch.setenv(variable, "true")
    spanward.instrument_agent()

    assert runtime() is None


def test_agent_runs_without_any_detector():
    """Nobody listens: tools work, the process ends quickly, one line is logged, and no error."""
    done = python(
        """
        import logging, time
        logging.basicConfig(level=logging.WARNING)
        import spanward
        spanward.instrument_agent(endpoint="127.0.0.1:9")

        @spanward.tool(side_effect="read")
        def look(x):
            return x

        began = time.monotonic()
        with spanward.run("bot"):
            for number in range(20):
                assert look(number) == number
        assert time.monotonic() - began < 10
        print("done")
        """,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout == "done\n"
    assert "Traceback" not in done.stderr
    assert done.stderr.count("WARNING") <= 2, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_child_is_off():
    """In a child the tools are plain functions; it can be switched on there anew."""
    done = python(
        """
        import os, sys
        import spanward
        from spanward.runtime import runtime
        spanward.instrument_agent(endpoint="127.0.0.1:9")

        @spanward.tool
        def look(x):
            return x

        with spanward.run("bot"):
            look(1)
            child = os.fork()
            if child == 0:
                assert runtime() is None
                assert spanward.current_run() is None
                assert look(2) == 2
                spanward.instrument_agent(endpoint="127.0.0.1:9")
                assert runtime() is not None
                with spanward.run("bot"):
                    assert look(3) == 3
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert look(4) == 4
        print("done")
        """,
    )

    assert done.stdout == "done\n", done.stderr


def test_broken_neighbour_does_not_break_the_host(monkeypatch, caplog):
    """Where a part cannot be loaded, the agent runs without it and one line says so."""
    monkeypatch.setitem(sys.modules, "spanward.control_client", None)
    spanward.instrument_agent()

    assert runtime() is None
    assert "could not be switched on" in caplog.text
