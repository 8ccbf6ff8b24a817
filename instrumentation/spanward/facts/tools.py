"""Which tools may return text that somebody else wrote, told from their names."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

from spanward.canonical import text_of
from spanward.facts.programs import shows

Foreign = bool | Literal["by_name", "program"]
"""Whether a text may be somebody else's: True where that is stated, ``by_name`` where the tool's name says so. Then a
short text of a failed access is the tool's own word all the same: so whoever reads a file says that there is none.
``program`` where it is what a program printed, whose last words say whether it failed."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")

_CARRIERS: Final = frozenset({
    "browse", "browser", "cat", "computer", "crawl", "crawler", "curl", "grep", "notebook", "ocr", "rag", "recall",
    "retriever", "rg", "ripgrep", "scrape", "scraper", "surfer", "tail", "transcribe", "transcript", "translate",
    "summarize", "visit", "web", "webpage", "website", "wget", "wiki", "wikipedia", "arxiv", "rss",
})  # fmt: skip
"""Words that make a tool one whatever stands beside them: it brings pages or files."""

_RUNNERS: Final = frozenset({
    "bash", "cmd", "console", "exec", "interpreter", "jupyter", "powershell", "python", "repl", "sh", "shell",
    "terminal",
})  # fmt: skip
"""Words that make a tool one that brings a program's output."""
_RUNS: Final = frozenset({
    "run", "execute", "ejecutar", "ausführen", "exécuter", "executar", "esegui", "uitvoeren", "futtat", "start",
})  # fmt: skip
_RUN: Final = frozenset({
    "command", "commands", "code", "script", "program", "process", "cell", "build", "comando", "befehl", "commande",
    "opdracht", "parancs",
})  # fmt: skip
"""What a tool runs, for its output to be a program's."""

_VERBS: Final = frozenset({
    "read", "view", "open", "get", "load", "show", "retrieve", "search", "extract", "download", "inspect", "fetch",
    "list", "display", "print", "head", "find", "query",
})  # fmt: skip
_ACTS: Final = frozenset({"click", "type", "press", "fill", "hover", "drag", "select", "upload", "close", "resize"})
"""What is done to a page: such a tool reports of its own."""
_ALONE: Final = frozenset({
    "read", "view", "open", "fetch", "search", "retrieve", "retrieval", "find", "lookup", "download", "google",
    "bing",
})  # fmt: skip
"""Verbs that are the whole name of such a tool."""

_TEXTS: Final = frozenset({
    "article", "articles", "attachment", "chat", "code", "comment", "comments", "commit", "content", "contents",
    "diff", "doc", "docs", "document", "documents", "email", "emails", "file", "files", "history", "html", "inbox",
    "internet", "issue", "issues", "kb", "knowledge", "log", "logs", "mail", "mails", "memory", "memories",
    "message", "messages", "news", "note", "notes", "online", "page", "pages", "paper", "papers", "pdf", "post",
    "posts", "pr", "readme", "repo", "repository", "resource", "review", "reviews", "site", "source", "text",
    "thread", "threads", "ticket", "tickets", "tweet", "tweets", "url", "urls", "video",
})  # fmt: skip


_CHANGES: Final = frozenset({"translate", "summarize", "ocr", "transcribe", "transcript", "extract", "rewrite"})
"""What makes a text of a text: that may say anything, in any length."""


def foreign_text_tool(name: str, arguments: str | None = None) -> Foreign:
    """Whether a tool of this name may return foreign text: a file, a page, a mail, a program's output.

    What such a tool returns is not judged by its words, since they may be somebody else's; but see :data:`Foreign`.

    Args:
        name: of the tool.
        arguments: of the call, as text, where they are known.
    """
    return foreign_text_of(_by_name(name), arguments)


def foreign_text_of(stated: Foreign, arguments: object) -> Foreign:
    """What is ``stated`` of a tool, for a call: a command that shows a file brings no words of its own."""
    return "by_name" if stated == "program" and arguments and shows(text_of(arguments)) else stated


@lru_cache(maxsize=4096)
def _by_name(name: str) -> Foreign:
    words = [word.lower() for word in _WORD.findall(name[:200])]
    if "by" in words[1:]:  # what follows is what it is found by, not what is found
        words = words[: words.index("by", 1)]
    found = set(words)
    if found & _ACTS and not found & _VERBS:
        return False
    if found & _CHANGES and found & (_CARRIERS | _TEXTS):
        return True
    if found & _RUNNERS or (found & _RUNS and found & _RUN):
        return "program"
    if found & _CARRIERS or (len(words) == 1 and found & _ALONE) or (found & _VERBS and found & _TEXTS):
        return "by_name"
    return False
