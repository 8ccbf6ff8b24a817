"""Cases of ``no_progress``."""

import json

from tests.detectors.script import Case, Script


def _read(s: Script, *starts: int) -> None:
    for start in starts:
        s.tool(
            "read_file", arguments=f'{{"path": "ui.rs", "offset": {start}, "limit": 40}}', result=f"lines from {start}"
        )


REWORDED = (
    "CEO assistant email Acme",
    "Acme CEO's assistant e-mail address",
    "email of assistant of Acme CEO",
    "Acme chief executive assistant contact email",
    "contact assistant CEO Acme mail",
)

FIRES = (
    Case(
        "the same error whatever is tried",
        lambda s: [
            s.tool("edit", arguments=f'{{"old": "{" " * n}x"}}', error="ToolError", text="no match") for n in range(5)
        ],
        (4, 5),
        "warning",
        {"count": 4, "why": "same_error"},
    ),
    Case(
        "reads on from the start",
        lambda s: _read(s, 1, 41, 81, 121, 161, 1, 21, 61, 101),
        (9,),
        "warning",
        {"why": "read_before"},
    ),
    Case(
        "everything was done before",
        lambda s: [s.tool(n, arguments=f'{{"n": "{n}"}}') for n in "abcdef" + "cafbde"],
        (12,),
        "warning",
        {"why": "revisited"},
    ),
)
FACTS = (
    "User's name is Priya. She lives in Pune and works mostly with Rust.",
    "The user is called Priya, lives in Pune and mostly works with Rust.",
    "Priya lives in Pune; works mostly with Rust.",
    "User Priya works mostly with Rust and lives in Pune.",
    "The user, Priya, lives in Pune and mostly works with Rust.",
    "The user is called Priya; she mostly works with Rust, and lives in Pune.",
)
HITS = json.dumps(
    [{"id": "w-1182", "title": "Untitled (lake)"}, {"id": "w-2207", "title": "Contact sheet, second part"}]
)
WATER = ("water", "works with water", "picture of water", "image of a water scene", "the one with the water")
FIRES = (
    *FIRES,
    Case(
        "a memory is saved again in other words",
        lambda s: [s.tool("add_memory", json.dumps({"memory": f}), "Memory added successfully") for f in FACTS],
        (6,),
        "warning",
        {"why": "same_answer"},
    ),
    Case(
        "the same hits to quite other words",
        lambda s: [s.tool("search", json.dumps({"query": q, "size": 5}), HITS) for q in WATER],
        (5,),
        "warning",
        {"why": "same_answer"},
    ),
    Case(
        "the same search in other words",
        lambda s: [s.tool("web_search", json.dumps({"query": q}), "No results found.") for q in REWORDED],
        (5,),
        "warning",
        {"why": "same_answer"},
    ),
    Case(
        "one listing in two spellings",
        lambda s: [
            s.tool("bash", json.dumps({"command": c}), "a.css\nb.css") for c in ("ls x/custom", "ls -la x/custom") * 3
        ],
        (5, 6),
    ),
)
GREETING = "The quarterly planning meeting moves to Friday afternoon, please bring figures."
QUIET = (
    Case(
        "one message to each of many",
        lambda s: [
            s.tool("post_note", json.dumps({"to": n, "text": GREETING}), "ok")
            for n in ("anna", "bernd", "clara", "doris", "emil", "franz", "gerda")
        ],
    ),
    Case(
        "a message with each one's name in it",
        lambda s: [
            s.tool("add_memory", json.dumps({"memory": f"{n} likes quiet hotels near the station"}), "Memory added")
            for n in ("Anna", "Bernd", "Clara", "Doris", "Emil", "Franz", "Gerda")
        ],
    ),
    Case(
        "searches for different things that share a word, with no hits",
        lambda s: [
            s.tool(
                "grep",
                json.dumps({"pattern": f"class {n}"}),
                "No matches found anywhere in the folders that were searched, nor in those below them.",
            )
            for n in ("Parser", "Writer", "Reader", "Lexer", "Printer", "Scanner")
        ],
    ),
    Case(
        "one after the other is looked up",
        lambda s: [
            s.tool("find_user", json.dumps({"name": n}), "none") for n in ("Anna", "Bernd", "Clara", "Doris", "Emil")
        ],
    ),
    Case(
        "day by day",
        lambda s: [
            s.tool("find_slots", json.dumps({"clinic": "Harbour Clinic", "date": f"2026-06-{n}"}), "No slots")
            for n in range(10, 17)
        ],
    ),
    Case(
        "edits that all say that they are done",
        lambda s: [
            s.tool("edit_file", json.dumps({"path": "src/app.py", "new": f"line{n}"}), "Edited") for n in range(7)
        ],
    ),
    Case("pages", lambda s: _read(s, *range(1, 400, 40))),
    Case("looks once more at one page", lambda s: _read(s, 1, 41, 81, 1, 121, 161)),
    Case(
        "work after reading the same again",
        lambda s: (_read(s, 1, 41, 81, 1, 41, 81), [s.tool("edit", arguments=f'{{"n": {n}}}') for n in range(4)]),
    ),
    Case(
        "other errors",
        lambda s: [
            s.tool("edit", arguments=f'{{"n": {n}}}', error=e)
            for n, e in enumerate(("KeyError", "ValueError", "OSError", "IndexError", "TypeError"))
        ],
    ),
    Case("the same call is a loop", lambda s: [s.tool(error="ValueError") for _ in range(5)]),
    Case(
        "a service that is away for a while",
        lambda s: [s.tool(arguments=f'{{"n": {n}}}', error="X", status=503) for n in range(5)],
    ),
)
