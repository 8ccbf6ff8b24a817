"""Cases of ``loop``."""

from tests.detectors.script import ROOT, Case, Script


def _cycle(s: Script, names: str, rounds: int) -> None:
    for _ in range(rounds):
        for name in names:
            s.llm(took_s=0.5)
            s.tool(name, arguments=f'{{"for": "{name}"}}')


def _blind(s: Script, times: int) -> None:
    for _ in range(times):
        s.llm()
        s.tool(arguments=None, result=None)


def _growing(s: Script) -> None:
    for n in range(5):
        s.tool("submit_job")
        s.wait(2**n)


def _sub_agents(s: Script) -> None:
    for n in range(3):
        s.tool("read", parent=f"{n:x}" * 16, agent="worker")
    for n in range(3):
        s.agent(f"{n:x}" * 16, parent=ROOT, name="worker")
    s.agent()


def _hidden_retries(s: Script) -> None:
    s.tool("get", error="ValueError", attempt=1)
    s.tool("get", error="ValueError", attempt=2)
    s.tool("get", error="ValueError", attempt=3)


FIRES = (
    Case(
        "the same search",
        lambda s: [s.tool("google", result="['SECRET']") for _ in range(4)],
        (3, 4),
        "warning",
        {"count": 3, "period": 1},
    ),
    Case("the same error", lambda s: [s.tool(error="ValueError") for _ in range(3)], (3,), "error", {"failing": 1}),
    Case(
        "arguments in another order",
        lambda s: [s.tool(arguments=a) for a in ('{"a":1,"b":2}', '{"b":2,"a":1}', '{ "a":1,"b":2}')],
        (3,),
    ),
    Case("a cycle of two", lambda s: _cycle(s, "ab", 3), (12,), "warning", {"count": 3, "period": 2}),
    Case("a cycle of four", lambda s: _cycle(s, "abcd", 3), (24,), "warning", {"period": 4}),
    Case(
        "with the model thinking for long in between", lambda s: [(s.llm(took_s=100), s.tool()) for _ in range(3)], (6,)
    ),
    Case(
        "a model call that fails in the same way",
        lambda s: [s.llm(error="OutputParserException", text="no code block") for _ in range(3)],
        (3,),
    ),
    Case("the same decision for the same reason", lambda s: [s.decision(reason="look again") for _ in range(3)], (3,)),
    Case("names only", lambda s: _blind(s, 4), (8,), "info", mode="observe"),
    Case("by digests alone", lambda s: (setattr(s, "content", False), [s.tool() for _ in range(3)]), (3,), "warning"),
    Case(
        "the same command under another title",
        lambda s: [s.tool("bash", f'{{"description": "try {n}", "command": "echo x"}}', "x") for n in range(3)],
        (3,),
    ),
    Case(
        "only the clock goes on",
        lambda s: [s.tool("read_output", result=f"2{n}.5s elapsed (no new output)", took_s=0.1) for n in range(3)],
        (3,),
    ),
    Case(
        "a status that says it all",
        lambda s: [s.tool("flight_status", result='{"flight": "LX724", "departure": "14:05"}') for _ in range(3)],
        (3,),
    ),
    Case(
        "the same announcement, and nothing comes",
        lambda s: [s.llm("Let me check the configuration file.") for _ in range(3)],
        (3,),
    ),
    Case(
        "the same answer, which the framework does not take for one",
        lambda s: [s.llm("The Zugspitze is 9,718 feet high.", declared_tools={"search": None}) for _ in range(3)],
        (3,),
    ),
    Case("the policy is stricter", lambda s: [s.tool() for _ in range(2)], (2,), rules={"repeats": 2}),
)
QUIET = (
    Case("twice", lambda s: [s.tool() for _ in range(2)]),
    Case("results that change", lambda s: [s.tool("job_status", result=f'{{"done": {n}}}') for n in range(6)]),
    Case(
        "a long build that comes along",
        lambda s: [s.tool("bash", result=f"[{n}%]", took_s=110) for n in (10, 31, 55, 78)],
    ),
    Case("minutes apart", lambda s: [(s.tool("submit_job"), s.wait(300)) for _ in range(5)]),
    Case("longer and longer apart", _growing),
    Case("side by side", lambda s: [s.tool("read", at_s=1) for _ in range(4)]),
    Case("three workers do the same", _sub_agents),
    Case("attempts of one call", _hidden_retries),
    Case("pages", lambda s: [s.tool("read", arguments=f'{{"page": {n}}}', result="text") for n in range(6)]),
    Case(
        "moving files",
        lambda s: [s.tool(n, arguments=f'{{"f": {i}}}', result="ok") for i in range(4) for n in ("a", "b", "c")],
    ),
    Case(
        "announcements with calls in between",
        lambda s: [(s.llm("Let me check."), s.tool("read", f'{{"n": {n}}}'), s.llm("Read it.")) for n in range(4)],
    ),
    Case(
        "the same label for each, with tools", lambda s: [s.llm("spam", declared_tools={"a": None}) for _ in range(5)]
    ),
    Case("the same label for each", lambda s: [s.llm("spam") for _ in range(5)]),
    Case(
        "as often as was asked for",
        lambda s: (
            s.llm(said=(("user", "Roll the dice four times."),)),
            [s.tool("roll", arguments="{}", result="6") for _ in range(4)],
        ),
    ),
    Case("another reason each time", lambda s: [s.tool(reason=f"check {n}") for n in range(4)]),
    Case("a model refused for its rate", lambda s: [s.llm(error="RateLimitError") for _ in range(4)]),
    Case("polling a few times", lambda s: [s.tool("job_status", result="running") for _ in range(5)]),
    Case("work in between", lambda s: [(s.tool("test"), s.tool("edit", arguments=f'{{"n": {n}}}')) for n in range(4)]),
)
