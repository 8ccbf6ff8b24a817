"""Cases of ``schema_violation``."""

from spanward_detector.model import ToolCall

from tests.detectors.script import Case

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "flag": {"type": "boolean"}},
    "required": ["n"],
    "additionalProperties": False,
}
FIRES = (
    Case(
        "a boolean is not an integer",
        lambda s: s.tool(arguments='{"n": true}', schema=SCHEMA, error="TypeError"),
        (1,),
        "error",
    ),
    Case(
        "an invented parameter",
        lambda s: s.tool(arguments='{"n": 1, "SECRET": 2}', schema=SCHEMA, error="TypeError"),
        (1,),
    ),
    Case(
        "at the model's reply",
        lambda s: s.llm(calls=[ToolCall("c", "f", '{"n": "x"}', "schema")]),
        (1,),
        "warning",
        {"tool": "f"},
    ),
    Case("the tool is lenient", lambda s: s.tool(arguments='{"n": "1"}', schema=SCHEMA), (1,), "info", mode="observe"),
    Case(
        "the validator's words",
        lambda s: s.tool(error="ToolError", text="x Input should be a valid integer"),
        (1,),
        "error",
    ),
)
QUIET = (
    Case("as declared", lambda s: s.tool(arguments='{"n": 1}', schema=SCHEMA)),
    Case("no schema is known", lambda s: s.tool(arguments='{"n": "x"}')),
    Case(
        "malformed is invalid_arguments", lambda s: s.tool(arguments='{"n": ', schema=SCHEMA, error="JSONDecodeError")
    ),
)
