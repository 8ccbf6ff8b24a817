"""Healthy tool steps as the gate tells of them with content off: facts and digests, nothing wrong."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from spanward.facts import ArgumentsFacts, ResultFacts
from spanward_detector.model import Kind, SpanRef, Step

_WELL = ResultFacts(size=420, empty=False, is_json=True)
_OK = ArgumentsFacts()


def healthy(count: int, start: int = 0, run_id: str = "bench") -> Iterator[Step]:
    """Steps ``start`` to ``start + count``, each with arguments and a result of its own."""
    for n in range(start, start + count):
        digest = "sha256:" + hashlib.sha256(str(n).encode()).hexdigest()
        begin = 1_790_000_000_000_000_000 + n * 1_000_000_000
        yield Step(
            kind=Kind.TOOL,
            ref=SpanRef("ab" * 16, f"{n + 1:016x}"),
            parent_id=None,
            run_id=run_id,
            start_ns=begin,
            end_ns=begin + 200_000_000,
            dialect="spanward",
            scope="spanward",
            name="execute_tool search",
            agent="bench",
            action="search",
            arguments_digest=digest,
            arguments_facts=_OK,
            result_digest=digest[::-1],
            result_facts=_WELL,
            side_effect="read",
        )
