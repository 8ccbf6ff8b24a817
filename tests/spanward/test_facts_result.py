"""Does a result say that the tool failed? JSON, flags and exceptions, and the other facts of a result."""

from __future__ import annotations

import json
import subprocess
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanward.facts import (
    Schema,
    digest,
    error_signature,
    facts_and_digest,
    foreign_text_tool,
    result_facts,
)

# --- JSON -------------------------------------------------------------------------------------------------------------

FAILING_JSON = [
    ({"error": "city not found"}, "field"),
    ({"error": {"code": 404, "message": "No endpoints found"}}, "field"),
    ({"error": True, "message": "x"}, "field"),
    ({"error": 503}, "field"),
    ({"error": -32601}, "field"),
    ({"errorMessage": "boom", "data": None}, "field"),
    ({"errors": [{"message": "bad field"}]}, "field"),
    ({"errors": [{"message": "bad field"}], "data": None}, "field"),
    ({"errors": {"name": ["too long"]}}, "field"),
    ({"success": False}, "field"),
    ({"success": "false", "id": 3}, "field"),
    ({"ok": False, "description": "chat not found"}, "field"),
    ({"isError": True, "detail": "x"}, "flag"),
    ({"is_error": True, "detail": "x"}, "field"),
    ({"failed": True, "n": 1}, "field"),
    ({"errcode": 40013, "errmsg": "invalid appid"}, "field"),
    ({"code": 40001, "msg": "参数错误"}, "field"),
    ({"code": 500, "message": "oops"}, "field"),
    ({"status": "error", "reason": "1 validation error"}, "status"),
    ({"status": "failed", "id": 3}, "status"),
    ({"status": "Failure", "id": 3}, "status"),
    ({"statusCode": 503, "body": ""}, "status"),
    ({"status": 404, "title": "Not Found", "type": "about:blank"}, "status"),
    ({"status_code": "429", "n": 1}, "status"),
    ({"http_status": "503 Service Unavailable", "n": 1}, "status"),
    ({"type": "error", "message": "overloaded"}, "status"),
    ({"exit_code": 1, "stdout": "", "stderr": "no"}, "exit_code"),
    ({"returncode": -9, "stdout": ""}, "exit_code"),
    ({"detail": "Not Found"}, "text"),
    ({"message": "Internal Server Error"}, "text"),
    ({"result": "Error: order not found"}, "text"),
    ({"content": [{"type": "text", "text": "x"}], "isError": True}, "flag"),
    ({"content": [{"type": "text", "text": "missing required parameter: owner"}], "isError": False}, "text"),
    ({"content": [{"type": "text", "text": '{"status":"error"}'}], "isError": False}, "status"),
    ([{"type": "text", "text": "Error: boom"}], "text"),
    ({"type": "text", "text": "Error: boom"}, "text"),
    ([{"text": "Error: boom"}], "text"),
    ("Error: boom", "text"),
    ([{"type": "missing", "loc": ["city"], "msg": "Field required", "input": {}}], "field"),
    ({"detail": [{"type": "missing", "loc": ["city"], "msg": "Field required"}]}, "field"),
    ({"response_type": "HANDLED", "error_type": "RuntimeError", "error_details": "boom"}, "field"),
    ('{"error": "encoded twice"}', "field"),
]

QUIET_JSON: list[Any] = [
    {"error": None, "data": [1]}, {"error": "", "id": 1}, {"error": False, "id": 1}, {"error": [], "id": 1},
    {"error": {}, "id": 1}, {"error": "none", "id": 1}, {"error": 0, "id": 1}, {"error": 0.05, "mean": 3.2},
    {"errors": [], "id": 1}, {"errors": 0, "warnings": 2}, {"errors": 3, "warnings": 2}, {"errors": None, "id": 1},
    {"valid": False, "errors": [{"message": "too long"}]}, {"data": {"a": 1}, "errors": [{"message": "partial"}]},
    {"success": True, "errors": ["a warning"]}, {"success": True, "id": 1}, {"ok": True, "id": 1},
    {"failed": 0, "passed": 3}, {"status": "ok", "note": "error handling is fine"}, {"status": "running", "id": 1},
    {"status": 200, "id": 1}, {"status": "404th customer", "id": 1}, {"code": 404, "city": "Area code"},
    {"code": 0, "msg": "ok"}, {"code": 200, "message": "failed jobs: 0"}, {"errcode": 0, "errmsg": "ok"},
    {"exit_code": 0, "stderr": "Error: x"}, {"title": "Error: the movie", "year": 1999},
    {"log": "Traceback (most recent call last):", "n": 3}, {"items": [{"error": "nested"}], "n": 1},
    {"outer": {"error": "nested"}, "n": 1}, {"message": "Error codes explained", "n": 2},
    {"state": "failed", "job": 7}, {"result": "no errors found"},
    {"content": [{"type": "text", "text": "all is well"}], "isError": False}, [{"error": "in a list"}],
    [{"text": "Error: a tweet", "id": 3}], [1, 2], 5, None, [], "all is well",
    {"error_rate": 0.5, "failed_logins": 3}, {"query": "error", "hits": ["Fehler: ein Roman"]},
]  # fmt: skip


@pytest.mark.parametrize(("result", "sign"), FAILING_JSON, ids=lambda value: str(value)[:60])
def test_top_level_json_that_says_failure(result: Any, sign: str) -> None:
    """A failure field, a failure status or an exit code at the top level decides, as an object and as its text."""
    for given_as in (result, json.dumps(result), json.dumps(result, ensure_ascii=False, indent=2)):
        facts = result_facts(given_as)

        assert facts.error == sign
        assert len(facts.signature) == 12


@pytest.mark.parametrize("result", QUIET_JSON, ids=lambda value: str(value)[:60])
def test_json_that_only_speaks_of_errors(result: Any) -> None:
    """Null, empty and nested errors, counts, quantities and words inside values are no failure."""
    for given_as in (result, json.dumps(result), json.dumps(result, ensure_ascii=False, indent=2)):
        facts = result_facts(given_as)

        assert (facts.error, facts.signature) == ("", "")


def test_status_and_exit_code_are_read_from_the_result() -> None:
    """The numbers that later rules need travel with the facts, when they can be such numbers at all."""
    assert result_facts({"statusCode": 503, "body": "x"}).status == 503
    assert result_facts({"error": {"code": 404, "message": "x"}}).status == 404
    assert result_facts("Error: 429 Too Many Requests").status == 429
    assert result_facts({"exit_code": 2, "out": ""}).exit_code == 2
    assert result_facts({"exit_code": 4111111111111111, "out": ""}).exit_code is None
    assert result_facts({"status": 4111, "message": "x"}).status is None


# --- order of the signs -----------------------------------------------------------------------------------------------


def test_the_error_flag_comes_before_everything_in_the_result() -> None:
    """A raised flag is a failure even when the text is friendly; one that is down proves nothing."""
    assert result_facts("all is well", is_error=True).error == "flag"
    assert result_facts({"status": "ok", "n": 1}, is_error=True).error == "flag"
    assert result_facts({"status": "error"}, is_error=False).error == "status"
    assert result_facts("all is well", is_error=False).error == ""


def test_the_exit_code_comes_after_json_and_before_text() -> None:
    """A process that ended with 0 has succeeded whatever it printed; another code has failed whatever it printed."""
    assert result_facts("Der Befehl wurde ausgeführt.", exit_code=1).error == "exit_code"
    assert result_facts("Error: 3 deprecated calls", exit_code=0).error == ""
    assert result_facts("", exit_code=0).error == ""
    assert result_facts({"status": "error"}, exit_code=0).error == "status"
    assert result_facts("fine", exit_code=3).exit_code == 3


def test_what_was_raised_is_an_exception_with_its_numbers() -> None:
    """Exceptions decide alone; HTTP clients' statuses and processes' codes are read off them."""
    http = type("HTTPStatusError", (Exception,), {})("Client error")
    http.response = SimpleNamespace(status_code=429)
    broken = type("Broken", (Exception,), {"__str__": lambda self: 1 / 0})()

    assert result_facts(None, error=ValueError("x")).error == "exception"
    assert result_facts(None, error=http).status == 429
    assert result_facts(None, error="Error code: 503 - {'error': 'x'}").status == 503
    assert result_facts(None, error=subprocess.CalledProcessError(2, "x")).exit_code == 2
    assert result_facts(None, error=broken).error == "exception"
    assert result_facts(None, error=TimeoutError()).signature != result_facts(None, error=ValueError()).signature


# --- the other facts --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "empty"),
    [
        (None, True), ("", True), (" \n", True), ("null", True), ("None", True), ([], True), ({}, True), ("[]", True),
        ('""', True), ({"results": []}, True), ({"results": [], "count": 0}, True), ({"count": 0}, False),
        ({"results": [], "count": 2}, False), (0, False), (False, False), ("0", False), ("No results", False),
        ([[]], False),
    ],
)  # fmt: skip
def test_empty_means_that_nothing_was_returned(result: Any, empty: bool) -> None:
    """Nothing has many spellings; zero and "no" are answers."""
    assert result_facts(result).empty is empty


def test_json_facts() -> None:
    """Whether it is JSON, whether it should be, and whether it fits."""
    schema = Schema.of({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})

    assert result_facts('{"n": 1}', schema=schema).schema == ""
    assert result_facts('{"n": true}', schema=schema).schema == "type:/n"
    assert result_facts('{"n": 1', schema=schema)[2:4] == (False, True)
    assert result_facts('{"error": "x"}', schema=schema).schema == ""
    assert result_facts("x", media_type="application/json; charset=utf-8").json_expected
    assert result_facts("x", media_type="application/problem+json").json_expected
    assert not result_facts("x", media_type="text/plain").json_expected
    assert result_facts("NaN").is_json is False
    assert result_facts("").is_json is None
    assert result_facts("é").size == 2


@pytest.mark.parametrize(
    ("name", "foreign"),
    [
        ("read_file", True), ("readFile", True), ("web_search", True), ("WebSurfer", True), ("fetch", True),
        ("bash", True), ("exec", True), ("browser_navigate", True), ("visit_page", True), ("get_email_content", True),
        ("search", True), ("Computer_terminal", True), ("mcp__github__get_file_contents", True), ("wikipedia", True),
        ("get_page_text", True), ("fetch_url", True), ("list_messages", True), ("get_weather", False),
        ("query_weather", False), ("fetch_order", False), ("find_user_id_by_email", False), ("send_email", False),
        ("get_release_by_tag", False), ("search_direct_flight", False), ("book_reservation", False),
        ("write_file", False), ("", False), ("delete_files", False), ("calculate", False), ("job_status", False),
    ],
)  # fmt: skip
def test_tools_that_return_foreign_text_are_told_by_name(name: str, foreign: bool) -> None:
    """Readers, browsers and shells bring words of others; tools with answers of their own do not."""
    assert bool(foreign_text_tool(name)) is foreign


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Error: order 17 not found", "Error: order 18 not found", True),
        ("Error: 'a' is bad", "Error: 'b and c' is bad", True),
        ("no file /tmp/a.txt here", "no file C:\\x\\b.txt here", True),
        ("flight HAT223 is full", "flight HAT030 is full", True),
        ("see https://a.example/1", "see https://b.example/2?q=3", True),
        ("can't open a", "can't open a", True),
        ('{"error":{"message":"rate limit"}}', '{"error": {"message": "rate limit", "code": 1}}', True),
        ('{"error":{"message":"rate limit"}}', '{"error":{"message":"bad key"}}', False),
        ("Error: order not found", "Error: user not found", False),
        ("错误：城市 1", "错误：城市 2", True),
        (
            "Traceback (most recent call last):\n  a\nKeyError: 'x'",
            "Traceback (most recent call last):\n  b\nKeyError: 'y'",
            True,
        ),
        ("", " ", True),
    ],
)
def test_signatures_tell_classes_of_errors_apart(one: str, other: str, same: bool) -> None:
    """Ids, numbers, quotations and paths do not make another error; other words do."""
    assert (error_signature(one) == error_signature(other)) is same
    assert len(error_signature(one)) == 12


@given(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from([json.dumps(v) for v in (*(pair[0] for pair in FAILING_JSON), *QUIET_JSON)]),
    )
)
def test_reading_once_gives_what_reading_twice_gives(text: str) -> None:
    """The gate's combined reading of a result equals facts and digest taken one by one."""
    facts, said = facts_and_digest(text, key=None, media_type=None, schema=None, foreign_text=False)

    assert (facts, said) == (result_facts(text), digest(text))
