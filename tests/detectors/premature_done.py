"""Cases of ``premature_done``."""

from tests.detectors.script import Case

ASKED = (("user", "Please send the quarterly report to Anna and book the room."),)
TOOLS = {"send_mail": None}

FIRES = (
    Case(
        "ready when you are",
        lambda s: s.llm("I have the context. Ready when you are."),
        (1,),
        "warning",
        {"claim": "standby"},
        mode="observe",
    ),
    Case("asked, and waits", lambda s: s.llm("Standing by for your instructions.", said=ASKED), (1,), "warning"),
    Case("waits in German", lambda s: s.llm("Alles klar, ich bin bereit, wenn du es bist.", said=ASKED), (1,)),
    Case("waits in Chinese", lambda s: s.llm("我已准备好，请告诉我何时开始。"), (1,)),
    Case("content off", lambda s: (setattr(s, "content", False), s.llm("I'm ready to start.")), (1,)),
    Case(
        "sent without a call",
        lambda s: s.llm("Done! I've sent the report to Anna.", said=ASKED, declared_tools=TOOLS),
        (1,),
        "warning",
        {"claim": "done"},
    ),
    Case(
        "booked by looking",
        lambda s: (s.tool("search_rooms"), s.llm("I have booked the room for you.", said=ASKED)),
        (2,),
    ),
    Case("in Spanish", lambda s: (s.tool("get_rooms"), s.llm("Listo: he reservado la sala.", said=ASKED)), (2,)),
)
QUIET = (
    Case("work, then an offer", lambda s: (s.tool("send_mail"), s.llm("Sent. Let me know when you need more."))),
    Case("a greeting", lambda s: s.llm("Hi! I'm ready to assist.", said=(("user", "hello"),))),
    Case(
        "told to wait", lambda s: s.llm("Ready when you are.", said=(("user", "Read the brief on pandas, then wait."),))
    ),
    Case(
        "the user's turn",
        lambda s: s.llm(
            "Let me know when you have the id.", said=(*ASKED, ("user", "One moment, I look up the order number."))
        ),
    ),
    Case("sent by a call", lambda s: (s.tool("send_mail"), s.llm("I've sent the report.", said=ASKED))),
    Case("by a shell", lambda s: (s.tool("bash"), s.llm("I have deployed the service."))),
    Case("what could be done", lambda s: (s.tool("search"), s.llm("The room can be booked. I have not booked it."))),
    Case("owns up", lambda s: (s.tool("search"), s.llm("Sorry, I couldn't: I have sent nothing, it failed."))),
    Case("no tools to do it with", lambda s: s.llm("I have saved the best line for last: ...", said=ASKED)),
    Case("calls that nobody saw", lambda s: (s.llm(calls=[]), s.llm("I've sent it.", said=ASKED))),
)
