"""Cases of ``http_error``."""

from tests.detectors.script import Case

FIRES = (
    Case(
        "a failed tool's last request got 503, while the gate waits",
        lambda s: s.tool(error="HTTPStatusError", status=503, held=True),
        (1,),
        "error",
        {"status": 503},
    ),
    Case("once, and it may pass", lambda s: s.tool(error="HTTPStatusError", status=503), (1,), "info", mode="observe"),
    Case(
        "again, so that it does not pass",
        lambda s: (s.tool(error="KeyError"), s.tool(error="HTTPStatusError", status=503)),
        (2,),
        "error",
    ),
    Case("an order that may have come through", lambda s: s.tool("order", error="E", status=503), (1,), "error"),
    Case("one that does not pass", lambda s: s.tool(error="HTTPStatusError", status=404), (1,), "error"),
    Case(
        "a failed model call got 500",
        lambda s: s.llm(error="InternalServerError", status=500),
        (1,),
        "error",
        {"status": 500},
    ),
    Case("the class stands for a status", lambda s: s.llm(error="BadRequestError"), (1,), "", {"status": 400}),
    Case(
        "the error starts with a status",
        lambda s: s.llm(error="ProviderError", text="502 bad gateway"),
        (1,),
        "",
        {"status": 502},
    ),
    Case("an error status and nothing returned", lambda s: s.tool(result="", status=500), (1,), "warning"),
    Case("a tool dealt with it", lambda s: s.tool(result="not there", status=404), (1,), "info", mode="observe"),
)
QUIET = (
    Case("200", lambda s: s.tool(status=200)),
    Case("a model call whose SDK tried again", lambda s: s.llm("fine", status=503)),
    Case("a tool that asks whether something is there", lambda s: s.tool(result='{"exists": false}', status=404)),
    Case("429 is rate_limited", lambda s: s.tool(error="HTTPStatusError", status=429)),
    Case("401 is auth_error", lambda s: s.tool(error="HTTPStatusError", status=401)),
)
