"""Cases of ``custom``."""

from tests.detectors.script import Case, Script


def rule(when: str, **more: object) -> str:
    """A policy with one rule."""
    extra = "".join(f", {key}: {value}" for key, value in more.items())
    return f"custom:\n- {{name: mine, when: '{when}'{extra}}}\n"


BIG = rule('step.action == "pay" && step.arguments.amount > 100', severity="error", mode="act")
APPROVED = rule('step.action == "pay" && !run.called("approve")')
ORDERED = rule('step.action == "pay" && !run.before("approve", "pay")')
OFTEN = rule('run.count("look", 3) >= 3')
ANSWER = rule('has(step.answer) && step.answer.contains("lawyer")', kinds="[llm]")


def _calls(s: Script, *tools: str) -> None:
    for n, tool in enumerate(tools):
        s.tool(tool, f'{{"amount": {n}}}')


FIRES = (
    Case(
        "an argument is too large",
        lambda s: (s.tool("pay", '{"amount": 100}'), s.tool("pay", '{"amount": 101}')),
        (2,),
        "error",
        {"rule": "mine"},
        policy=BIG,
        mode="act",
    ),
    Case("something was not called", lambda s: _calls(s, "look", "pay", "approve"), (2,), "warning", policy=APPROVED),
    Case("something came after it", lambda s: _calls(s, "pay", "approve", "pay"), (1, 3), policy=ORDERED),
    Case(
        "too often within the last steps",
        lambda s: _calls(s, "look", "look", "look", "pay", "look"),
        (3,),
        policy=OFTEN,
    ),
    Case("an answer", lambda s: s.llm("Ask your lawyer."), (1,), policy=ANSWER, mode="observe"),
    Case(
        "what must not be",
        lambda s: _calls(s, "wipe"),
        (1,),
        policy=rule('step.action == "wipe"', failure_type="unsafe_action"),
    ),
    Case("a failure", lambda s: s.tool(error="TimeoutError"), (1,), policy=rule('step.error == "timeout"')),
)
QUIET = (
    Case("no rule", lambda s: _calls(s, "pay")),
    Case("within what is allowed", lambda s: s.tool("pay", '{"amount": 5}'), policy=BIG),
    Case("the key is missing", lambda s: (s.tool("pay", "{}"), s.tool("pay", None)), policy=BIG),
    Case("arguments that are no JSON", lambda s: s.tool("pay", "amount=200"), policy=BIG),
    Case("in order", lambda s: _calls(s, "approve", "pay"), policy=ORDERED),
    Case("another kind of step", lambda s: s.tool(result="lawyer"), policy=ANSWER),
    Case("too few", lambda s: _calls(s, "look", "pay", "look", "pay", "look"), policy=OFTEN),
)
