"""Asks a running detector over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from spanward_detector.cli.console import fail

DEFAULT_URL = "http://127.0.0.1:8327"


def get(url: str, path: str, timeout_s: float = 5.0) -> Any:
    """JSON of one API path; ends the command with a clear word when nobody answers.

    Raises:
        LookupError: the detector answered 404.
    """
    if not url.startswith(("http://", "https://")):
        fail(f"{url!r} is not an HTTP address", f"write --url {DEFAULT_URL}")
    try:
        with urllib.request.urlopen(url.rstrip("/") + path, timeout=timeout_s) as answer:  # noqa: S310 - checked above
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise LookupError(path) from None
        fail(f"{url}{path} answered {error.code} {error.reason}")
    except (urllib.error.URLError, TimeoutError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        fail(f"no detector answers at {url}: {reason}", "start one with `spanward up`, or name another with --url")
