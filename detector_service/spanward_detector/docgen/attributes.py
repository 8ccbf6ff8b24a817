"""The page of attributes, from the module in which each is spelled once."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from spanward import semconv

from spanward_detector.docgen.text import NOTICE, markdown, table

_SECTION: Final = re.compile(r"^# --- (.+?) -*$")
_DATA: Final = re.compile(r":data:`(\w+)`")
_EVENT: Final = (
    ("trace_id, step_id", "trace id and span id"),
    ("agent_id", f"`{semconv.AGENT_ID}`, `{semconv.AGENT_NAME}`"),
    ("event_type", f"`{semconv.STEP_KIND}`; a step's start is told by the control stream, its end by the span"),
    ("action", f"`{semconv.ACTION}`"),
    ("payload", f"`{semconv.PAYLOAD_DIGEST}`; `{semconv.TOOL_ARGUMENTS}` where content is on"),
    ("timestamp", "start and end of the span"),
    (
        "metadata",
        f"`{semconv.INPUT_TOKENS}`, `{semconv.OUTPUT_TOKENS}`, `{semconv.RESPONSE_MODEL}`, the span's duration",
    ),
)
"""The fields of an agent's event log, and where each of them is in a span."""


class _Constant(NamedTuple):
    name: str
    value: object
    doc: str
    line: int


def attributes_page() -> str:
    """Every attribute that is written or read under its own name, by section of the module."""
    source = inspect.getsource(semconv)
    sections = [(n, m[1].strip()) for n, line in enumerate(source.splitlines(), 1) if (m := _SECTION.match(line))]
    out = [
        NOTICE,
        "# Attributes\n\n",
        "Names of OpenTelemetry are used wherever there is one; ours are never under `gen_ai.`. Content (arguments, "
        "results, messages) is written only where OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says so.\n\n",
    ]
    out += ["An event of an agent's log is a span:\n\n", table(("field", "in the span"), _EVENT), "\n"]
    constants = list(_constants(source))
    for (start, title), (end, _) in zip(sections, [*sections[1:], (1 << 30, "")], strict=True):
        own = [constant for constant in constants if start < constant.line < end]
        told = [
            (f"`{key}`", _meaning(constant.doc)) for constant in own if constant.doc for key in _keys(constant.value)
        ]
        standard = [f"`{key}`" for constant in own if not constant.doc for key in _keys(constant.value)]
        if not told and not standard:
            continue
        title = markdown(title)
        out.append(f"## {title[0].upper()}{title[1:]}\n\n")
        if standard:
            out.append(f"As in the conventions of OpenTelemetry: {', '.join(standard)}.\n\n")
        if told:
            out += [table(("attribute", "value"), told), "\n"]
    return "".join(out).rstrip() + "\n"


def _constants(source: str) -> Iterator[_Constant]:
    body = ast.parse(source).body
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        doc = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
        name = node.target.id
        yield _Constant(name, getattr(semconv, name), str(doc), node.lineno)


def _keys(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, tuple) else (value,)
    return tuple(v for v in values if isinstance(v, str) and "." in v and v not in _SCOPES)


_SCOPES: Final = frozenset({semconv.SCOPE, semconv.DETECTOR_SCOPE, semconv.EVALUATION_EVENT})


def _meaning(doc: str) -> str:
    return markdown(_DATA.sub(_spelled_out, " ".join(doc.split())))


def _spelled_out(match: re.Match[str]) -> str:
    value = getattr(semconv, match[1], None)
    if isinstance(value, tuple):
        return ", ".join(f"`{item}`" for item in value)
    return f"`{value}`" if isinstance(value, str) else f"`{match[1]}`"
