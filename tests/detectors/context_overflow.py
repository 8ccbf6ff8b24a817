"""Cases of ``context_overflow``."""

from tests.detectors.script import Case

FIRES = (
    Case(
        "the provider says so",
        lambda s: s.llm(
            error="BadRequestError", text="400 prompt is too long: 208380 tokens > 200000 maximum", status=400
        ),
        (1,),
        "error",
    ),
    Case(
        "a gateway's own limit",
        lambda s: s.llm(
            error="APIStatusError",
            text="413 tokens_limit_reached: Request body too large. Max size: 8000 tokens.",
            status=413,
        ),
        (1,),
    ),
    Case(
        "in the answer of a call that went well",
        lambda s: s.llm(
            'error: {"code":400,"message":"the request exceeds the available context size"}', finish_reason=""
        ),
        (1,),
    ),
    Case("only the class says so", lambda s: s.llm(error="ContextLengthExceededError"), (1,)),
)
QUIET = (
    Case("another bad request", lambda s: s.llm(error="BadRequestError", text="unknown parameter", status=400)),
    Case("an answer about context windows", lambda s: s.llm("The context window is 200k tokens.")),
)
