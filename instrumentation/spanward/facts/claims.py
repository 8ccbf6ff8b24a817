# ruff: noqa: E501 -- lists of words in wide characters
"""What an answer claims of the work: that it is done, checked or about to be, or that it has yet to be told what to do."""

from __future__ import annotations

import re
import string
from functools import cache
from typing import Final, NamedTuple

from spanward.facts.claim_words import (
    ANNOUNCED_IN_ASCII,
    ANNOUNCES,
    COMPLETE,
    HYPOTHETICAL,
    POSTPONES,
    REPORTED,
    TESTED,
    TRIED,
    WAITS,
    WRITTEN,
)
from spanward.facts.wording import has_any

_STANDBY: Final = (
    "ready when you are", "standing by", "ready to begin", "ready to start", "ready to proceed", "ready to get started",
    "ready to assist", "ready for your instructions", "awaiting your", "await your", "waiting for your",
    "waiting for further", "awaiting further", "let me know when you", "let me know how you'd like to proceed",
    "let me know how you would like to proceed", "tell me when you", "whenever you're ready", "whenever you are ready",
    "i'm all set to", "what would you like me to do", "what should i do next", "what would you like to do next",
    # de
    "bereit, wenn sie", "bereit, wenn du", "bereit, sobald", "ich bin bereit", "ich warte auf", "warte auf ihre",
    "warte auf deine", "warte auf weitere", "sag mir bescheid, wenn", "sagen sie mir, wann", "stehe bereit",
    # es, fr, pt, it
    "estoy listo", "estoy lista", "a la espera de", "quedo a la espera", "cuando quieras", "cuando usted quiera",
    "listo para empezar", "lista para empezar", "listo para comenzar", "je suis prêt", "j'attends vos",
    "j'attends tes", "en attente de vos", "quand vous voulez", "dès que vous", "prêt à commencer", "estou pronto",
    "estou pronta", "aguardando suas", "aguardo suas", "quando você quiser", "sono pronto", "sono pronta",
    "in attesa di", "quando vuoi",
    # nl, hu, pl, ru
    "ik ben klaar om", "klaar wanneer", "ik wacht op", "laat het me weten wanneer", "laat maar weten wanneer",
    "laat maar weten als", "klaar om te beginnen", "wanneer ik kan beginnen", "készen állok", "várom az utasít",
    "várok az utasít", "amikor csak", "jestem gotow", "czekam na", "я готов", "жду ваших", "жду дальнейших",
    "ожидаю ваших",
    # zh, ja, ko
    "随时可以开始", "准备就绪", "我准备好了", "我已准备好", "请告诉我何时", "请指示", "等待您的", "等待你的", "等候您的",
    "準備ができました", "準備完了です", "ご指示を", "お待ちして", "준비되었습니다", "준비됐습니다", "지시를 기다",
)  # fmt: skip
"""Words with which an answer waits to be told what to do, in any position of a short answer."""
_SHORT: Final = 320
"""Characters of an answer that says no more than that."""

_EFFECTS: Final = (
    r"(?:sent|emailed|mailed|booked|reserved|cancell?ed|refunded|paid|transferred|charged|ordered|purchased|submitted"
    r"|published|posted|deployed|deleted|saved|uploaded|scheduled|rescheduled|registered|notified|committed|pushed"
    r"|merged|installed|forwarded)\b"
)
_ADVERBS: Final = r"(?:now |just |successfully |already |also ){0,2}"
_DE: Final = (
    r"[^.!?\n]{0,80}\b(?:gesendet|verschickt|abgeschickt|gebucht|storniert|erstattet|überwiesen|bezahlt|bestellt"
    r"|eingereicht|veröffentlicht|gelöscht|gespeichert|hochgeladen|reserviert|benachrichtigt)\b"
)
_ES: Final = (
    "enviad", "reservad", "cancelad", "reembolsad", "pagad", "publicad", "eliminad", "guardad", "programad",
    "subid",
)  # fmt: skip
_FR: Final = r"(?:envoyé|réservé|annulé|remboursé|payé|transféré|publié|supprimé|enregistré|programmé)e?s?\b"
_IT: Final = (
    "inviat", "prenotat", "cancellat", "annullat", "rimborsat", "pagat", "pubblicat", "eliminat", "salvat",
)  # fmt: skip
_NL: Final = (
    r"[^.!?\n]{0,80}\b(?:verzonden|verstuurd|geboekt|geannuleerd|terugbetaald|betaald|overgemaakt|gepubliceerd"
    r"|verwijderd|opgeslagen|ingepland|geüpload)\b"
)
_RU: Final = (
    "отправил", "забронировал", "отменил", "оплатил", "перевел", "перевёл", "опубликовал", "удалил", "сохранил",
    "загрузил",
)  # fmt: skip
_ZH: Final = (
    r"(?:成功)?(?:为您|为你|帮您|帮你)?(?:成功)?(?:发送|预订|预定|取消|退款|支付|转账|提交|发布|删除|保存|上传|安排)"
)

_DONE: Final = tuple(
    (opening, re.compile(rest))
    for openings, rest in (
        (("i've ", "i have ", "we've ", "we have "), _ADVERBS + _EFFECTS),
        (("successfully ",), _EFFECTS),
        (("ich habe ", "wir haben ", "erfolgreich "), _DE),
        (tuple(f"he {verb}" for verb in _ES), r"o\b"),
        (tuple(f"{verb}o com sucesso" for verb in ("enviad", "reservad", "cancelad", "publicad", "agendad")), ""),
        (("j'ai ", "j'ai bien "), _FR),
        (tuple(f"ho {verb}" for verb in _IT), r"o\b"),
        (("ik heb ", "we hebben "), _NL),
        (tuple(f"я {verb}" for verb in _RU), r"а?\b"),
        (("已经", "已", "成功"), _ZH),
        (
            ("elküld", "lefoglal", "töröl", "visszatérít", "kifizet", "átutal", "közzétett", "elment", "feltölt"),
            r"(?:tem|tam|öttem|ottam|ettem)\b",
        ),
        (
            ("送信", "予約", "キャンセル", "返金", "振込", "投稿", "公開", "削除", "保存", "アップロード"),
            r"(?:を)?(?:しました|いたしました|が?完了しました)",
        ),
        (("전송", "예약", "취소", "환불", "결제", "이체", "게시", "삭제", "저장", "업로드"), r"(?:했|하였|되었|을 완료했|를 완료했)습니다"),
    )
    for opening in openings
)  # fmt: skip
"""How a language says that the speaker did something: how that opens, and what has to follow at once. "Can be sent", "I
have not sent" and "has been published" say something else."""
_STANDBY_ASCII: Final = tuple(words for words in _STANDBY if words.isascii())
_DONE_ASCII: Final = tuple((opening, rest) for opening, rest in _DONE if opening.isascii())
_CLAIMS: Final = (
    ("tested", TESTED), ("complete", COMPLETE), ("written", WRITTEN), ("reported", REPORTED), ("tried", TRIED),
)  # fmt: skip
_STEM: Final = 4
_APART: Final = dict.fromkeys(map(ord, string.punctuation + string.digits + "¡¿\x1a"), " ")
_LOOKS: Final = 8
"""Openings of one kind that are looked at."""
_LAST: Final = 400
"""Characters at the end of an answer in which its last sentences stand."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?])(?=\s|$)|\n|(?<=[。！？])")
_LED_UP_TO: Final = (":", "\uff1a")
"""Whoever ends so has more to come."""


class _Row(NamedTuple):
    """One way to make a claim: how one of its words begins, or a word of a script without blanks; and the whole."""

    heads: frozenset[str]
    wide: tuple[str, ...]
    pattern: str


def claims_in(lower: str) -> tuple[str, ...]:
    """What an answer claims, each of :data:`spanward.semconv.CLAIMS` once. Who claims something else does not wait.

    Args:
        lower: both ends of the answer in lower case, apostrophes straight.
    """
    ascii_only = lower.isascii()
    waiting, deeds = (_STANDBY_ASCII, _DONE_ASCII) if ascii_only else (_STANDBY, _DONE)
    found = []
    if any(opening in lower and _says(lower, opening, rest) for opening, rest in deeds):
        found.append("done")
    stems = {word[:_STEM] for word in lower.translate(_APART).split()}
    for claim, rows in _rows(ascii_only):
        for heads, wide, pattern in rows:
            named = not heads.isdisjoint(stems) or (wide and has_any(lower, wide))
            if named and _states(lower, _pattern(pattern)):
                found.append(claim)
                break
    if "reported" in found and len(found) > 1:
        found.remove("reported")  # it says whose deed it was
    if "written" in found and "```" in lower:
        found.remove("written")  # it stands in the answer itself
    if not found and len(lower) <= _SHORT and any(words in lower for words in waiting):
        return ("standby",)
    return ("announced", *found) if _announces(lower) else tuple(found)


@cache
def _rows(ascii_only: bool) -> tuple[tuple[str, tuple[_Row, ...]], ...]:
    """Claims with the words and patterns that tell of them."""
    found = []
    for claim, rows in _CLAIMS:
        kept = []
        for words, pattern in rows:
            possible = tuple(word for word in words if word.isascii()) if ascii_only else words
            if possible:
                heads = frozenset(word.translate(_APART).split()[0][:_STEM] for word in possible if not _is_wide(word))
                wide = tuple(word for word in possible if _is_wide(word))
                kept.append(_Row(heads, wide, pattern))
        found.append((claim, tuple(kept)))
    return tuple(found)


def _is_wide(word: str) -> bool:
    """Of a script that sets no blanks between words."""
    return any(letter >= "\u2e80" for letter in word)


def _says_next(sentence: str) -> bool:
    rows = ANNOUNCES[:ANNOUNCED_IN_ASCII] if sentence.isascii() else ANNOUNCES
    return any(_pattern(rf"[^\w#|>\d]{{0,6}}{opening}{rest}").match(sentence) for opening, rest in rows)


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compiled when an answer first needs it: all of them at once would take an agent 20 ms."""
    return re.compile(text, re.MULTILINE)


def _announces(lower: str) -> bool:
    """Whether the answer ends by what the speaker does next, without leaving it to the reader."""
    end = lower[-_LAST:].rstrip(" \t\n*_\x1a")
    if end.endswith(("```", ">")):
        return False
    if end.endswith(_LED_UP_TO):
        return True
    sentences = [s for piece in _SENTENCE_END.split(end) if (s := piece.strip(" \t.!。！\x1a*_"))]
    if sentences and any(words in sentences[-1] for words in WAITS):
        return "?" not in end
    return (
        bool(sentences) and _says_next(sentences[-1]) and not _pattern(POSTPONES).search(end[-len(sentences[-1]) - 4 :])
    )


def _states(lower: str, claim: re.Pattern[str]) -> bool:
    """Whether a claim stands there that its sentence neither denies nor makes a condition."""
    hypothetical = _pattern(HYPOTHETICAL)
    for found, _ in zip(claim.finditer(lower), range(_LOOKS), strict=False):
        begin = max(lower.rfind(mark, 0, found.start()) for mark in (". ", "! ", "? ", "\n", "。")) + 1
        if hypothetical.search(lower, begin, found.end()) is None:
            return True
    return False


def _says(lower: str, opening: str, rest: re.Pattern[str]) -> bool:
    at = lower.find(opening)
    for _ in range(_LOOKS):
        if at < 0:
            return False
        if rest.match(lower, at + len(opening)) and (opening[0] > "ÿ" or at == 0 or not lower[at - 1].isalpha()):
            return True
        at = lower.find(opening, at + 1)
    return False
