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
    Case("only the class says so", lambda s: s.llm(error="ContextLengthExceededError"), (1,)),
)
QUIET = (
    Case("another bad request", lambda s: s.llm(error="BadRequestError", text="unknown parameter", status=400)),
    Case("an answer about context windows", lambda s: s.llm("The context window is 200k tokens.")),
)
