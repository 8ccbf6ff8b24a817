"""Cases of ``refusal``."""

from tests.detectors.script import Case

POLICY = (
    "Error code: 400 - {'error': {'inner_error': {'code': 'ResponsibleAIPolicyViolation'}, 'code': 'content_filter'}}"
)

FIRES = (
    Case("a filter ended it", lambda s: s.llm("", finish_reason="content_filter"), (1,), "warning"),
    Case(
        "the model says sorry", lambda s: s.llm("I'm sorry, but I can't help with that."), (1,), "info", mode="observe"
    ),
    Case("the provider refuses the request", lambda s: s.llm(error="openai.BadRequestError", text=POLICY), (1,)),
    Case("so does the model that a tool calls", lambda s: s.tool("ask", error="BadRequestError", text=POLICY), (1,)),
    Case("a tool returns the refusal", lambda s: s.tool("browser", result="I clicked it.\n" + POLICY), (1,), "warning"),
)
QUIET = (
    Case("an answer", lambda s: s.llm("It is 21 degrees.")),
    Case("sorry for the wait", lambda s: s.llm("Sorry for the delay, the order has shipped.")),
    Case("another bad request", lambda s: s.llm(error="openai.BadRequestError", text="Error code: 400 - bad schema")),
    Case(
        "a filter that let it pass",
        lambda s: s.tool("ask", result='{"content_filter_results": {"hate": {"filtered": false}}, "text": "ok"}'),
    ),
    Case("a page about filters", lambda s: s.tool("browser", result="How a content filter works, in ten steps.")),
)
