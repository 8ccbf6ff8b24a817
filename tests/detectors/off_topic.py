"""Cases of ``off_topic``."""

from tests.detectors.script import Case, Script

ASKED = "Which vaccination records does the school in Hamburg need from parents before the summer term?"
RECIPE = (
    "First peel the potatoes and boil them with some salt. Then melt butter in a large pan, add chopped onions and fry "
    "until golden. Stir in cream, pepper and nutmeg, layer everything with cheese, and bake for forty minutes in the "
    "hot oven. It tastes best with green salad and a glass of white wine."
)
GOOD = RECIPE.replace("First", "For Hamburg first").replace("potatoes", "records")
GERMAN = (
    "Zuerst die Kartoffeln schälen und mit etwas Salz kochen. Danach die Butter in der Pfanne schmelzen, Zwiebeln "
    "zugeben und goldbraun braten. Zuletzt Sahne, Pfeffer und Muskat unterrühren, alles mit Käse schichten und im "
    "heißen Ofen vierzig Minuten backen. Dazu passen grüner Salat und ein Glas Weißwein."
)


def _answer(s: Script, answer: str, asked: str = ASKED, *, result: str = "") -> None:
    if result:
        s.tool("cookbook", result=result)
    s.llm(answer, said=(("user", asked),))


FIRES = (
    Case("a recipe", lambda s: _answer(s, RECIPE), (1,), "warning", {"request_words": 10}, mode="observe"),
    Case("the policy is stricter", lambda s: _answer(s, RECIPE[:200]), (1,), rules={"answer_words": 10}),
)
QUIET = (
    Case("about the school", lambda s: _answer(s, GOOD)),
    Case("short", lambda s: _answer(s, "Two of them.")),
    Case("asks back", lambda s: _answer(s, RECIPE + " Is that right?")),
    Case("another language", lambda s: _answer(s, GERMAN)),
    Case("a short request", lambda s: _answer(s, RECIPE, "And now dinner, please.")),
    Case("what a tool returned", lambda s: _answer(s, RECIPE, result=RECIPE)),
    Case("the request is not known", lambda s: s.llm(RECIPE)),
)
