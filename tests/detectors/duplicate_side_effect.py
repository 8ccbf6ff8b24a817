"""Cases of ``duplicate_side_effect``."""

from tests.detectors.script import Case

FIRES = (
    Case(
        "sent again after an error that came too late",
        lambda s: (s.tool("send_email", error="ToolError", text="503 backend error"), s.tool("send_email")),
        (2,),
        "error",
        {"first": "tool_error"},
    ),
    Case("sent twice", lambda s: [s.tool("sendEmail") for _ in range(2)], (2,), "", {"first": "worked"}),
    Case("ordered twice in another language", lambda s: [s.tool("buchung_anlegen") for _ in range(2)], (2,)),
    Case("stated as high risk", lambda s: [s.tool("wipe", side_effect="high_risk") for _ in range(2)], (2,)),
    Case(
        "stated as not idempotent",
        lambda s: [s.tool("append", side_effect="write", idempotent=False) for _ in range(2)],
        (2,),
    ),
)
QUIET = (
    Case("to someone else", lambda s: [s.tool("send_email", arguments=f'{{"to": {n}}}') for n in range(2)]),
    Case("with a key that makes it one", lambda s: [s.tool("send_email", idempotent=True) for _ in range(2)]),
    Case("the first was refused", lambda s: (s.tool("send_email", error="E", status=400), s.tool("send_email"))),
    Case("a look", lambda s: [s.tool("get_order") for _ in range(2)]),
    Case("the same file again", lambda s: [s.tool("write_file", side_effect="write") for _ in range(2)]),
)
