"""Cases of ``duplicate_side_effect``."""

import json

from tests.detectors.script import Case, Script

VARIANTS = (
    "Quick check: does the intro call on Tuesday at 10:00 still work?",
    "Just checking whether the intro call on Tuesday at 10:00 still works for you.",
    "Does Tuesday 10:00 for the intro call still work for you? Quick check.",
)


def _message(s: Script, text: str) -> None:
    s.tool("send_message", json.dumps({"to": "@rowan", "text": text}))


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
    Case(
        "the same order under a fresh id",
        lambda s: (
            s.tool(
                "place_order",
                '{"client_order_id": "5b6f2c1e-03a2-4c57-9b0e-7e2f8d6a1c11", "count": 50}',
                error="ReadTimeout",
            ),
            s.tool("place_order", '{"client_order_id": "c41d9e77-8a55-4f0d-bb6e-0f3a7c2e9d42", "count": 50}'),
        ),
        (2,),
    ),
    Case("two tickets", lambda s: [s.tool("create_ticket", result=f'{{"id": {n}}}') for n in range(2)], (2,)),
    Case(
        "created again after a timeout",
        lambda s: (s.tool("create_job", error="TimeoutError"), s.tool("create_job", result='{"id": 5}')),
        (2,),
    ),
    Case(
        "the same message in other words",
        lambda s: [_message(s, text) for text in VARIANTS],
        (3,),
        "warning",
        mode="observe",
    ),
    *(
        Case(
            f"a command run again after it timed out: {command}",
            lambda s, command=command: (
                s.tool("bash", json.dumps({"command": command}), error="TimeoutError"),
                s.tool("bash", json.dumps({"command": command}), "done"),
            ),
            (2,),
        )
        for command in (
            "gh issue create --title x",
            "npx awal send 40 a.eth --json",
            "curl -X POST https://a.example/pay",
        )
    ),
)
QUIET = (
    Case(
        "a command that shows, run again",
        lambda s: [s.tool("bash", '{"command": "gh issue list --limit 3"}') for _ in range(2)],
    ),
    Case("to someone else", lambda s: [s.tool("send_email", arguments=f'{{"to": {n}}}') for n in range(2)]),
    Case("with a key that makes it one", lambda s: [s.tool("send_email", idempotent=True) for _ in range(2)]),
    Case("the first was refused", lambda s: (s.tool("send_email", error="E", status=400), s.tool("send_email"))),
    Case("a look", lambda s: [s.tool("get_order") for _ in range(2)]),
    Case("made once, as it says", lambda s: [s.tool("create_topic", result="exists") for _ in range(2)]),
    Case("two different orders", lambda s: [s.tool("place_order", f'{{"count": {n}}}') for n in (50, 60)]),
    Case("a correction", lambda s: [_message(s, text) for text in VARIANTS[:2]]),
    Case(
        "news of each build", lambda s: [_message(s, f"Build {n} of the main branch passed all tests") for n in "789"]
    ),
    Case(
        "reminders, day by day",
        lambda s: [(_message(s, text), s.wait(86_400)) for text in VARIANTS],
    ),
    Case("the same file again", lambda s: [s.tool("write_file", side_effect="write") for _ in range(2)]),
)
