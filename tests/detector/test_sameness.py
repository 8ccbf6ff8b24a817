"""What differs each time makes no difference: labels, fresh ids, clocks; and people say in words what they want."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward_detector.naming import is_unsettled
from spanward_detector.sameness import command_of, message_of, same_but_for_clocks, without_fresh_ids
from spanward_detector.text.quick import Quick
from spanward_detector.text.wishes import asks_back, names, tells_to_wait, wants_all, wants_gone


def test_a_command_is_what_it_runs_and_where() -> None:
    """Titles and descriptions are for people."""
    one, other = (
        command_of('{"command": "ls", "description": "a"}'),
        command_of('{"command": "ls", "description": "b"}'),
    )

    assert one == other is not None
    assert command_of('{"command": "ls", "cwd": "/a"}') != command_of('{"command": "ls", "cwd": "/b"}')
    assert command_of('{"path": "x"}') is command_of("[1]") is command_of("{") is None


@pytest.mark.parametrize(
    ("arguments", "left"),
    [
        ('{"client_order_id": "5b6f2c1e-03a2-4c57-9b0e-7e2f8d6a1c11", "n": 1}', '{"n":1}'),
        ('{"idempotencyKey": "ord_8f2kd03lq", "n": 1}', '{"n":1}'),
        ('{"n": 1, "timestamp": 1790000000123}', '{"n":1}'),
        ('{"n": 1, "request_id": "01J8ZC7Q4K9W3N5T6V8X0Y2A4B"}', '{"n":1}'),
        ('{"order_id": "5b6f2c1e-03a2-4c57-9b0e-7e2f8d6a1c11"}', None),
        ('{"client": "Nordwind GmbH", "n": 1}', None),
        ('{"reference": "invoice", "n": 1}', None),
        ('{"nonce": "5b6f2c1e-03a2-4c57-9b0e-7e2f8d6a1c11"}', None),
        ("nothing", None),
    ],
)
def test_ids_that_were_made_for_one_call_are_left_out(arguments: str, left: str | None) -> None:
    """By their name and their form; what is left must say something."""
    assert without_fresh_ids(arguments) == left


def test_a_message_is_told_from_whom_it_goes_to() -> None:
    """Its text is apart, its subject belongs to it."""
    assert message_of('{"to": "a", "subject": "s", "text": "hello"}') == ('{"to":"a"}', "hello")
    assert message_of('{"to": "a"}') is None


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("27.1s elapsed, 7.7s without output", "29.5s elapsed, 10.1s without output", True),
        ('{"up": 1, "checked_at": "2026-01-01T10:00:01Z"}', '{"up": 1, "checked_at": "2026-01-01T10:00:09Z"}', True),
        ('{"status": "busy", "idle_for_seconds": 3}', '{"status": "busy", "idle_for_seconds": 15}', True),
        ('{"status": "busy", "messages": 3}', '{"status": "busy", "messages": 4}', False),
        ("12 of 40 files", "13 of 40 files", False),
        ("[10%] building", "[20%] building", False),
        ("running, 5 min", "done, 6 min", False),
    ],
)  # fmt: skip
def test_only_the_clock_went_on(one: str, other: str, same: bool) -> None:
    """Times and durations are no news; counts and shares are."""
    assert same_but_for_clocks(one, other) is same


@pytest.mark.parametrize(
    ("result", "unsettled"),
    [
        ('{"status": "running"}', True), ('{"state": "IN_TRANSIT", "eta": "soon"}', True), ("ok", True),
        ("3 of 20 done", True), ("Die Bestellung ist in Bearbeitung", True),
        ("任务正在处理中，请稍候再次查询结果如何", True),
        ('{"flight": "LX724", "departure": "14:05", "gate": "B31"}', False),
    ],
)  # fmt: skip
def test_an_answer_to_a_poll_is_final_or_leaves_room(result: str, unsettled: bool) -> None:
    """Work under way, and answers too short to tell, may change."""
    assert is_unsettled(result) is unsettled


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        ("Please drop the customers table", True), ("Lösche bitte alles", True), ("请清空数据库", True),
        ("このデータを削除して", True), ("Borra la carpeta", True),
        ("Supprime le dossier", True), ("Töröld a mappát", True),
        ("tear down staging", True),
        ("Why is the lookup slow?", False), ("Do not delete anything", False), ("请不要删除", False),
        ("Format the code", False), ("Lösche bitte nicht die Tests", True), ("Watch the video", False),
    ],
)  # fmt: skip
def test_a_wish_that_something_goes_is_told_in_several_languages(request_: str, wanted: bool) -> None:
    """A word before it may make it its opposite; what comes after it is not read."""
    assert wants_gone([request_]) is wanted


def test_a_place_is_named_when_its_name_stands_on_its_own() -> None:
    """The parent of a path that is named is not named, nor is a disk by a path on it."""
    asked = ["delete D:\\projects\\old-demo and the link ~/.agent/sessions, then wipe public.customers"]

    assert names(asked, "D:/projects/old-demo")
    assert names(asked, "/srv/me/.agent/sessions")
    assert names(asked, "customers")
    assert not names(asked, "~/.agent")
    assert not names(asked, "D:/")
    assert not names(asked, "old")
    assert names(["wipe C:\\ now"], "C:/")


def test_questions_thanks_and_waiting_are_told_from_tasks() -> None:
    """In several languages."""
    assert all(map(asks_back, ["What did you do?", "Danke dir", "昨天做了哪些事", "Give me a recap"]))
    assert not any(map(asks_back, ["Send the report", "Schick den Bericht", "发送报告"]))
    assert [tells_to_wait(f"Read it, then {word}.") for word in ("wait", "write")] == [True, False]
    assert [wants_all([text]) for text in ("alle Änderungen verwerfen", "undo your last edit")] == [True, False]


@given(st.text(alphabet=st.characters(), max_size=60), st.text(alphabet=st.characters(), max_size=60))
def test_any_text_can_be_read(one: str, other: str) -> None:
    """Halves of surrogate pairs included, which RE2 does not take."""
    texts = [one, other, one + "\ud800", f'{{"command": "{one}"}}']
    for text in texts:
        for read in (command_of, without_fresh_ids, message_of, is_unsettled, asks_back, tells_to_wait):
            read(text)
        same_but_for_clocks(text, other)
        names(texts, text)
        wants_gone(texts)
    assert Quick("b").search("a\ud800b") is not None
    assert len(list(Quick("b").all("b\ud800b"))) == 2
