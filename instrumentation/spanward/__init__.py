"""Spanward watches LLM agents through OpenTelemetry and steers them while they run.

    from spanward import instrument_agent, run, tool

    instrument_agent()

    @tool(side_effect="read", timeout=10)
    def query_weather(city: str) -> str: ...

    with run("weather-bot", input=question): ...

Importing this package imports nothing else: each name is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from spanward.context import bind as bind
    from spanward.context import current_run as current_run
    from spanward.errors import AgentPaused as AgentPaused
    from spanward.errors import AgentTerminated as AgentTerminated
    from spanward.errors import CallInterrupted as CallInterrupted
    from spanward.errors import ToolTimeout as ToolTimeout
    from spanward.instrument import instrument_agent as instrument_agent
    from spanward.instrument import shutdown as shutdown
    from spanward.scopes import run as run
    from spanward.scopes import step as step
    from spanward.tools import tool as tool

_HOME: Final = {
    "AgentPaused": "errors",
    "AgentTerminated": "errors",
    "CallInterrupted": "errors",
    "ToolTimeout": "errors",
    "bind": "context",
    "current_run": "context",
    "instrument_agent": "instrument",
    "run": "scopes",
    "shutdown": "instrument",
    "step": "scopes",
    "tool": "tools",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module 'spanward' has no attribute {name!r}")
    value = getattr(import_module(f"spanward.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
