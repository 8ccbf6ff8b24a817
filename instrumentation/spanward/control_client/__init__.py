"""The agent's end of the control stream: tells of runs, calls and outcomes, brings verdicts and directives."""

from spanward.control_client.client import ControlClient

__all__ = ["ControlClient"]
