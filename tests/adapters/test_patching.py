"""Wrapping methods, installing adapters, and taking everything off again."""

import subprocess
import sys
import textwrap
from typing import Any

import openai
import pytest
import wrapt
from spanward import adapters
from spanward.adapters.patching import wrap
from spanward.testing import supervised


class Base:
    def greet(self, name: str) -> str:
        return f"hello {name}"


class Derived(Base):
    pass


def louder(wrapped: Any, _instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A wrapper."""
    return wrapped(*args, **kwargs).upper()


def test_instances_made_before_are_wrapped_too() -> None:
    """The method is looked up on the class, and the base class keeps its own."""
    early = Derived()
    undo = wrap(Derived, "greet", louder)

    assert early.greet("bob") == "HELLO BOB"
    assert Base().greet("bob") == "hello bob"
    undo()
    assert early.greet("bob") == "hello bob"
    assert "greet" not in vars(Derived)


def test_a_wrapper_below_another_one_falls_silent() -> None:
    """Who wrapped after us keeps working, and ours does nothing any more."""
    undo = wrap(Derived, "greet", louder)
    theirs = wrapt.FunctionWrapper(vars(Derived)["greet"], lambda w, _i, a, k: w(*a, **k) + "!")
    Derived.greet = theirs  # type: ignore[method-assign]
    try:
        assert Derived().greet("bob") == "HELLO BOB!"
        undo()
        assert Derived().greet("bob") == "hello bob!"
    finally:
        del Derived.greet


def test_a_missing_method_is_an_error() -> None:
    """An SDK without it is not supervised, and that is said."""
    with pytest.raises(AttributeError):
        wrap(Base, "no_such", louder)


def test_installing_twice_is_once() -> None:
    """The same runtime again changes nothing; another one takes its place."""
    with supervised(http=False) as first:
        adapters.install(first.runtime)
        adapters.install(first.runtime)
        assert openai.__name__ in adapters.installed()
        with supervised(http=False) as second:
            adapters.install(second.runtime)
            assert openai.__name__ in adapters.installed()
        adapters.uninstall()
        adapters.uninstall()
    assert adapters.installed() == frozenset()


def test_an_adapter_that_cannot_be_installed_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One warning; the others work."""
    broken = adapters.Adapter("json", "spanward.adapters.no_such_module")
    monkeypatch.setattr(adapters, "ADAPTERS", (broken, *adapters.ADAPTERS))
    with supervised(http=False) as gate:
        adapters.install(gate.runtime)
        try:
            assert openai.__name__ in adapters.installed()
            assert "json" not in adapters.installed()
        finally:
            adapters.uninstall()
    assert [record.message for record in caplog.records] == ["spanward: json cannot be supervised in this version"]


def test_a_library_imported_later_is_patched_then() -> None:
    """Installing imports none of them; importing one patches it; what is uninstalled is not patched later."""
    program = """
        import sys
        from spanward import adapters
        from spanward.testing import supervised

        with supervised() as gate:
            adapters.install(gate.runtime)
            assert not {"openai", "httpx", "httpx2"} & sys.modules.keys()
            assert adapters.installed() == frozenset()
            import openai
            client = "httpx2" if "httpx2" in sys.modules else "httpx"  # by which its releases speak
            assert {"openai", client} <= adapters.installed(), adapters.installed()
            assert "request" in vars(openai.OpenAI)
            adapters.uninstall()
            assert "request" not in vars(openai.OpenAI)
            import httpx, httpx2
            assert adapters.installed() == frozenset()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
