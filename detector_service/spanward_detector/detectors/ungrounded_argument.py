"""A write with a value that nobody gave."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

import orjson
from spanward.facts import text_of

from spanward_detector.detectors.base import On, finding
from spanward_detector.failures import Mode, Severity
from spanward_detector.model import Finding, Kind, Step
from spanward_detector.naming import sounds_writing, words
from spanward_detector.text.heard import Heard
from spanward_detector.text.numbers import cut_short, may_be_cut, spellings

if TYPE_CHECKING:
    from spanward_detector.run import Run

_WRITES: Final = frozenset({"write", "high_risk"})
_CAP: Final = 16_384
_LEAVES: Final = 48
_DEPTH: Final = 6

_OF_IDS: Final = frozenset({
    "id", "ids", "number", "numbers", "no", "num", "ref", "reference", "account", "iban", "bic", "order", "reservation",
    "booking", "confirmation", "flight", "ticket", "invoice", "customer", "user", "passenger", "payment", "tracking",
    "serial", "sku", "item", "product", "phone", "email", "mail", "to", "cc", "bcc", "recipient", "recipients",
    "contract", "policy", "case", "member", "patient", "employee", "konto", "kunde", "kundennummer", "cuenta",
    "pedido", "cliente", "compte", "commande",
})  # fmt: skip
_OF_AMOUNTS: Final = frozenset({
    "amount", "price", "total", "sum", "cost", "value", "balance", "budget", "limit", "quantity", "qty", "size",
    "salary", "fee", "payment", "deposit", "principal", "units", "shares", "betrag", "menge", "preis", "summe",
    "anzahl", "importe", "monto", "cantidad", "precio", "montant", "prix", "quantité", "bedrag", "aantal", "valor",
    "quantidade", "importo", "összeg", "mennyiség",
})  # fmt: skip
_OF_NAMES: Final = frozenset({"name", "recipient", "passenger", "customer", "beneficiary", "payee", "guest", "patient"})
_MADE: Final = frozenset({
    "idempotency", "trace", "correlation", "nonce", "session", "request", "uuid", "guid", "token", "file", "filename",
    "path", "url", "link", "table", "column", "field", "tool", "function", "model", "class", "event", "display", "host",
    "branch", "folder", "bucket", "key", "variable", "project", "list", "task", "title", "subject",
})  # fmt: skip
"""Names of arguments whose values the model may make up."""

_EMAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,32}){1,4}")
_ID: Final = re.compile(r"[#]?[A-Za-z0-9][\w-]{3,63}")
_DATE: Final = re.compile(r"\d{2,4}[-/.]\d{1,2}[-/.]\d{1,4}.{0,20}|\d{1,2}:\d{2}.{0,12}|\d{4}-?[wW]\d{1,2}")
_PERSON: Final = re.compile(r"[^\W\d_a-z][^\W\d_'’-]{1,24}(?:[ '’-][^\W\d_][^\W\d_'’-]{0,24}){0,3}")
_NUMERIC: Final = re.compile(r"\d{1,15}(?:\.\d{1,6})?")
_LONG_NUMBER: Final = 5
_DIGITS: Final = 2
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][\w-]{0,40}")


class Leaf(NamedTuple):
    """One value in the arguments, with the nearest name above it."""

    path: str
    field: str
    value: str


@dataclass(frozen=True, slots=True)
class UngroundedArgument:
    """A call that writes has an id, address or name that nobody gave, or a number that was mangled on the way.

    Nobody gave what stands in no request and no earlier result; mangled is 1,000 that has become 1.

    Which calls write is what the tool states, else what its name says (book, pay, update, ...). Only what the names of
    the arguments mark as an id, a person or an amount is looked at, and only in runs whose texts are all known; a cut
    number needs no more than the text that it was cut from.

    Attributes:
        mode: observe or act.
    """

    name: ClassVar[str] = "ungrounded_argument"
    failure_types: ClassVar[tuple[str, ...]] = ("ungrounded_argument",)
    kinds: ClassVar[frozenset[Kind]] = frozenset({Kind.TOOL})
    on: ClassVar[On] = "any"

    mode: Mode = "observe"

    def observe(self, step: Step, run: Run) -> Finding | None:
        """See :class:`spanward_detector.detectors.base.Detector`."""
        heard = run.memory.heard
        if step.arguments is None or not heard.asked or not _writes(step):
            return None
        try:
            arguments = orjson.loads(step.arguments[:_CAP])
        except orjson.JSONDecodeError:
            return None
        for leaf in _leaves(arguments):
            why = _mangled(leaf, heard) or ("" if heard.partial else _unknown(leaf, heard))
            if why and not _declared(run, step, leaf.value):
                return self._finding(step, run, leaf, why)
        return None

    def _finding(self, step: Step, run: Run, leaf: Leaf, why: str) -> Finding:
        severity: Severity = "info" if why == "name" else "warning"
        told = "was cut at its thousand separator" if why == "cut_number" else "stands in no request and no result"
        return finding(
            self,
            step,
            run,
            f"a value in the arguments of {step.action} {told}",
            severity=severity,
            facts={"kind": why, "violation": leaf.path},
        )


def _writes(step: Step) -> bool:
    return step.side_effect in _WRITES if step.side_effect else sounds_writing(step.action)


def _leaves(value: object) -> Iterator[Leaf]:
    """Texts and numbers in the arguments, the first few dozen."""
    stack: list[tuple[object, str, str, int]] = [(value, "", "", 0)]
    left = _LEAVES
    while stack and left:
        item, path, field, depth = stack.pop()
        if isinstance(item, dict) and depth < _DEPTH:
            for key in reversed(item):
                shown = key if _IDENTIFIER.fullmatch(key) else "*"
                stack.append((item[key], f"{path}/{shown}", key, depth + 1))
        elif isinstance(item, list) and depth < _DEPTH:
            stack.extend((inner, f"{path}/{at}", field, depth + 1) for at, inner in reversed(list(enumerate(item))))
        elif isinstance(item, str | int | float) and not isinstance(item, bool):
            left -= 1
            yield Leaf(path, field, str(item).strip())


def _mangled(leaf: Leaf, heard: Heard) -> str:
    """A number that is only what stands before a separator in the text that it comes from."""
    if _OF_AMOUNTS.isdisjoint(words(leaf.field)) or not may_be_cut(leaf.value):
        return ""
    if heard.has_any(spellings(leaf.value)):
        return ""
    return "cut_number" if any(cut_short(leaf.value, text) for text in heard.texts()) else ""


def _unknown(leaf: Leaf, heard: Heard) -> str:
    named, value = words(leaf.field), leaf.value
    if not named.isdisjoint(_MADE) and _EMAIL.fullmatch(value) is None:
        return ""
    if _EMAIL.fullmatch(value) is not None:
        return "" if heard.has(value) or heard.has(value.partition("@")[0]) else "address"
    if not named.isdisjoint(_OF_IDS) and _is_id(value):
        return "" if heard.has(value.lstrip("#")) or _part_is_known(value, heard) else "id"
    if not named.isdisjoint(_OF_NAMES) and _PERSON.fullmatch(value) is not None:
        return "" if any(heard.has(word) for word in re.split(r"[ '’-]", value) if len(word) > 1) else "name"
    return ""


def _is_id(value: str) -> bool:
    if _ID.fullmatch(value) is None or _DATE.fullmatch(value) is not None:
        return False
    digits = sum(c.isdigit() for c in value)
    return digits >= _LONG_NUMBER if value.isdigit() else digits >= _DIGITS


def _part_is_known(value: str, heard: Heard) -> bool:
    """Of an id that is put together, the part that tells it apart was given."""
    parts = [part for part in re.split(r"[_#-]", value) if sum(c.isdigit() for c in part) >= _DIGITS]
    return bool(parts) and parts != [value] and all(heard.has(part) for part in parts)


def _declared(run: Run, step: Step, value: str) -> bool:
    """The tool's own schema names the value."""
    schema = (step.declared_tools or run.declared).get(step.action)
    return schema is not None and f'"{value}"' in text_of(schema)
