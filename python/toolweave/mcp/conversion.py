"""Tools and results of ours, as the protocol has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import mcp_types

from .._core import Validator
from ..exceptions import ResultError
from ..executor.results import to_json_value

if TYPE_CHECKING:
    from .._core import ToolResult
    from ..tools import Tool


def tool_definition(tool: Tool[..., Any]) -> mcp_types.Tool:
    """A tool as it is listed."""
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=_input_schema(tool.contract.parameters),
        output_schema=_output_schema(tool),
        annotations=mcp_types.ToolAnnotations(idempotent_hint=True) if tool.idempotent else None,
    )


def call_result(result: ToolResult, tool: Tool[..., Any] | None) -> mcp_types.CallToolResult:
    """A result as it is sent: its text, and the object that it is, if it is one."""
    content: list[mcp_types.ContentBlock] = [mcp_types.TextContent(text=result.result)]
    if result.is_error:
        return mcp_types.CallToolResult(content=content, is_error=True)
    value = _json_value(result.value)
    announced = None if tool is None else _output_schema(tool)
    # Clients refuse an answer without the object that was announced, and say less about it.
    if announced is not None and (fault := _schema_violation(announced, value)) is not None:
        message = f"Tool {result.name!r} returned what does not fit its own schema: {fault}"
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(text=message)], is_error=True
        )
    if not isinstance(value, dict):
        return mcp_types.CallToolResult(content=content)
    return mcp_types.CallToolResult(content=content, structured_content=value)


def _input_schema(parameters: dict[str, Any] | None) -> dict[str, Any]:
    """The schema as every version of the protocol takes it: `object`, and no boolean schemas."""
    schema = {**(parameters or {}), "type": "object"}
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        schema["properties"] = {
            name: _as_object_schema(value)
            for name, value in cast("Mapping[str, Any]", properties).items()
        }
    return schema


def _as_object_schema(schema: Any) -> Any:
    if schema is True:
        return {}
    return {"not": {}} if schema is False else schema


def _output_schema(tool: Tool[..., Any]) -> dict[str, Any] | None:
    """What the tool says that it returns, where that is an object."""
    returns = tool.contract.returns
    return returns if isinstance(returns, dict) and returns.get("type") == "object" else None


def _schema_violation(schema: dict[str, Any], value: Any) -> str | None:
    violations = Validator(schema).iter_errors(value)
    return violations[0].message if violations else None


def _json_value(value: object) -> Any:
    try:
        return to_json_value(value)
    except ResultError:
        return None
