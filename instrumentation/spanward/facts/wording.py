"""Read a tool's text: does it report a failure, an exit code, a status, or is it a page that keeps the tool out?

Every test is anchored and capped (:data:`HEAD` characters from the front, :data:`TAIL` from the back), so that the cost
does not grow with the text and a text that speaks of errors is not taken for one. Patterns are linear.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

from spanward.facts.limits import is_too_often, was_too_often
from spanward.facts.page_phrases import PAGE_PHRASES, PAGE_STEMS, PAGE_TITLES, SHORT_PAGES
from spanward.facts.phrases import LANGUAGES, NO_ERROR

HEAD: Final = 2_000
TAIL: Final = 1_000
LONG: Final = 1_500
"""A text that opens like a failure and is longer than this is something else."""
SHORT: Final = 300
"""Up to this length an ending counts."""
PAGE: Final = 800
"""Up to this length a block page's sentence counts."""
HTML: Final = 20_000
"""Up to this length an HTML page's title counts."""

_OWN_WORD: Final = 240
"""Up to this length a foreign text may be the tool's own word."""
_MAX_EXIT_CODE: Final = 0xFFFFFFFF
_DECORATION = " \t\r\n*_#>`\"'“”„«»[(<❌⚠️⛔🚫✗✘×❗‼️🔴-"
_AFTER_LABEL = (
    r"[*_`\"']{0,3}(?:\s{0,2}[\[(#]?(?:code |nr\.? |no\.? )?#?-?[0-9]{1,6}[\])]?)?"
    r"(?:\s{0,2}[:：!！\]>]|\s[-–—|]\s|\s{0,3}\n|\s{0,3}\Z)"
)
LABEL: Final = (
    "(?:" + "|".join(label for language in LANGUAGES.values() for label in language.labels) + ")" + _AFTER_LABEL
)
"""A word for failure that is set off from what follows; in lower case."""
_LABEL = re.compile(LABEL)
# In the text's own case: "TypeError:" is a class, "terror:" is a word.
_CLASS_LABEL = re.compile(r"(?:[A-Za-z_][A-Za-z0-9_]{0,60}\.){0,6}[A-Za-z0-9_]{0,60}(?:Error|Exception)" + _AFTER_LABEL)
# "Search API Error: ...", and what is marked as a failure and says so a few words later.
_NAMED_LABEL = re.compile(r"(?:[A-Z][\w.-]{0,30} ){1,4}(?:Error|Exception|Failure)" + _AFTER_LABEL)
_FAILURE_MARKS: Final = "❌⛔🚫✗✘🔴❗‼"
_MARKED_LABEL = re.compile(rf"[\w .'()-]{{0,60}}?(?:{LABEL})")
_NAMED: Final = 500
"""Up to this length a name before the label counts."""
_NUMBER_AFTER_LABEL = re.compile(r"[±~]?-?[0-9]+(?:[.,][0-9]+)? ?%|[±~]?-?[0-9]+[.,][0-9]+")


def _by_first_character(openings: list[str]) -> dict[str, tuple[str, ...]]:
    return {first: tuple(item for item in openings if item[0] == first) for first in {item[0] for item in openings}}


_OPENINGS = _by_first_character([opening for language in LANGUAGES.values() for opening in language.openings])
_SHORT_OPENINGS = _by_first_character([item for language in LANGUAGES.values() for item in language.short_openings])
_ENDINGS = tuple(ending for language in LANGUAGES.values() for ending in language.endings)
_PAIRS = tuple(pair for language in LANGUAGES.values() for pair in language.pairs)
_NUMBERED_OPENING = re.compile(
    r"(?:(?:http(?:/[0-9.]{1,4})?(?: status)?(?: error)?(?: code)?|(?:status|error)(?: code)?)[ :]{1,2})?"
    r"(?P<status>[45][0-9]{2})(?:\s*[:\-–—]|\s+(?:client error|server error|error|bad|un|not |forbidden|internal|"
    r"service|gateway|too many|request|payment|conflict|gone|method|backend)|\s*\Z)|[0-9]{1,3} validation errors?\b"
)
_RETURNED = re.compile(
    r"[\w .'/-]{1,60} (?:returned|responded with|failed with)(?: an?)?(?: http)?(?: status)?(?: code)? [45][0-9]{2}"
    r"(?=\s{0,2}(?:[.:;,)!(\n-]|\Z))"
)
_REASON = re.compile(
    r"\b(?P<status>[45][0-9]{2}) (?:bad request|unauthorized|forbidden|not found|method not allowed|conflict|gone|"
    r"too many requests|internal server error|bad gateway|service unavailable|gateway time-?out)(?=[.:;,)]|\Z| for )"
)
_LINE_STARTS = (
    "traceback (most recent call last):", "exception in thread ", "panic: ", "npm err!", "unhandled exception",
    "uncaught exception", "thread 'main' panicked at",
)  # fmt: skip
_SHELL = re.compile(
    r"(?:/[^\s:]{1,80}/)?(?:ba|z|da|k|a|fi)?sh: (?:[^\n]{1,200}: (?:command )?not found|command not found: )"
)
_OUR_MARK: Final = "[spanward]"
"""Feedback of ours stands in for a result."""
_ERROR_TAG = re.compile(r"<(?:[a-z]{1,20}_){0,3}error>\s{0,4}")
"""Around what a client tells of a call that failed."""
_LAST_LINE = re.compile(r"(?:[a-z_][a-z0-9_.]{0,100})?(?:error|exception|exit|interrupt)\b(?:: |\Z)")
_SYSTEM_ERROR = re.compile(
    r"[^\n:]{1,60}: [^\n]{0,200}: (?:no such file or directory|permission denied|not a directory|is a directory)\Z"
)
_EXIT = re.compile(
    r"[\W_]{0,3}(?:(?:the )?(?:process|command|program|script|shell|job|container|execution)\s)?"
    r"(?:(?:has )?(?:finished|failed|terminated|exited|completed|returned)[\s:,]{1,2})?(?:with )?(?:an? )?"
    r"(?:non-?zero )?(?:exit[ _]?code|exit status|return[ _]?code|(?<=exited with )(?:code|status))"
    r"[ :=]{1,3}\(?(-?[0-9]{1,10})\b"
)
_EXIT_OF_COMMAND = re.compile(r"returned non-zero exit status (-?[0-9]{1,10})\b")
_STATUS_IN_TEXT = re.compile(
    r"\b(?:http(?:/[0-9.]{1,4})?|status(?: code)?|error(?: code)?|code)[ :=]{1,3}([45][0-9]{2})\b"
)
NO_COMMAND: Final = re.compile(
    r"[^'\n]{1,80}' (?:is not recognized as|não é reconhecido|no se reconoce|n'est pas reconnu|ist entweder falsch"
    r"|non è riconosciuto|wordt niet herkend|не является внутренней|nem ismerhető fel|nie jest rozpoznawan)"
    r"|[^'\n]{1,80}' ?(?:不是内部或外部命令|は、内部コマンドまたは外部コマンド|은\(는\) 내부 또는 외부 명령)"
)
"""What the command line of Windows says of a program that is not there."""
_CLAUSE_END: Final = re.compile("[:：(（\n。！]|[.!] ")
_OF_ACCESS: Final = re.compile(
    r"\b(?:file|path|director(?:y|ies)|folder|document|page|url|resource|host|tool|function|repo(?:sitory)?|notebook"
    r"|sheet|attachment|message|issue|ticket|mail|email|process|session|task|parameter|argument)s?\b"
    r"|\b(?:enoent|eacces|eperm|econn\w+|etimedout|permission denied|access denied|timed out|timeout|unauthorized"
    r"|forbidden|rate limit|quota)\b|\bconnection ?(?:refused|reset|error|failed|aborted|closed)"
    r"|\b(?:command|comando|commande|befehl|opdracht|parancs)\b|命令|コマンド|명령"
    r"|\b(?:http|status|code)[ :]{1,3}[45]\d\d\b|\b[45]\d\d (?:client|server) error"
    r"|datei|fichier|archivo|arquivo|bestand|fájl|文件|檔案|ファイル|файл|파일|\bplik|dosya|tiedosto|soubor|ملف"
)
"""What a tool that brings other people's texts fails at."""
_EXPLAINS: Final = re.compile(r"(?:\w{1,20} ){1,4}(?:is|was|are|were|means?|refers?) (?:an? |the |to )")
"""A text that explains the words it begins with: "Access Denied is a film"."""
_TITLE = re.compile(
    r"<title[^>]{0,200}>([^<]{0,300})</title|^title: ([^\n]{0,300})$"
    r"|screenshot of \[([^\]\n]{0,300})\]\(http",
    re.MULTILINE,
)
_TITLE_STATUS = re.compile(r"(?:http )?(?:error |status )?([45][0-9]{2})\b[\s:\-–—|]*")
_REASONS: Final = frozenset(status.phrase.lower() for status in HTTPStatus if status >= HTTPStatus.BAD_REQUEST)
_SENTENCE_END: Final = re.compile(r"[.!?。！？](?=\s|\Z)")
_OPENING: Final = 5
"""Lines of a short page whose first sentences say what it is."""
_KEEPS_OUT: Final = frozenset({
    "access denied", "forbidden", "unauthorized", "page not found", "service unavailable", "too many requests",
    "bad gateway", "attention required", "just a moment", "internal server error", "gateway timeout",
    "gateway time-out", "zugriff verweigert", "accès refusé", "acceso denegado", "acesso negado", "accesso negato",
    "toegang geweigerd", "доступ запрещен", "доступ запрещён", "访问被拒绝", "アクセスが拒否されました",
})  # fmt: skip
"""The whole first line of a short page that is no other page."""
_SEPARATOR = re.compile(r"\s[|\-–—·]\s|\||[:!.…?]")
_TAG = re.compile(r"<(?:script|style)[^<>]{0,500}>[^<]{0,20000}</|<[^<>]{0,2000}>")


def status_in(text: str) -> int | None:
    """HTTP status that an error text names; 429 where its words say so, whatever stands beside them."""
    if is_too_often(text):
        return HTTPStatus.TOO_MANY_REQUESTS.value
    head = text[:HEAD].lower()
    found = _NUMBERED_OPENING.match(head.lstrip(_DECORATION))
    if found and found["status"]:
        return int(found["status"])
    named = _STATUS_IN_TEXT.search(head) or _REASON.search(head)
    return int(named[1]) if named else None


def is_error_text(text: str) -> bool:
    """Whether a text that a tool wrote itself reports a failure."""
    stripped = text.strip()
    length = len(stripped)
    head = stripped[:HEAD].lower().replace("’", "'")
    tail = head if length <= HEAD else stripped[-TAIL:].lower()
    if _breaks_off(head) or (tail is not head and _breaks_off(tail)):
        return True
    if _ERROR_TAG.match(head):
        return True
    if head.startswith(_OUR_MARK):
        return False
    start = head.lstrip(_DECORATION)
    label = _CLASS_LABEL.match(stripped[:HEAD].lstrip(_DECORATION)) or _LABEL.match(start)
    if label is None and length <= _NAMED:
        label = _NAMED_LABEL.match(stripped) or (_MARKED_LABEL.match(start) if stripped[:1] in _FAILURE_MARKS else None)
    if label:
        return not _says_none(start[label.end() :] if label.re is not _NAMED_LABEL else stripped[label.end() :].lower())
    if length > LONG:
        return False
    if _EXPLAINS.match(start):
        return False
    if start.startswith(_OPENINGS.get(start[:1], ())) or _NUMBERED_OPENING.match(start) or NO_COMMAND.match(start):
        return True
    return length <= SHORT and _is_short_error(start)


def keeps_out(text: str) -> bool:
    """Whether a text that may be somebody else's is the tool's own word of a failed access, and no more than that."""
    stripped = text.strip()
    return (
        len(stripped) <= _OWN_WORD
        and stripped.count("\n") <= 1
        and _OF_ACCESS.search(stripped.lower()) is not None
        and is_error_text(stripped)
    )


def is_block_page(text: str, *, stated: bool = False) -> bool:
    """Whether a text is a page that says "not you" or "not here" instead of what was asked for.

    Args:
        text: as it came.
        stated: somebody says that the tool brings texts of others: then a short text may be any.
    """
    length = len(text)
    if length > HTML:
        return False
    head = text[:HEAD].lower().replace("’", "'")
    title = _TITLE.search(head) if "title" in head or "screenshot of [" in head else None
    if title and _is_page_title(title[1] or title[2] or title[3] or ""):
        return title[1] is None or len(_TAG.sub(" ", text).split()) <= PAGE // 4
    if length > PAGE:
        if "<html" not in head and "<!doctype html" not in head:
            return False
        head = " ".join(_TAG.sub(" ", text).split()).lower().replace("’", "'")
        if len(head) > PAGE:
            return False
    if has_any(head, PAGE_STEMS) and has_any(head, PAGE_PHRASES):
        return True
    bare = head.strip().lstrip(_DECORATION)
    if stated or length > SHORT or not bare or text.lstrip().startswith("<"):
        return False
    lines = [line.removeprefix("oops! ") for line in bare.split("\n") if line.strip()]
    opening = "\n".join(_SENTENCE_END.split(line, maxsplit=1)[0] for line in lines[:_OPENING])
    return has_any(opening, SHORT_PAGES) or _is_refusal(lines[0].strip())


def has_any(text: str, parts: tuple[str, ...]) -> bool:
    """Whether a text holds one of these."""
    for part in parts:  # noqa: SIM110  # a generator doubles the time of this, the most frequent test
        if part in text:
            return True
    return False


def exit_code_in(text: str, *, first_only: bool) -> int | None:
    """Exit code in the first or the last line, where runners write it; of a foreign text only the first is theirs."""
    if "exit" not in text and "return" not in text and "Exit" not in text and "EXIT" not in text:
        return None
    stripped = text.strip()
    lines = (stripped[:SHORT].split("\n", 1)[0], stripped[-SHORT:].rsplit("\n", 1)[-1])
    for line in lines[:1] if first_only else lines:
        lower = line.lower()
        found = _EXIT.match(lower) or _EXIT_OF_COMMAND.search(lower)
        if found:
            return bounded(int(found[1]))
    return None


def bounded(code: int) -> int | None:
    """An exit code, not any number that a result may hold."""
    return code if abs(code) <= _MAX_EXIT_CODE else None


def _breaks_off(part: str) -> bool:
    """Whether a program's last words stand at the start of a line."""
    for mark in _LINE_STARTS:
        position = part.find(mark)
        if position == 0 or (position > 0 and part[position - 1] == "\n"):
            last = part.rstrip().rsplit("\n", 1)[-1].strip()
            return not mark.startswith("traceback") or bool(_LAST_LINE.match(last))
    return "sh: " in part and any(_SHELL.match(line) for line in part.split("\n"))


def _says_none(rest: str) -> bool:
    """Whether what follows a label is "none", zero, or a quantity, as in an error margin."""
    first = re.split("[,;，；\n]", rest.lstrip(), maxsplit=1)[0].strip().rstrip(".")
    return bool(first) and (first in NO_ERROR or _NUMBER_AFTER_LABEL.fullmatch(first) is not None)


def _is_short_error(start: str) -> bool:
    if _SYSTEM_ERROR.match(start) or _REASON.search(start) or _RETURNED.match(start) or was_too_often(start):
        return True
    whole = start.rstrip(" \t\r\n.!。！'\")]…")
    clause = _CLAUSE_END.split(whole, maxsplit=1)[0].rstrip()
    whole, clause = f" {whole}", f" {clause}"
    opens = start.startswith(_SHORT_OPENINGS.get(start[:1], ()))
    if opens or whole.endswith(_ENDINGS) or clause.endswith(_ENDINGS):
        return not _counted(whole) and any(
            (
                start.startswith(language.short_openings)
                or whole.endswith(language.endings)
                or clause.endswith(language.endings)
            )
            and not any(word in whole for word in language.nothing)
            for language in LANGUAGES.values()
        )
    return any(_in_order(f"{whole} ", pair) for pair in _PAIRS)


def _counted(text: str) -> bool:
    """A tally ("2 passed, 1 failed") is a report, not a failure to report."""
    words = text.split()
    return len(words) > 1 and words[-2].isdecimal()


def _in_order(text: str, words: tuple[str, ...]) -> bool:
    position = 0
    for word in words:
        position = text.find(word, position)
        if position < 0:
            return False
        position += len(word) - 1  # the space that ends one word begins the next
    return True


def _is_refusal(line: str) -> bool:
    """Whether the first line of a short page is a status with its reason, or the reason of one that keeps out."""
    has_status, first = _status_and_first(line)
    return first in _REASONS if has_status else first in _KEEPS_OUT


def _is_page_title(title: str) -> bool:
    has_status, first = _status_and_first(title.strip())
    return first in PAGE_TITLES or (has_status and (not first or first in _REASONS))


def _status_and_first(line: str) -> tuple[bool, str]:
    """Whether a line begins with a status of failure, and what stands after that before the first separator."""
    status = _TITLE_STATUS.match(line)
    rest = line[status.end() :] if status else line
    return status is not None, _SEPARATOR.split(rest, maxsplit=1)[0].strip()
