"""OpenInference: openai, langchain, openai-agents (chat and responses), smolagents and crewai instrumentations."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from spanward_detector.ingest import Attrs, RawSpan
from spanward_detector.model import Kind, Step, ToolCall
from spanward_detector.normalize import langchain
from spanward_detector.normalize import messages as msg
from spanward_detector.normalize.context import TraceContext
from spanward_detector.normalize.messages import Message
from spanward_detector.normalize.reading import Reading, to_steps

DIALECT: Final = "openinference"
SCOPES: Final = ("openinference.",)
MARKERS: Final = ("openinference.span.kind",)

KINDS: Final[Mapping[str, Kind]] = {
    "LLM": Kind.LLM,
    "TOOL": Kind.TOOL,
    "AGENT": Kind.AGENT,
    "GUARDRAIL": Kind.VALIDATION,
    "EVALUATOR": Kind.VALIDATION,
    "DECISION": Kind.DECISION,
}
"""``openinference.span.kind`` -> kind; chains, retrievers, embeddings and rerankers are ``OTHER``."""

_AGENT_KEYS: Final = ("agent.name", "graph.node.id")
_REDACTED: Final = "__REDACTED__"
_FINAL_ANSWER: Final = "final_answer"
_LIMITS: Final = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_SPAN_SUFFIX: Final = ".run"
_CREW_SUFFIX: Final = ".kickoff"

_INPUT: Final = "llm.input_messages."
_OUTPUT: Final = "llm.output_messages."
_CALL = re.compile(r"message\.tool_calls\.(\d+)\.tool_call\.(id|function\.name|function\.arguments)\Z")
_CONTENT = re.compile(r"message\.contents\.(\d+)\.message_content\.text\Z")
_TOOL = re.compile(r"llm\.tools\.(\d+)\.tool\.json_schema\Z")
_MAX_INDEX_DIGITS: Final = 6
_MAX_MANAGED: Final = 8
"""Agents below another one whose names are read."""


def _indexed(attrs: Attrs, keys: Iterable[str], prefix: str) -> list[tuple[int, dict[str, str]]]:
    """Index -> rest of the key -> text, of keys ``prefix<index>.<rest>``; indices may have gaps."""
    found: defaultdict[int, dict[str, str]] = defaultdict(dict)
    for key in keys:
        index, _, rest = key[len(prefix) :].partition(".")
        if index.isdecimal() and len(index) <= _MAX_INDEX_DIGITS and (text := attrs.text(key)) is not None:
            found[int(index)][rest] = text
    return sorted(found.items())


def _message(fields: Mapping[str, str]) -> Message:
    calls: defaultdict[int, dict[str, str]] = defaultdict(dict)
    texts: dict[int, str] = {}
    for key, text in fields.items():
        if (match := _CALL.match(key)) is not None:
            calls[int(match[1])][match[2]] = text
        elif (match := _CONTENT.match(key)) is not None:
            texts[int(match[1])] = text
    content = fields.get("message.content")
    if content is None and texts:
        content = "\n".join(texts[index] for index in sorted(texts))
    ordered = [calls[index] for index in sorted(calls)]
    made = tuple(ToolCall(c.get("id", ""), c.get("function.name", ""), c.get("function.arguments")) for c in ordered)
    role = msg.role_of(fields.get("message.role"))
    return Message(role, content, made, fields.get("message.tool_call_id", ""))


def _messages(attrs: Attrs, keys: list[str], prefix: str) -> list[Message] | None:
    found = [_message(fields) for _, fields in _indexed(attrs, (k for k in keys if k.startswith(prefix)), prefix)]
    return found or None


def _tools(attrs: Attrs, keys: list[str]) -> dict[str, object] | None:
    definitions = [msg.parse(attrs.text(key)) for key in keys if _TOOL.match(key)]
    return msg.declared(definitions) if definitions else None


def _reply(attrs: Attrs, keys: list[str]) -> list[Message] | None:
    reply = _messages(attrs, keys, _OUTPUT)
    output = attrs.text("output.value")
    if reply is None:
        return None if output is None or output == _REDACTED else _raw_reply(msg.parse(output))
    if not reply[-1].calls and not reply[-1].text and output and "invalid_tool_calls" in output:
        reply[-1] = reply[-1]._replace(calls=langchain.invalid_calls(msg.parse(output)))
    return reply


def _raw_reply(output: object) -> list[Message] | None:
    """The reply of a raw chat completion, for instrumentations that flatten nothing."""
    if isinstance(output, Mapping) and isinstance(output.get("choices"), list):
        choices = [choice for choice in output["choices"] if isinstance(choice, Mapping)]
        return [message for choice in choices for message in msg.from_object(choice.get("message"))]
    return msg.from_value(output) if isinstance(output, list) else None


def _finish(attrs: Attrs, output: str | None) -> str:
    stated = attrs.text("llm.finish_reason")
    if stated is not None or output is None or '"finish_reason"' not in output:
        return stated or ""
    value = msg.parse(output)
    try:
        return msg.word(value["choices"][0]["finish_reason"])  # type: ignore[index]
    except (KeyError, IndexError, TypeError):
        return ""


def _llm(span: RawSpan) -> Reading:
    attrs = span.attrs
    keys = [key for key in attrs if key.startswith("llm.")]
    parameters = msg.parse(attrs.text("llm.invocation_parameters"))
    parameters = parameters if isinstance(parameters, Mapping) else {}
    limit = next((parameters[key] for key in _LIMITS if parameters.get(key)), 0)
    reading = Reading(Kind.LLM)
    reading.model = attrs.text("llm.model_name") or msg.word(parameters.get("model"))
    reading.action = reading.model
    reading.request = _messages(attrs, keys, _INPUT)
    reading.reply = _reply(attrs, keys)
    # Only a reply that is there proves that replies are recorded: inputs and outputs are hidden separately.
    reading.content = reading.reply is not None
    reading.finish = _finish(attrs, attrs.text("output.value"))
    reading.tools = _tools(attrs, keys)
    reading.input_tokens = attrs.int("llm.token_count.prompt") or 0
    reading.output_tokens = attrs.int("llm.token_count.completion") or 0
    reading.max_tokens = limit if isinstance(limit, int) else 0
    wanted = parameters.get("response_format")
    reading.json_expected = isinstance(wanted, Mapping) and msg.word(wanted.get("type")).startswith("json")
    return reading


def _kwargs(raw: str) -> str | None:
    """Arguments out of smolagents' envelope ``{"args", "sanitize_inputs_outputs", "kwargs"}``; None when it is none."""
    envelope = msg.parse(raw)
    if not isinstance(envelope, Mapping) or "sanitize_inputs_outputs" not in envelope or "kwargs" not in envelope:
        return None
    positional, named = envelope.get("args"), envelope["kwargs"]
    if not positional:
        return msg.dump(named)
    # Arguments that could not be parsed are passed on as one string, and the tool may even succeed with it.
    if not named and isinstance(positional, list) and len(positional) == 1:
        return msg.dump(positional[0])
    return msg.dump({"args": positional, **(named if isinstance(named, Mapping) else {})})


def _tool(span: RawSpan) -> Reading:
    attrs = span.attrs
    reading = Reading(Kind.TOOL, action=attrs.text("tool.name") or span.name.removesuffix(_SPAN_SUFFIX))
    raw, media = attrs.text("input.value"), attrs.text("input.mime_type")
    if raw is not None and raw != _REDACTED:
        unwrapped = _kwargs(raw)
        reading.arguments = raw if unwrapped is None else unwrapped
        if unwrapped is None and media is None and not isinstance(msg.parse(raw), Mapping):
            # LangChain writes the only argument of a tool bare; its name is completed from the call, if that is known.
            reading.arguments = msg.dump({"input": raw})
            reading.validate = False
            reading.extra = {"bare": raw}
    result = attrs.text("output.value")
    if result is not None and result != _REDACTED:
        reading.result, reading.media_type = result, attrs.text("output.mime_type")
        message = langchain.tool_message(msg.parse(result)) if '"tool_call_id"' in result else None
        if message is not None:
            reading.result, reading.call_id, reading.is_error = message
            reading.media_type = None
    parameters = msg.parse(attrs.text("tool.parameters"))
    if isinstance(parameters, Mapping):
        # smolagents writes the properties alone.
        whole = "properties" in parameters or "type" in parameters
        reading.schema = parameters if whole else {"type": "object", "properties": parameters}
    return reading


def _agent(span: RawSpan) -> Reading:
    attrs = span.attrs
    named = next((name for key in _AGENT_KEYS if (name := attrs.text(key))), None)
    request = _messages(attrs, [k for k in attrs if k.startswith(_INPUT)], _INPUT)
    task = msg.parse(attrs.text("input.value"))
    agent = named or span.name.removesuffix(_SPAN_SUFFIX).removesuffix(_CREW_SUFFIX)
    return Reading(
        Kind.AGENT,
        agent=agent,
        agent_explicit=named is not None,
        action=agent,
        user_input=_task(task) or _crew_task(attrs) or (msg.user_input(request) if request else None),
        answer=_answer(attrs),
        max_steps=attrs.int("smolagents.max_steps") or 0,
        tools=_callable(attrs),
    )


def _callable(attrs: Attrs) -> dict[str, object] | None:
    """Tools and agents that a smolagents agent may call, by name: its model calls do not declare them."""
    named = attrs.value("smolagents.tools_names")
    stated = msg.parse(named) if isinstance(named, str) else named
    tools = [name for name in stated if isinstance(name, str)] if isinstance(stated, list | tuple) else []
    agents = (attrs.text(f"smolagents.managed_agents.{index}.name") for index in range(_MAX_MANAGED))
    return dict.fromkeys([*tools, *(name for name in agents if name)]) or None


def _task(value: object) -> str | None:
    """What an agent was asked: smolagents' ``task``, or the last user message of a graph's state."""
    if isinstance(value, Mapping) and isinstance(value.get("task"), str):
        return str(value["task"])
    state = langchain.conversation(value)
    return msg.user_input(state) if state else None


def _crew_task(attrs: Attrs) -> str | None:
    """What a crew was asked: the description of its first task."""
    tasks = msg.parse(attrs.text("crew_tasks"))
    first = tasks[0] if isinstance(tasks, list) and tasks else None
    return msg.dump(first.get("description")) if isinstance(first, Mapping) else None


def _answer(attrs: Attrs) -> str | None:
    """What an agent answered: the last AI message of a graph's state, CrewAI's ``raw``, or the plain output."""
    text = attrs.text("output.value")
    if text is None or text == _REDACTED:
        return None
    value = msg.parse(text)
    if not isinstance(value, Mapping):
        return text
    if isinstance(value.get("raw"), str):
        return str(value["raw"])
    state = langchain.conversation(value)
    if state is None:
        return text
    return state[-1].text if state and state[-1].role == "assistant" else None


def _graph_step(span: RawSpan) -> Mapping[str, object]:
    metadata = msg.parse(span.attrs.text("metadata"))
    step = metadata.get("langgraph_step") if isinstance(metadata, Mapping) else None
    return {"graph_step": step} if isinstance(step, int) else {}


def read(span: RawSpan) -> Reading:
    """What a span of this dialect says."""
    stated = (span.attrs.text("openinference.span.kind") or "").upper()
    kind = KINDS.get(stated, Kind.OTHER)
    if stated == "CHAIN" and span.parent_id is None:
        kind = Kind.AGENT  # a crew, or a chain that is the whole run
    if kind is Kind.LLM:
        reading = _llm(span)
    elif kind is Kind.TOOL:
        reading = _tool(span)
        if reading.action == _FINAL_ANSWER:
            # smolagents ends a run with this tool: it is the agent's answer, not an act.
            reading = Reading(Kind.DECISION, action=_FINAL_ANSWER, answer=reading.result)
    elif kind is Kind.AGENT:
        reading = _agent(span)
    else:
        reading = Reading(kind, action=span.name)
    if kind is not Kind.AGENT:
        reading.agent = next((name for key in _AGENT_KEYS if (name := span.attrs.text(key))), "")
    reading.conversation_id = span.attrs.text("session.id") or ""
    reading.extra = {**(reading.extra or {}), **_graph_step(span)}
    return reading


def steps(span: RawSpan, ctx: TraceContext) -> list[Step]:
    """Steps of a span of this dialect."""
    return to_steps(span, ctx, DIALECT, read(span))
