"""Settings of the instrumentation: one frozen dataclass, each field with its environment variable.

OTEL_* variables are used where one exists; the others are ``SPANWARD_*``. Arguments win over the environment. The
OTEL_EXPORTER_OTLP_* ones are not read: they may name a vendor, and its headers are secret.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, Literal, get_args

from spanward.ports import DirectiveKind

DIRECTIVE_KINDS: Final[frozenset[str]] = frozenset(get_args(DirectiveKind))

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"0", "false", "no", "off", ""})


def _flag(text: str) -> bool:
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError("write true or false")


def _capture(text: str) -> bool:
    # The variable of the GenAI conventions: a flag at first, since then a choice of where content goes.
    word = text.strip().lower()
    return word in {"span_only", "span_and_event", "event_only"} or (word != "no_content" and _flag(text))


def _choice(*options: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        word = text.strip().lower()
        if word not in options:
            raise ValueError(f"write one of {', '.join(options)}")
        return word

    return parse


def _number(low: float, high: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise ValueError(f"write a number between {low:g} and {high:g}")
        return value

    return parse


def _names(text: str) -> frozenset[str]:
    return frozenset(name for name in (part.strip() for part in text.split(",")) if name)


def _kinds(text: str) -> frozenset[str]:
    names = _names(text)
    if unknown := sorted(names - DIRECTIVE_KINDS):
        raise ValueError(f"unknown directive {unknown[0]!r}: write some of {', '.join(sorted(DIRECTIVE_KINDS))}")
    return names


def _address(text: str) -> str:
    host, colon, port = text.strip().rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError("write HOST:PORT, as in 127.0.0.1:4327")
    return text.strip()


def _address_or_none(text: str) -> str:
    return _address(text) if text.strip() else ""


def _key(text: str) -> bytes | None:
    return text.encode() or None


def _text(text: str) -> str:
    return text.strip()


def _setting(default: Any, parse: Callable[[str], Any], *variables: str) -> Any:
    """A field whose environment variables are ``variables``, the first that is set wins."""
    return field(default=default, metadata={"variables": variables, "parse": parse})


@dataclass(frozen=True)
class Settings:
    """How the instrumentation behaves. ``Settings.from_env()`` is what ``instrument_agent()`` uses.

    Attributes:
        endpoint: host:port of the detector's gRPC (control stream, and spans unless said otherwise).
        spans_endpoint: host:port of a Collector's OTLP/gRPC for spans; "" = ``endpoint``.
        service_name: of this process; "" = the user's own resource decides.
        capture_content: arguments, results and messages may leave the process.
        hold: wait for a verdict ``always`` (while the stream is healthy), only at ``suspect`` results, or ``never``.
        hold_min_ms, hold_max_ms: bounds of a hold's deadline, milliseconds.
        digest_key: makes digests HMACs, so that short values cannot be guessed from them.
        http: instrument httpx inside runs, so that status codes below tools are seen.
        locale: of messages for end users, such as "de".
        disabled: everything is off; decorated functions run as they were written.
        pause_lease_s: how long a paused run waits before it is given up, unless the directive says, seconds.
        allowed_directives: kinds that this process accepts; it cannot be widened from outside.
        allowed_tools: tools that may run at all; empty = every one.
        exit_class: what a termination raises inside the run: ``exception`` (:class:`spanward.AgentTerminated`), or
            ``base`` for frameworks that swallow exceptions (``run`` turns it back).
        approval_wait_s: how long a ``high_risk`` call waits for an approval, seconds; 0 = only the verdict's own wait.
        journal: file to which calls with effects are written before they start; "" = memory only.
    """

    endpoint: str = _setting("127.0.0.1:4327", _address, "SPANWARD_ENDPOINT")
    spans_endpoint: str = _setting("", _address_or_none, "SPANWARD_SPANS_ENDPOINT")
    service_name: str = _setting("", _text, "OTEL_SERVICE_NAME")
    capture_content: bool = _setting(False, _capture, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")
    hold: Literal["always", "suspect", "never"] = _setting(
        "always", _choice("always", "suspect", "never"), "SPANWARD_HOLD"
    )
    hold_min_ms: float = _setting(50.0, _number(1, 60_000), "SPANWARD_HOLD_MIN_MS")
    hold_max_ms: float = _setting(250.0, _number(1, 60_000), "SPANWARD_HOLD_MAX_MS")
    digest_key: bytes | None = _setting(None, _key, "SPANWARD_DIGEST_KEY")
    http: bool = _setting(True, _flag, "SPANWARD_HTTP")
    locale: str = _setting("en", _text, "SPANWARD_LOCALE")
    disabled: bool = _setting(False, _flag, "SPANWARD_DISABLED", "OTEL_SDK_DISABLED")
    pause_lease_s: float = _setting(1800.0, _number(0.001, 30 * 86_400), "SPANWARD_PAUSE_LEASE_S")
    allowed_directives: frozenset[str] = _setting(DIRECTIVE_KINDS, _kinds, "SPANWARD_ALLOWED_DIRECTIVES")
    allowed_tools: frozenset[str] = _setting(frozenset(), _names, "SPANWARD_ALLOWED_TOOLS")
    exit_class: Literal["exception", "base"] = _setting(
        "exception", _choice("exception", "base"), "SPANWARD_EXIT_CLASS"
    )
    approval_wait_s: float = _setting(0.0, _number(0, 86_400), "SPANWARD_APPROVAL_WAIT_S")
    journal: str = _setting("", _text, "SPANWARD_JOURNAL")

    def __post_init__(self) -> None:
        """Raises ValueError when bounds cross."""
        if self.hold_min_ms > self.hold_max_ms:
            raise ValueError(
                f"hold_min_ms={self.hold_min_ms:g} is above hold_max_ms={self.hold_max_ms:g}: "
                "write SPANWARD_HOLD_MIN_MS <= SPANWARD_HOLD_MAX_MS"
            )

    @property
    def spans_target(self) -> str:
        """Where spans go."""
        return self.spans_endpoint or self.endpoint

    @classmethod
    def from_env(cls, environ: Mapping[str, str] | None = None, /, **overrides: object) -> Settings:
        """Settings from the environment, overridden by arguments; None is no argument.

        Raises:
            ValueError: a value makes no sense; the message names the variable and says what to write.
            TypeError: an argument is no setting.
        """
        environ = os.environ if environ is None else environ
        values: dict[str, object] = {}
        for item in fields(cls):
            variables, parse = item.metadata["variables"], item.metadata["parse"]
            if (given := overrides.pop(item.name, None)) is not None:
                values[item.name] = _checked(item.name, given, parse)
                continue
            for variable in variables:
                if (text := environ.get(variable)) is not None:
                    try:
                        values[item.name] = parse(text)
                    except ValueError as error:
                        raise ValueError(f"{variable}={text!r}: {error}") from None
                    # A flag that is set to off does not hide the next variable of the same setting.
                    if values[item.name] is not False:
                        break
        if overrides:
            names = ", ".join(sorted(item.name for item in fields(cls)))
            raise TypeError(f"instrument_agent() has no setting {sorted(overrides)[0]!r}: there are {names}")
        return cls(**values)  # type: ignore[arg-type]  # each was parsed by its own field


def _checked(name: str, value: object, parse: Callable[[str], Any]) -> object:
    """An argument in the field's own type: it is written as a variable would be, and parsed as one."""
    if isinstance(value, bytes):
        value = value.decode()
    elif isinstance(value, frozenset | set | list | tuple):
        value = ",".join(str(part) for part in value)
    try:
        return parse(str(value))
    except ValueError as error:
        raise ValueError(f"{name}={value!r}: {error}") from None


VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {item.name: item.metadata["variables"] for item in fields(Settings)}
"""Environment variables of every setting, in order of precedence."""
