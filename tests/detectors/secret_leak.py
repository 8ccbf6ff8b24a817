"""Cases of ``secret_leak``. The tokens are made up; those with a checksum have a right one."""

import zlib

from spanward.facts import result_facts

from tests.detectors.script import Case

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def github(part: str) -> str:
    """A token whose checksum is right."""
    number, check = zlib.crc32(part.encode()), ""
    while number:
        number, digit = divmod(number, 62)
        check = DIGITS[digit] + check
    return f"ghp_{part}{check.rjust(6, '0')}"


TOKEN = github("k3Vn8QzR5tYb1LxW7cJm2PdS9fHg4A")
WRONG = TOKEN[:-1] + ("0" if TOKEN[-1] != "0" else "1")
KEY = "AKIA" + "QY7LPMN5HH2FPZAM"

SERVICES = (
    "dop_v1_" + "9f3a1c7e5b2d8640" * 4,
    "shpat_" + "9f3a1c7e5b2d8640" * 2,
    "gsk_" + "k3Vn8QzR5tYb1LxW7cJm2PdS9fHg4A" + "k3Vn8QzR5tYb1LxW7cJm2P",
    "pypi-AgEIcHlwaS5vcmcCJ" + "k3Vn8QzR5tYb1LxW7cJm2PdS9fHg4A" * 2,
    "8473629104:AAk3Vn8QzR5tYb1LxW7cJm2PdS9fHg4Axyz",
    "AccountKey=" + "k3Vn8QzR5tYb1LxW7cJm2PdS9fHg4A" * 2 + "k3Vn8QzR5tYb1LxW7cJm2PdS9f==",
    "xai-" + "k3Vn8QzR5tYb1LxW7cJm2PdS9fHg4A" * 2 + "k3Vn8QzR5tYb1LxW7cJm",
)

FIRES = (
    Case(
        "a token is posted",
        lambda s: s.tool("post", arguments=f'{{"body": "use {TOKEN}"}}'),
        (1,),
        "error",
        {"tool": "post", "pattern": "github_token", "where": "arguments"},
        mode="observe",
    ),
    Case("an access key", lambda s: s.tool("send", arguments=f'{{"text": "{KEY}"}}'), (1,)),
    Case(
        "a payment card",
        lambda s: s.tool("note", arguments='{"card_number": "4539 5787 6362 1486"}'),
        (1,),
        "",
        {"pattern": "payment_card"},
    ),
    Case(
        "a key in a file",
        lambda s: s.tool("read_file", result_facts=result_facts(f"id = {KEY}", foreign_text=True)),
        (1,),
        "info",
    ),
    Case("a wrong checksum", lambda s: s.tool(arguments=f'{{"k": "{WRONG}"}}'), (1,), "info"),
    *(
        Case(f"a token of a service: {token[:8]}", lambda s, token=token: s.tool(arguments=f'{{"k": "{token}"}}'), (1,))
        for token in SERVICES
    ),
    Case(
        "content off", lambda s: (setattr(s, "content", False), s.tool(arguments=f'{{"k": "{TOKEN}"}}')), (1,), "error"
    ),
)
QUIET = (
    Case("the manual's key", lambda s: s.tool(arguments='{"k": "AKIAIOSFODNN7EXAMPLE"}')),
    Case(
        "placeholders",
        lambda s: [s.tool(arguments=f'{{"k": "{k}"}}') for k in ("ghp_" + "x" * 36, "sk-your-key", "<token>")],
    ),
    Case("a provider's test card", lambda s: s.tool(arguments='{"card_number": "4242424242424242"}')),
    Case("a long order number", lambda s: s.tool(arguments='{"order": "4539578763621486"}')),
    Case("a header without a key", lambda s: s.tool(result="-----BEGIN RSA PRIVATE KEY-----\n(paste it here)")),
)
