"""What a tool's name and a short result say of it, where nobody states anything."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from spanward_detector.model import Step
from spanward_detector.text.quick import Quick

_POLL_WORDS: Final = frozenset({
    "poll", "polling", "status", "wait", "sleep", "progress", "pending", "await", "monitor", "heartbeat", "ready",
})  # fmt: skip
_PENDING: Final = frozenset(
    {"running", "pending", "queued", "in progress", "in_progress", "processing", "waiting", "started"}
)
_TELLING: Final = 16
_ANSWER: Final = 4096


@lru_cache(maxsize=4096)
def is_polling(action: str) -> bool:
    """True for the name of a tool that asks how something is coming along."""
    return not _POLL_WORDS.isdisjoint(words(action))


def is_pending(result: str) -> bool:
    """True for a result that only says that something is under way."""
    return result[:12].lower() in _PENDING


_UNSETTLED: Final = Quick(
    r"(?i)ing\b|pending|queue|wait|progress|running|started|\bnot\b|\bno\b|\bnone\b|incomplete|false|null|active|busy"
    r"|sync|transit|\bopen\b|scheduled|submitted|accepted|created|\bnew\b|partial|remaining|elapsed|\d ?%"
    r"|\b\d{1,9} ?(?:/|of) ?\d"
    r"|läuft|laufend|warte|bearbeitung|ausstehend|en curso|en proceso|pendiente|espera|en cours|en attente|traitement"
    r"|in corso|attesa|andamento|pendente|aguard|bezig|wacht|behandeling|folyamat|vár|ожида|выполня|обраб|w toku|oczek"
    r"|进行|处理|等待|排队|未|中$|中[^a-z]|処理|待|実行|진행|대기|처리"
)


def is_unsettled(result: str) -> bool:
    """Whether an answer to how something is coming along leaves room for another: empty, or it names work under way."""
    return len(result) < _TELLING or len(result) > _ANSWER or _UNSETTLED.search(result) is not None


@lru_cache(maxsize=4096)
def words(action: str) -> frozenset[str]:
    """The words of a name in snake, kebab, dotted or camel case, in lower case."""
    return frozenset(_in_order(action))


def _in_order(action: str) -> list[str]:
    spaced = "".join(f" {c}" if c.isupper() else c if c.isalnum() else " " for c in action[:120])
    return spaced.lower().split()


_THINGS: Final = frozenset(
    {"order", "booking", "payment", "refund", "charge", "purchase", "transfer", "comment", "post"}
)
_ABOUT: Final = frozenset({
    "status", "history", "detail", "details", "info", "information", "summary", "methods", "options", "availability",
    "quote", "estimate", "tracking", "count", "stats", "total", "totals", "state", "items", "log", "logs",
})  # fmt: skip


def _is_about(action: str) -> bool:
    """True for a name that is a noun, as in "order_status": the thing is not made, it is asked about."""
    names = [word for word in _in_order(action) if word.isalpha()]
    return len(names) > 1 and names[-1] in _ABOUT and names[-2] in _THINGS and not _DOING.intersection(names[:-2])


_LASTING: Final = frozenset({
    "send", "email", "mail", "sms", "pay", "payment", "transfer", "charge", "refund", "order", "purchase", "buy",
    "book", "post", "publish", "notify", "invite", "submit", "tweet", "reply", "wire", "comment", "booking", "donate",
    "senden", "zahlen", "zahlung", "buchen", "buchung", "bestellen", "bestellung", "enviar", "envia", "pagar", "pago",
    "reservar", "reserva", "pedido", "comprar", "envoyer", "payer", "paiement", "commande", "commander", "verzenden",
    "betalen", "bestelling", "boeken", "kuldes", "fizetes", "rendeles", "foglalas",
})  # fmt: skip
_DOING: Final = _LASTING - _THINGS | {"create", "update", "delete", "cancel", "modify", "change", "add", "set"}
_LOOKING: Final = frozenset(
    {
        "get", "list", "search", "find", "read", "fetch", "check", "lookup", "query", "show", "view", "count", "grep",
        "glob", "ls", "cat", "retrieve", "describe", "inspect", "browse", "examine", "preview", "explain", "leer",
        "lees", "lesen", "lire", "buscar", "suchen", "zoek", "chercher", "keres", "olvas", "listar", "ler", "leggi",
        "cerca",
    }
)  # fmt: skip


_ASKING: Final = frozenset(
    {"get", "list", "search", "fetch", "lookup", "query", "show", "view", "retrieve", "describe"}
)


def _asks_for(action: str) -> bool:
    """True for a name that begins with a verb of looking, as in "get_order", and goes on with things only."""
    names = _in_order(action)
    return names[:1] != [] and names[0] in _ASKING and not (_DOING | {"and", "then", "or"}).intersection(names[1:])


_THINKING: Final = frozenset({
    "think", "thought", "plan", "reflect", "calculate", "calculator", "compute", "analyze", "analyse", "detect",
    "classify", "recognize", "ocr", "compare", "evaluate", "estimate",
})  # fmt: skip


@lru_cache(maxsize=4096)
def only_looks(action: str) -> bool:
    """True for the name of a tool that finds out or works out something and changes nothing."""
    name = words(action)
    if _is_about(action) or _asks_for(action):
        return True
    return not (_LOOKING | _THINKING).isdisjoint(name) and _LASTING.isdisjoint(name)


_WRITING: Final = _LASTING | frozenset({
    "create", "update", "delete", "cancel", "modify", "change", "remove", "add", "set", "insert", "assign", "schedule",
    "reschedule", "register", "issue", "return", "exchange", "close", "approve", "reject", "enroll", "renew", "edit",
    "subscribe", "unsubscribe", "withdraw", "deposit", "trade", "sell", "grant", "revoke",
})  # fmt: skip


@lru_cache(maxsize=4096)
def sounds_writing(action: str) -> bool:
    """True for the name of a tool that changes records or has an effect outside."""
    name = words(action)
    return not _WRITING.isdisjoint(name) and _LOOKING.isdisjoint(name) and not _is_about(action)


def may_write(step: Step) -> bool:
    """False for a call that changes nothing: what is stated, else what the name says."""
    return step.side_effect != "read" if step.side_effect else not only_looks(step.action)


@lru_cache(maxsize=4096)
def _sounds_lasting(action: str) -> bool:
    name = words(action)
    return not _LASTING.isdisjoint(name) and _LOOKING.isdisjoint(name) and not _is_about(action)


_CREATING: Final = frozenset({
    "create", "add", "insert", "open", "register", "new", "schedule", "submit", "launch", "start", "provision",
    "deploy", "trigger", "enqueue", "import", "crear", "registrar", "erstellen", "anlegen", "créer", "criar",
    "aanmaken",
})  # fmt: skip
_SAME_AGAIN: Final = frozenset({
    "file", "files", "directory", "dir", "folder", "path", "branch", "session", "index", "label", "tag",
    "page", "tab", "browser", "url", "app", "window", "todo", "todos", "plan", "cell", "breakpoint", "watch",
})  # fmt: skip
"""Making these again with the same arguments leaves one of them, or is how tools for them work."""


@lru_cache(maxsize=4096)
def creates(action: str) -> bool:
    """True for the name of a tool that makes a record of which there are two when it is called twice."""
    name = words(action)
    return not _CREATING.isdisjoint(name) and _LOOKING.isdisjoint(name) and _SAME_AGAIN.isdisjoint(name)


def lasting(step: Step) -> bool:
    """True when a second execution has a second effect in the world: what is stated, else what the name says."""
    if step.idempotent:
        return False
    if step.side_effect:
        return (
            step.side_effect == "high_risk"
            or (step.side_effect == "write" and step.idempotent is False)
            or (step.side_effect == "write" and _sounds_lasting(step.action))
        )
    return step.idempotent is False or _sounds_lasting(step.action)
