"""Cases of ``refusal``."""

from tests.detectors.script import Case

FIRES = (
    Case("a filter ended it", lambda s: s.llm("", finish_reason="content_filter"), (1,), "warning"),
    Case(
        "the model says sorry", lambda s: s.llm("I'm sorry, but I can't help with that."), (1,), "info", mode="observe"
    ),
)
QUIET = (
    Case("an answer", lambda s: s.llm("It is 21 degrees.")),
    Case("sorry for the wait", lambda s: s.llm("Sorry for the delay, the order has shipped.")),
)
