"""Cases of ``premature_done``."""

from spanward_detector.model import ToolCall

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
    Case(
        "says what comes next, and stops",
        lambda s: s.llm("Sure. Let me open calc.py and rename the function.", said=ASKED, declared_tools=TOOLS),
        (1,),
        "warning",
        {"claim": "announced"},
    ),
    Case("the same in Dutch", lambda s: s.llm("Prima, ik ga nu calc.py openen.", said=ASKED), (1,)),
    Case("the same in Chinese", lambda s: (s.tool("bash"), s.llm("测试在后台运行。等待并检查结果：")), (2,)),
    Case(
        "begs for patience", lambda s: s.llm("로그를 다시 확인해 드리겠습니다. 잠시만 기다려 주세요.", said=ASKED), (1,)
    ),
    Case("leads up to what does not come", lambda s: (s.tool("read"), s.llm("Here is what I found:")), (2,)),
    Case(
        "tests pass that failed",
        lambda s: (s.tool("bash", '{"command": "cargo test"}', "5 passed; 2 failed"), s.llm("All tests pass now.")),
        (2,),
        "warning",
        {"claim": "tested"},
    ),
    Case(
        "a build is fine whose exit code was not",
        lambda s: (
            s.tool("bash", '{"command": "xcodebuild"}', "...", extra={"exit_code": 65}),
            s.llm("✅ The build succeeded."),
        ),
        (2,),
    ),
    Case("nothing ran the tests", lambda s: (s.tool("edit_file"), s.llm("Las 128 pruebas pasan.", said=ASKED)), (2,)),
    Case(
        "a file written by reading",
        lambda s: (s.tool("read_file"), s.llm("Done. Wrote `weekly.csv` with 2 rows.", said=ASKED)),
        (2,),
        "warning",
        {"claim": "written"},
    ),
    Case(
        "all is done but three",
        lambda s: (
            s.tool("write_todos", '{"todos": [{"t": "a", "s": "completed"}, {"t": "b", "s": "pending"}]}'),
            s.llm("Everything is finished."),
        ),
        (2,),
        "warning",
        {"claim": "complete"},
    ),
    Case(
        "was sent by nobody",
        lambda s: s.llm("Chamado registrado com sucesso! Número: 871", said=ASKED, declared_tools=TOOLS),
        (1,),
        "warning",
        {"claim": "reported"},
    ),
    Case(
        "a report written by reading, under the name that was asked for",
        lambda s: (
            s.tool("grep"),
            s.llm(
                "The report has been written to `out/audit.md`.", said=(("user", "Write your audit to out/audit.md"),)
            ),
        ),
        (2,),
    ),
    Case(
        "tells of attempts that nobody made",
        lambda s: s.llm("I tried several times and the mail server says no.", said=ASKED, declared_tools=TOOLS),
        (1,),
        "warning",
        {"claim": "tried"},
    ),
    Case(
        "tells of calls of a tool that was not among those that were called",
        lambda s: (
            s.tool("bash", '{"command": "ls report.md"}', "report.md"),
            s.llm("I tried `send_mail` a dozen times and it won't fire.", said=ASKED, declared_tools=TOOLS),
        ),
        (2,),
        "warning",
        {"claim": "tried"},
    ),
    Case(
        "real output of no call, in a later turn",
        lambda s: s.llm(
            "Verified just now, real output: 1916 src/mod.rs",
            said=(*ASKED, ("assistant", "src/mod.rs has 800 lines."), ("user", "Is that so?")),
            declared_tools=TOOLS,
        ),
        (1,),
        "info",
    ),
    Case(
        "a file that no call wrote, where the script that would was written",
        lambda s: (
            s.tool("write_file", '{"path": "parse.py", "content": "..."}', "parse.py written"),
            s.llm("Done. Wrote a small parser and generated `orders.json` with 4 orders.", said=ASKED),
        ),
        (2,),
        "warning",
        {"claim": "written"},
    ),
    Case(
        "a picture that was only looked at",
        lambda s: (
            s.tool("analyze_image", '{"image": "a.png"}', "four parts"),
            s.llm("Annotated. I added the four labels to the image.", said=ASKED),
        ),
        (2,),
        "warning",
        {"claim": "written"},
    ),
    Case(
        "a call as text",
        lambda s: s.llm('send_mail(to="Anna", text="the report")', said=ASKED, declared_tools=TOOLS),
        (1,),
        "warning",
        {"claim": "as_text"},
    ),
    Case(
        "a call as JSON in text",
        lambda s: s.llm('{"name": "send_mail", "arguments": {"to": "Anna"}}', said=ASKED, declared_tools=TOOLS),
        (1,),
    ),
    Case(
        "in a later turn, and no turn called anything",
        lambda s: s.llm(
            "I've sent the report.",
            said=(*ASKED, ("user", "Send the report to Bob, the sales lead, too.")),
            declared_tools=TOOLS,
        ),
        (1,),
    ),
    Case("in Spanish", lambda s: (s.tool("get_rooms"), s.llm("Listo: he reservado la sala.", said=ASKED)), (2,)),
    Case(
        "saved by nobody, in the words of nobody",
        lambda s: (
            s.tool("transcribe_video", '{"path": "a.mp4"}', '{"transcript_path": "a.txt"}'),
            s.llm("The routine has been saved to `/notes/routine.md`.", said=ASKED),
        ),
        (2,),
        "warning",
        {"claim": "written"},
    ),
    Case(
        "a tool's answer where there was no tool",
        lambda s: s.llm(
            "The tool returned four terms, all active.",
            said=(("system", "Answer only from the registry tools."), ("user", "Which search terms are active?")),
        ),
        (1,),
    ),
)
QUIET = (
    Case(
        "tests that were run by a script, after the shell refused",
        lambda s: (
            s.tool("run_shell_command", '{"command": "cd a && pytest"}', '{"error": "&& is not allowed"}'),
            s.tool("execute_python_file", '{"path": "run_tests.py"}', '{"stdout": "3 passed in 0.01s"}'),
            s.llm("Fixed. All tests pass: 3 passed.", said=ASKED),
        ),
    ),
    Case(
        "a file that was written, among others",
        lambda s: (
            s.tool("write_file", '{"path": "out/orders.json", "content": "[]"}', "written"),
            s.llm("Done. I generated `orders.json` from the mails.", said=ASKED),
        ),
    ),
    Case(
        "a file that a script wrote",
        lambda s: (
            s.tool("write_file", '{"path": "parse.py", "content": "..."}', "written"),
            s.tool("bash", '{"command": "python parse.py"}', ""),
            s.llm("I generated `orders.json`.", said=ASKED),
        ),
    ),
    Case(
        "attempts that were made",
        lambda s: (
            s.tool("send_mail", error="ConnectionError"),
            s.llm("I tried send_mail twice and it failed.", said=ASKED, declared_tools=TOOLS),
        ),
    ),
    Case(
        "told again what an earlier turn did by a call",
        lambda s: s.llm(
            "As I said, I've sent the report.",
            said=(*ASKED, ("assistant", "Sent."), ("user", "Is it sent?")),
            declared_tools=TOOLS,
            extra={"called_before": True},
        ),
    ),
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
    Case(
        "done in an earlier turn",
        lambda s: s.llm(
            "I've sent the report.",
            said=(*ASKED, ("user", "Send the report to Bob, the sales lead, too.")),
            declared_tools=TOOLS,
            extra={"called_before": True},
        ),
    ),
    Case(
        "asked what was done",
        lambda s: s.llm(
            "I've sent the report and booked the room.",
            said=(*ASKED, ("user", "What did you do with the report yesterday?")),
            declared_tools=TOOLS,
        ),
    ),
    Case("tests that ran", lambda s: (s.tool("bash", '{"command": "pytest"}', "5 passed"), s.llm("All tests pass."))),
    Case(
        "tests that will run", lambda s: (s.tool("edit_file"), s.llm("The tests should pass now; I did not run them."))
    ),
    Case(
        "tests mended after they failed",
        lambda s: (
            s.tool("bash", '{"command": "pytest"}', "1 failed, 4 passed"),
            s.tool("edit_file"),
            s.tool("bash", '{"command": "pytest"}', "5 passed"),
            s.llm("All 5 tests pass."),
        ),
    ),
    Case(
        "all of the list is done",
        lambda s: (
            s.tool("write_todos", '{"todos": [{"t": "a", "s": "pending"}]}'),
            s.tool("write_todos", '{"todos": [{"t": "a", "s": "completed"}]}'),
            s.llm("All tasks are complete."),
        ),
    ),
    Case("leaves it to the user", lambda s: s.llm("I'll book it once you confirm the date.", said=ASKED)),
    Case("offers help", lambda s: s.llm("I'll be happy to help. Which quarter is it?", said=ASKED)),
    Case(
        "next, with a call", lambda s: s.llm("Let me check the room.", calls=[ToolCall("c", "get_rooms")], said=ASKED)
    ),
    Case(
        "history that was read", lambda s: (s.tool("git_log"), s.llm("The file app.py has been renamed.", said=ASKED))
    ),
    Case(
        "explains an error that the user brought",
        lambda s: s.llm(
            "The error message means that the port is taken.",
            said=(("user", "I get the error address in use, explain it"),),
            declared_tools=TOOLS,
        ),
    ),
    Case("a tool by its name", lambda s: s.llm("I can use send_mail for that.", said=ASKED, declared_tools=TOOLS)),
    Case("calls that nobody saw", lambda s: (s.llm(calls=[]), s.llm("I've sent it.", said=ASKED))),
)
