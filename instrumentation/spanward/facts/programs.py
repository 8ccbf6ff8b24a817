"""Read the output of a program that came without an exit code: do its last words say that it failed?

What stands above them may be anything (a log, a listing, another program's complaint that did not matter), so only the
last lines count, and in a short output the first one. Patterns are linear.
"""

from __future__ import annotations

import re
from typing import Final

from spanward.facts.wording import LABEL, NO_COMMAND, has_any, is_error_text

_TAIL: Final = 2_000
_LINES: Final = 6
"""Lines from the end that count; in an output of no more than these, the first one does, too."""
_INSIDE: Final = (" ", "\t", '"', "'", "#", "//", "/*", "*", "<")
"""How lines begin that stand inside of something: a program complains from the margin."""
_LINE: Final = 400
"""Length of a line that is a complaint."""

_MARKS: Final = re.compile("|".join((
    # builds
    r"(?:(?:g|mingw32-)?make|ninja)(?:\[\d{1,3}\])?: \*\*\* ", r"ninja: build stopped", r"collect2: error",
    r"(?:/\S{1,80}/)?ld: ", r"error(?:\[\w{1,12}\])?: could not compile",
    r"\W{0,4}(?:info\W{1,3})?build fail(?:ed|ure)\b",
    r"failure: build failed", r"failed to compile", r"undefined symbols for architecture", r"cmake error",
    r"compilation (?:failed|terminated)", r"-- configuring incomplete, errors",
    r"[1-9]\d{0,4} errors?(?: generated\.?)?\Z",
    r"[1-9]\d{0,4} ?个错误", r"error:? failed to solve",
    rf"\S{{1,200}}[:(]\d{{1,7}}(?:[:,]\d{{1,5}})?\)?: (?:fatal )?(?:error \w{{1,12}}: |{LABEL})",
    # packages, repositories, services
    r"e: \S", r"npm (?:err!|error) ", r"\W{0,3}err_pnpm_", r"error command failed with exit",
    r"your requirements could not be resolved", r"automatic merge failed", r"\d{1,6} out of \d{1,6} hunks? failed",
    r"curl: \(\d", r"gh: ", r"rsync error: ", r"tar: error is not recoverable", r"tar: exiting with failure",
    r"error from server \(", r"error \d{4} \(\w{5}\)", r"\(error\) [a-z]", r";; connection timed out",
    r"error opening input", r"(?:[\w./-]{1,60}: )?write error: ", r"could not (?:find|resolve|read|open|connect)",
    # what breaks off
    r"[│|] {0,2}error: ", r"fatal error: ", r"php (?:fatal|parse) error: ", r"terminate called after throwing",
    r"unhandled exception", r"panic: ", r"exception in thread ", r"thread '[^'\n]{1,60}' panicked at", r"node\.js v\d",
    r"\S{1,200}\.rb:\d{1,7}:in [`'].{1,200}\(\w+error\)", r"try '\S{1,60} --?h(?:elp)?'",
    r"(?:killed|terminated|aborted|bus error|segmentation fault|illegal instruction)(?: \(core dumped\))?\Z",
)))  # fmt: skip
"""How the lines begin by which programs say why they stopped, in lower case."""
_NAMES: Final = (
    "apt", "apt-get", "awk", "aws", "az", "bash", "brew", "bundle", "cargo", "cat", "cc", "chmod", "chown", "clang",
    "clang++", "composer", "conda", "cp", "curl", "dash", "dig", "dnf", "docker", "dpkg", "env", "ffmpeg", "fish",
    "g++", "gawk", "gcc", "gcloud", "gem", "git", "go", "gpg", "grep", "gunzip", "gzip", "helm", "java", "javac",
    "jq", "kubectl", "less", "ln", "ls", "mkdir", "mongo", "mount", "mv", "mvn", "mysql", "mysqldump", "nc", "node",
    "npm", "npx", "nslookup", "openssl", "perl", "pg_dump", "php", "ping", "pip", "pip3", "pnpm", "podman", "psql",
    "redis-cli", "rm", "rmdir", "rsync", "ruby", "rustc", "scp", "sed", "service", "sh", "snap", "sqlite",
    "sqlite3", "ssh", "su", "sudo", "systemctl", "tar", "tee", "terraform", "touch", "unzip", "wget", "xargs",
    "yarn", "yum", "zip", "zsh",
)  # fmt: skip
_COMPLAINTS: Final = (
    "cannot", "can't", "could not", "couldn't", "unable", "failed", "failure", "no such", "not found", "unrecognized",
    "unrecognised", "unknown", "unexpected", "unterminated", "not a ", "no module", "invalid", "illegal", "denied",
    "refused", "timed out", "error", "fatal", "required", "missing", "not permitted", "does not exist",
)  # fmt: skip
_PROGRAM: Final = re.compile(
    rf"(?:/\S{{1,80}}/)?(?:{'|'.join(map(re.escape, _NAMES))}|python[\d.]{{0,5}}|[\w.-]{{1,60}}\.(?:py|sh|rb|pl|js|ts))"
    rf"(?:\[\d{{1,7}}\])?: (?!(?:warning|note|info)\b)[^\n]{{0,300}}?\b(?:{'|'.join(_COMPLAINTS)})\b"
)
"""A program of that name complains."""
_HINTS: Final = (
    *_COMPLAINTS, "err", "exception", "fail", "not be", "***", "panic", "fault", "killed", "terminated", "aborted",
    "e: ", "stopped", "ld: ", "gh: ", "curl: (", "try '", " at ", "\tat ", "node.js v", ".go:", "fout", "hiba", "fehl",
    "blad",
)  # fmt: skip
"""Without one of these there is nothing to look for, in ASCII."""
_CHECKED: Final = re.compile(
    r"(?<![a-z] )\b\d{1,6} (?:\w{1,20} )?(?:failed|failing|failures?|passed|passing|problems?|tests?|specs?)\b"
    r"|\btests? failed|\bran \d{1,6} tests?\b|\bfound \d{1,6} errors?\b"
)
"""The verdict of tests or a linter: what it finds is what it was asked for."""
_FRAME: Final = re.compile(r"\s+at \S[^\n]{0,300}[:(]\S|\tat \S")
_WENT_ON: Final = re.compile(
    r"(?<![`'])\b(?:loaded|done|finished|success(?:ful(?:ly)?)?|completed?|added|saved|installed|created|updated|wrote|written|ready"
    r"|ok)\b"
)
"""Last words of a program that complained and went on."""
_RAISED: Final = re.compile(r"[A-Za-z_][\w.]{0,80}(?:Error|Exception)(?:(?:\(.{0,300}\))?\Z|: )")
"""An exception as an interpreter or a read-eval-print loop tells of it."""
_GO: Final = re.compile(r"(?:\./)?\S{1,200}\.go:\d{1,7}:\d{1,5}: ")
_ADVICE: Final = ("hint: ", "note: ", "help: ", "usage: ", "run ", "for more information", "see ")
_SHOWS: Final = re.compile(
    r"(?:^|[;&(\"'`\n]|\\n)\s{0,4}(?:sudo )?(?:cat|head|tail|less|more|bat|e?grep|rg|ag|zcat|strings|diff|find|history"
    r"|man|journalctl|dmesg|type|get-content|select-string|gc|git (?:--no-pager )?(?:log|show|diff|grep|blame|status)"
    r"|(?:docker|podman)(?:[ -]compose)? logs|kubectl (?:logs|describe)|sed -n|awk)\b"
)
"""Commands whose output is what others wrote."""


def complaint(output: str) -> str:
    """The line by which a program says that it failed; "" where its last words do not say so.

    Args:
        output: of the program, standard output and error as they came.
    """
    text = output.strip()
    lines = [line for line in text[-_TAIL:].split("\n")[-2 * _LINES :] if line.strip()][-_LINES:]
    if not lines:
        return ""
    lower = [line.strip().lower().replace("’", "'") for line in lines]
    said = "\n".join(lower)
    if (said.isascii() and not has_any(said, _HINTS)) or any(_CHECKED.search(line[:_LINE]) for line in lower):
        return ""
    last = next((n for n in range(len(lines) - 1, -1, -1) if not lower[n].startswith(_ADVICE)), len(lines) - 1)
    whole = len(text) <= _TAIL and text.count("\n") < _LINES and not _WENT_ON.search(lower[-1])
    for n in dict.fromkeys((last, 0) if whole else (last,)):
        line = lines[n]
        if NO_COMMAND.match(lower[n].lstrip("'\"")):
            return line
        if len(line) > _LINE or line.startswith(_INSIDE):
            continue
        if _RAISED.match(line) or is_error_text(line) or _PROGRAM.match(lower[n]):
            return line
    for line, plain in zip(reversed(lines), reversed(lower), strict=True):
        if _MARKS.match(plain):
            return line
    if _FRAME.match(lines[-1]) or (_GO.match(lower[last]) and text.startswith("# ")):
        return lines[last]
    return ""


def shows(arguments: str) -> bool:
    """Whether a command brings what others wrote: a file, a log, a history. What is piped into such a one does not."""
    return _SHOWS.search(arguments[:_TAIL].lower()) is not None
