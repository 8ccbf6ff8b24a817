"""Cases of ``ungrounded_argument``."""

from tests.detectors.script import Case, Script

ASKED = (
    ("system", "You handle orders."),
    ("user", "Refund 1,000 EUR for order W-48213 to Maria Lopez, maria@shop.example."),
)


def _asked(s: Script, *, said: tuple[tuple[str, str], ...] = ASKED) -> None:
    s.llm(said=said, calls=())


def _call(s: Script, arguments: str, tool: str = "refund_order", **more: object) -> None:
    _asked(s)
    s.tool(tool, arguments=arguments, **more)  # type: ignore[arg-type]


def _by_result(s: Script) -> None:
    _asked(s)
    s.tool("find_account", result='{"account_id": "ACC-99127", "owner": "M. Lopez"}')
    s.tool("pay_out", arguments='{"account_id": "ACC-99127"}')


def _own_result(s: Script) -> None:
    _call(s, '{"order_id": "W-99999"}', result='{"refunded": "W-99999"}')


def _cut(s: Script) -> None:
    _asked(s)
    s.tool("search", result="a list of accounts …[cut 512 chars]… end")
    s.tool("pay_out", arguments='{"account_id": "ACC-99127"}')


FIRES = (
    Case(
        "an order that nobody named",
        lambda s: _call(s, '{"order_id": "W-99812"}'),
        (2,),
        "warning",
        {"kind": "id", "violation": "/order_id"},
        mode="observe",
    ),
    Case("known only from its own result", _own_result, (2,)),
    Case(
        "another address", lambda s: _call(s, '{"to": "max@other.example"}', "send_mail"), (2,), "", {"kind": "address"}
    ),
    Case("another person", lambda s: _call(s, '{"customer_name": "John Miller"}'), (2,), "info", {"kind": "name"}),
    Case(
        "a thousand has become one",
        lambda s: _call(s, '{"order_id": "W-48213", "amount": 1}'),
        (2,),
        "warning",
        {"kind": "cut_number", "violation": "/amount"},
    ),
    Case("a stated write", lambda s: _call(s, '{"account": "7712345"}', "apply", side_effect="write"), (2,)),
    Case(
        "deep inside",
        lambda s: _call(s, '{"items": [{"item_id": "W-48213"}, {"item_id": "X-77120"}]}'),
        (2,),
        "",
        {"violation": "/items/1/item_id"},
    ),
)
QUIET = (
    Case("what was asked for", lambda s: _call(s, '{"order_id": "w-48213", "amount": 1000, "name": "Maria Lopez"}')),
    Case("another spelling", lambda s: _call(s, '{"order_id": "#W-48213", "amount": "1000.00"}')),
    Case("from a result", _by_result),
    Case("a part of it was given", lambda s: _call(s, '{"order_id": "order_48213"}')),
    Case("a read", lambda s: _call(s, '{"order_id": "W-99812"}', "get_order")),
    Case("a stated read", lambda s: _call(s, '{"order_id": "W-99812"}', side_effect="read")),
    Case("a date", lambda s: _call(s, '{"order_id": "W-48213", "booking_no": "2024-05-20"}')),
    Case("made by the agent", lambda s: _call(s, '{"idempotency_id": "a8f3c2d19e", "request_id": "99812345"}')),
    Case("a quantity of one", lambda s: _call(s, '{"quantity": 3}')),
    Case("results that telemetry cut", _cut),
    Case("the request is not known", lambda s: s.tool("refund_order", arguments='{"order_id": "W-99812"}')),
    Case("content off", lambda s: (setattr(s, "content", False), s.llm(), s.tool("refund_order"))),
)
