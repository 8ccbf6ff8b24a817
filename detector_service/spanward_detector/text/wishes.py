# ruff: noqa: E501 -- lists of words in wide characters
"""What a person asked for: that something goes away for good, to be told something, to wait. Languages are data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_CAP: Final = 8192
_STEMS: Final = (
    # en
    "delete", "deleting", "remov", "drop", "destroy", "wipe", "purge", "clean", "clear the", "clear out", "clear all",
    "empty the", "erase", "discard", "throw away", "get rid of", "reset", "revert", "undo", "roll back", "rollback",
    "restore", "start over", "start fresh", "from scratch", "tear down", "teardown", "decommission", "uninstall",
    "truncate", "recreate", "terminate", "force push", "force-push", "overwrite", "reinstall", "prune", "nuke",
    "format the disk", "format the drive", "shut down", "close my", "close the account", "cancel my", "unsubscribe",
    # de, nl
    "lösch", "entfern", "verwirf", "verwerfen", "zurück", "leere ", "abbau", "aufräum", "räum", "verwijder", "wis ",
    "weggooi", "gooi", "opruim", "ruim", "maak leeg", "herstel", "kündig", "schließ", "opzeg",
    # es, pt, fr, it
    "borra", "elimin", "quita", "descarta", "limpi", "vacía", "vacia", "restablec", "destruy", "apaga", "remova",
    "excluir", "exclua", "limpa", "supprim", "efface", "nettoi", "vide ", "vider", "annule", "réinitialis", "détrui",
    "cancella", "rimuov", "cierra", "cerrar", "ferme", "fecha", "encerra", "chiud", "svuota", "ripristin", "pulisci",
    # hu, pl, ru
    "töröl", "törlés", "eltávolít", "ürít", "állítsd vissza", "usuń", "usun", "skasuj", "wyczyść", "удал", "очист",
    "сброс", "откат", "снеси", "закро", "zamkn",
    # zh, ja, ko
    "删除", "清空", "清除", "重置", "还原", "丢弃", "回滚", "移除", "销毁", "卸载", "注销", "解約", "退会", "탈퇴", "해지", "削除", "消して", "初期化", "リセット",
    "元に戻", "破棄", "삭제", "초기화", "제거", "되돌",
)  # fmt: skip
_WISHED: Final = re.compile(
    "|".join(rf"(?:\b|(?<=[^\x00-\x7f])){re.escape(s)}" if s.isascii() else re.escape(s) for s in _STEMS),
    re.IGNORECASE,
)
_NOT: Final = re.compile(
    r"(?:\b(?:don't|do not|dont|never|without|not|no|avoid|nicht|keine?n?|ohne|niet|geen|sin|nunca|sans|não|nem|ne)\b"
    r"|不要|别|不能|不得|禁止|勿)[^.!?\n。]{0,24}$",
    re.IGNORECASE,
)
"""Said just before, it makes the wish its opposite."""
_ALL: Final = re.compile(
    r"\b(?:all|everything|any|whole|entire|entirely|completely|uncommitted|unstaged|untracked|local changes|working tree"
    r"|scratch|start over|hard|alle[sn]?|ganze[snm]?|komplett|vollständig|todos?|todas?|completo|completamente|tous|toute?s?"
    r"|tutt[oiae]|tudo|hele|mind|összes|minden|все|всё|wszystk\w+)\b|全部|所有|全て|すべて|모두|전부",
    re.IGNORECASE,
)

_TO_WAIT: Final = re.compile(
    r"\b(?:wait|hold on|not yet|until i|are you ready|when i say|standby|stand by|warte|noch nicht|bist du bereit"
    r"|espera|todavía no|attends|pas encore|wacht|nog niet|várj)\b|等|待っ|기다",
    re.IGNORECASE,
)
_ASKS_BACK: Final = re.compile(
    r"[?？]|\b(?:recap|summar\w*|what did|did you|remind|yesterday|already|earlier|so far|thanks|thank you|list what|status"
    r"|zusammenfass\w*|gestern|bisher|danke|resum\w+|ayer|gracias|résum\w+|hier|merci|samenvat\w*|gisteren|bedankt|dank"
    r"|összefoglal\w*|tegnap|köszön\w*|obrigad\w+|ontem|grazie|ieri|вчера|спасибо|итог\w*)\b|总结|回顾|昨天|之前|哪些|谢谢|まとめ"
    r"|昨日|ありがとう|요약|어제|감사",
    re.IGNORECASE,
)
"""The user wants to be told something; what is told may have been done long before."""


def wants_gone(requests: Iterable[str]) -> bool:
    """Whether a person asked, in one of several languages, for something to be deleted, reset or torn down."""
    return any(
        _NOT.search(request[max(0, found.start() - 40) : found.start()]) is None
        for request in (text[:_CAP] for text in requests)
        for found in _WISHED.finditer(request)
    )


def wants_all(requests: Iterable[str]) -> bool:
    """Whether a person speaks of everything, in one of several languages."""
    return any(_ALL.search(text[:_CAP]) is not None for text in requests)


def names(requests: Iterable[str], target: str) -> bool:
    """Whether what people said names a file, table or place: the last part of its name stands there on its own."""
    whole = target.replace("\\", "/").rstrip("/*").lower()
    last = whole.rpartition("/")[2] or whole or target
    kept_apart = "/\\:~" if last == whole else ""
    return any(_stands(last, text[:_CAP].lower(), kept_apart) for text in requests)


def _stands(name: str, text: str, kept_apart: str) -> bool:
    at = text.find(name)
    while at >= 0:
        before, after = text[max(0, at - 1) : at], text[at + len(name) : at + len(name) + 2]
        begins = not before or not (before.isalnum() or before == "_" or before in kept_apart)
        goes_on = after[:1].isalnum() or after[:1] in ("_", ":") or (after[:1] in ("/", "\\") and after[1:].isalnum())
        if begins and not goes_on:
            return True
        at = text.find(name, at + 1)
    return False


def asks_back(request: str) -> bool:
    """Whether a person wants to be told something rather than to have something done, or thanks."""
    return _ASKS_BACK.search(request[:_CAP]) is not None


def tells_to_wait(request: str) -> bool:
    """Whether a person says that it is not time to begin yet."""
    return _TO_WAIT.search(request[:_CAP]) is not None
