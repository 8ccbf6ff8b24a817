"""Cases of ``rate_limited``."""

from tests.detectors.script import Case

FIRES = (
    Case(
        "429 with Retry-After",
        lambda s: s.tool(error="HTTPStatusError", status=429, retry_after_ms=7000),
        (1,),
        "error",
        {"status": 429, "retry_after_ms": 7000},
    ),
    Case(
        "429 whatever the body calls it",
        lambda s: s.llm(error="BadRequestError", text='{"type":"invalid_request_error"}', status=429),
        (1,),
    ),
    Case("only the class says so", lambda s: s.llm(error="RateLimitError"), (1,), "", {"status": 429}),
    Case("only the text says so", lambda s: s.tool(error="ToolError", text="Too Many Requests, slow down"), (1,)),
    Case("the result itself names 429", lambda s: s.tool(result='{"status": 429, "error": "slow down"}'), (1,)),
)
QUIET = (
    Case("429 that the SDK sat out", lambda s: s.llm("fine", status=429)),
    Case("a page about rate limits", lambda s: s.tool("fetch_page", result="How to deal with a rate limit: wait.")),
    Case("503", lambda s: s.tool(error="HTTPStatusError", status=503)),
)
