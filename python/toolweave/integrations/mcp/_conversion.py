"""Conversion of tools and results to MCP types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import mcp_types

from ..._core import Validator
from ...exceptions import ResultError
from ...executor._results import to_json_value

if TYPE_CHECKING:
    from ..._core import ToolResult
    from ...tools import Tool


def tool_definition(tool: Tool[..., Any]) -> mcp_types.Tool:
    """Return the definition of a tool for listings."""
    return mcp_types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=_input_schema(tool.contract.parameters),
        output_schema=_output_schema(tool),
        annotations=mcp_types.ToolAnnotations(idempotent_hint=True) if tool.idempotent else None,
    )


def call_result(result: ToolResult, tool: Tool[..., Any] | None) -> mcp_types.CallToolResult:
    """Return a result as MCP content: its text, and its value if that is an object."""
    content: list[mcp_types.ContentBlock] = [mcp_types.TextContent(text=result.result)]
    if result.is_error:
        return mcp_types.CallToolResult(content=content, is_error=True)
    value = _json_value(result.value)
    schema = None if tool is None else _output_schema(tool)
    # Clients reject results that violate the output schema, with a less specific error.
    if schema is not None and (violation := _schema_violation(schema, value)) is not None:
        message = f"Tool {result.name!r} returned what does not fit its own schema: {violation}"
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(text=message)], is_error=True
        )
    if not isinstance(value, dict):
        return mcp_types.CallToolResult(content=content)
    return mcp_types.CallToolResult(content=content, structured_content=value)


def _input_schema(parameters: dict[str, Any] | None) -> dict[str, Any]:
    """Return the schema for all versions of the protocol: `object`, without boolean schemas."""
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
    """Return the output schema of a tool if that is an object."""
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
