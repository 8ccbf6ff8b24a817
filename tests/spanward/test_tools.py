"""The decorator: signatures, options, binding plans."""

import functools
import inspect
import threading

import hypothesis.strategies as st
import pytest
import spanward
from hypothesis import given
from spanward import semconv
from spanward.facts import digest
from spanward.testing import supervised
from spanward.tools import Binding, ToolSpec, spec_of


def plain(a, b, c=3):
    return a, b, c


def positional_only(a, b=2, /, c=3):
    return a, b, c


def everything(a, /, b, *rest, c, d=4, **extra):
    return a, b, rest, c, d, extra


def keyword_only(*, a, b=2):
    return a, b


def nothing():
    return ()


class Owner:
    def method(self, a, b=2):
        return self, a, b


CALLS = [
    (plain, (1, 2), {}, {"a": 1, "b": 2}),
    (plain, (1,), {"b": 2}, {"a": 1, "b": 2}),
    (plain, (), {"a": 1, "b": 2, "c": 5}, {"a": 1, "b": 2, "c": 5}),
    (positional_only, (1,), {}, {"a": 1}),
    (positional_only, (1, 5), {"c": 6}, {"a": 1, "b": 5, "c": 6}),
    (everything, (1, 2, 7, 8), {"c": 3, "z": 9}, {"a": 1, "b": 2, "rest": [7, 8], "c": 3, "z": 9}),
    (everything, (1,), {"b": 2, "c": 3}, {"a": 1, "b": 2, "c": 3}),
    (keyword_only, (), {"a": 1}, {"a": 1}),
    (nothing, (), {}, {}),
    (Owner.method, (Owner(), 1), {}, {"a": 1}),
]


@pytest.mark.parametrize(("fn", "args", "kwargs", "expected"), CALLS)
def test_arguments_are_what_the_caller_wrote(fn, args, kwargs, expected):
    """By parameter name, without defaults and without the receiver; and calling with them does the same again."""
    binding = Binding(fn)
    arguments = binding.arguments(args, kwargs)

    assert arguments == expected
    assert binding.call(fn, args, arguments) == fn(*args, **kwargs)


@given(st.integers(0, 3), st.dictionaries(st.sampled_from(["b", "c"]), st.integers(), max_size=2))
def test_binding_agrees_with_inspect(count, kwargs):
    """For every call that fits, the plan gives what ``inspect.signature`` binds."""
    args = tuple(range(count))
    try:
        expected = dict(inspect.signature(plain).bind(*args, **kwargs).arguments)
    except TypeError:
        return

    assert Binding(plain).arguments(args, kwargs) == expected


def test_call_that_does_not_fit_is_the_functions_to_refuse():
    """Too many arguments, unknown ones, builtins without a signature: described, and passed on as they are."""
    assert Binding(plain).arguments((1, 2, 3, 4), {"q": 5}) == {"a": 1, "b": 2, "c": 3, "*": [4], "q": 5}
    assert Binding(dict.fromkeys).arguments(([1],), {})

    @spanward.tool
    def one(a):
        return a

    with supervised() as gate, spanward.run("bot"), pytest.raises(TypeError):
        one(1, 2)
    assert gate.spans.steps("tool")[0][semconv.ERROR_TYPE] == "TypeError"


def test_wrapper_looks_like_the_function():
    """Name, docstring, signature and coroutine nature are kept, as frameworks read them."""

    @spanward.tool(side_effect="read", timeout=3)
    async def lookup(key: str) -> str:
        """Looks up."""
        return key

    assert lookup.__name__ == "lookup"
    assert lookup.__doc__ == "Looks up."
    assert str(inspect.signature(lookup)) == "(key: str) -> str"
    assert inspect.iscoroutinefunction(lookup)
    assert spec_of(lookup).timeout_s == 3
    assert spec_of(len) is None


def test_methods_keep_their_receiver():
    """The receiver is no argument; it is passed on, with changed arguments, too."""

    class Service:
        def __init__(self):
            self.calls = []

        @spanward.tool(side_effect="read", schema={"type": "object", "properties": {"n": {"type": "integer"}}})
        def get(self, n):
            self.calls.append(n)
            return n

    service = Service()

    def answer(span):
        from spanward.testing import directive_for

        return directive_for(span, "repair_arguments") if semconv.GATE_REFUSED in span.attributes else None

    with supervised(answer) as gate, spanward.run("bot"):
        assert service.get("3") == 3
    assert service.calls == [3]
    assert gate.spans.steps("tool")[1][semconv.PAYLOAD_DIGEST] == digest({"n": 3})


def test_partials_and_callables_have_a_name():
    """What has no name of its own gets one, or the name that is stated."""

    class Search:
        def __call__(self, query):
            return query

    with supervised() as gate, spanward.run("bot"):
        assert spanward.tool(Search())("x") == "x"
        assert spanward.tool(name="named", side_effect="read")(functools.partial(plain, 1))(2) == (1, 2, 3)

    assert [step[semconv.ACTION] for step in gate.spans.steps()] == ["Search", "named"]


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        ({"side_effect": "maybe"}, "read, scratch, write, high_risk"),
        ({"timeout": 0}, "above 0"),
        ({"timeout": -1}, "above 0"),
    ],
)
def test_options_must_make_sense(options, hint):
    """A mistake is said when the tool is made, not when it is called."""
    with pytest.raises(ValueError, match=hint):
        spanward.tool(**options)(plain)


@pytest.mark.parametrize(
    ("spec", "effects", "repeatable", "interruptible"),
    [
        (ToolSpec("t", "read"), False, True, False),
        (ToolSpec("t", "scratch"), True, True, False),
        (ToolSpec("t", "write"), True, False, False),
        (ToolSpec("t", "write", idempotent=True, timeout_s=1), True, True, True),
        (ToolSpec("t", "high_risk", idempotent=True, is_async=True), True, False, True),
        (ToolSpec("t", "read", is_async=True, interruptible=False), False, True, False),
    ],
)
def test_what_side_effects_mean(spec, effects, repeatable, interruptible):
    """What may be repeated and cut short follows from side effect, idempotence and kind of function."""
    assert (spec.effects, spec.repeatable, spec.can_interrupt) == (effects, repeatable, interruptible)
    assert spec.facts.interruptible is interruptible


def test_span_tells_the_options_that_policies_need():
    """Timeout, idempotence and fallback stand on the span; a stated reason, too."""

    @spanward.tool(timeout=5, idempotent=True, fallback=lambda: None, reason="to know")
    def one():
        return "1"

    @spanward.tool(side_effect="read", reason=lambda arguments: f"about {arguments['city']}")
    def two(city):
        return "2"

    with supervised() as gate, spanward.run("bot") as run:
        one()
        two("x")
        first, second = gate.spans.steps("tool")

    assert first[semconv.TOOL_TIMEOUT_S] == 5
    assert first[semconv.TOOL_IDEMPOTENT] is True
    assert first[semconv.TOOL_HAS_FALLBACK] is True
    assert first[semconv.STEP_REASON] == "to know"
    assert second[semconv.STEP_REASON] == "about x"
    assert run.tools["one"].has_fallback
    assert run.tools["two"].side_effect == "read"


def test_result_schema_and_media_type_are_facts():
    """A result that breaks its schema, or is no JSON where it should be, is returned; the span says what is wrong."""

    @spanward.tool(side_effect="read", result_schema={"type": "object", "required": ["id"]})
    def one():
        return {"name": "x"}

    @spanward.tool(side_effect="read", returns_json=True)
    def two():
        return "<html>"

    with supervised(hold="suspect") as gate, spanward.run("bot"):
        assert one() == {"name": "x"}
        assert two() == "<html>"
    first, second = gate.spans.steps("tool")

    assert first[semconv.FACT_RESULT_SCHEMA] == "required:/id"
    assert second[semconv.FACT_RESULT_JSON_EXPECTED] is True
    assert len(gate.control.holds) == 2


@pytest.mark.parametrize(("foreign", "error"), [(None, "text"), (True, None)])
def test_foreign_text_proves_nothing(foreign, error):
    """Where somebody else's text may come back, its words are no sign of failure."""

    @spanward.tool(side_effect="read", foreign_text=foreign)
    def calculate():
        return "Error: division by zero"

    with supervised() as gate, spanward.run("bot"):
        calculate()

    assert gate.spans.steps("tool")[0].get(semconv.FACT_RESULT_ERROR) == error


def test_worker_threads_end_with_their_call():
    """A tool with a timeout that is not needed leaves no thread behind."""

    @spanward.tool(timeout=30)
    def quick():
        return threading.current_thread()

    with supervised(), spanward.run("bot"):
        worker = quick()
    worker.join(10)

    assert not worker.is_alive()
    assert worker.daemon
