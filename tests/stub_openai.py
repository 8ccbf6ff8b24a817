"""The model stub of the demo, with a model that suits tests of adapters."""

import json

from spanward.demo.brain import Brain, Call, Reading, Saying
from spanward.demo.services import Answer, answer
from spanward.demo.stub import StubModel, serving

__all__ = ["Answer", "Brain", "Call", "Reading", "Saying", "StubModel", "answer", "cautious", "serving"]

MALFORMED = "{'amount': 100, 'to': 'bob',}"


def cautious(reading: Reading) -> Saying:
    """Sends 100 to bob, or as the request's words say; told anything but "sent ...", it tries again with 5."""
    if reading.notice or (reading.last is not None and not reading.last.startswith("sent")):
        return _transfer(5, "bob")
    if reading.last is not None:
        return Saying(f"done: {' and '.join(reading.results)}")
    if "just talk" in reading.request:
        return Saying("nothing to do here, my friend")
    if "malformed" in reading.request:
        return Saying(calls=(Call("transfer", MALFORMED),))
    if "unknown" in reading.request:
        return Saying(calls=(Call("transmogrify", "{}"),))
    preamble = "let me do that " if "preamble" in reading.request else ""
    calls = _transfer(100, "bob").calls
    if "parallel" in reading.request:
        calls += _transfer(200, "eve").calls
    return Saying(preamble, calls)


def _transfer(amount: int, to: str) -> Saying:
    return Saying(calls=(Call("transfer", json.dumps({"amount": amount, "to": to})),))
