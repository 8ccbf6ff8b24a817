"""What the name of a tool says of it, where nobody states anything."""

from __future__ import annotations

import pytest
from spanward_detector.naming import lasting, only_looks, sounds_writing

from tests.detectors.script import Script

LOOKS = (
    "order_status", "orderStatus", "get_order", "getOrder", "list_payments", "booking_details", "payment_methods",
    "mcp__shop__order_history", "comment_count", "search_posts", "read_file", "web_search",
)  # fmt: skip
ACTS = (
    "order", "place_order", "send_order_status", "update_order_status", "set_order_state", "post_comment",
    "order_pizza", "submit_order", "get_and_send_mail", "refund_payment",
)  # fmt: skip


@pytest.mark.parametrize("name", LOOKS)
def test_a_name_that_asks_about_a_thing_does_not_make_it(name: str) -> None:
    """An order is a thing or a deed: what stands around it tells."""
    assert only_looks(name)
    assert not sounds_writing(name)
    assert not lasting(Script().tool(name))


@pytest.mark.parametrize("name", ACTS)
def test_a_name_that_does_something_is_no_look(name: str) -> None:
    """The verb counts, wherever the thing ends."""
    assert not only_looks(name)
    if name != "get_and_send_mail":
        assert sounds_writing(name)
