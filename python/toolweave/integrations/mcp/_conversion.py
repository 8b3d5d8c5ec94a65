"""Conversion of tools and results, to MCP types and from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import mcp_types

from ..._core import Validator
from ...exceptions import ResultError, ToolFailed
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


def tool_output(name: str, result: mcp_types.CallToolResult, output: Validator | None) -> Any:
    """Return the value of a call.

    This is the structured content, if there is any, and otherwise the text of all parts. Images,
    audio and links are replaced by a line that describes them, since models read text.

    Args:
        name: Name of the tool, for messages.
        result: Result of the call.
        output: Validator of structured content.

    Raises:
        ToolFailed: The tool reported an error, or its result violates its schema.
    """
    text = "\n".join(_text(part) for part in result.content)
    if result.is_error:
        raise ToolFailed(text or f"Tool {name!r} failed without saying why")
    structured = result.structured_content
    if output is None:
        return text if structured is None else structured
    try:
        violations = output.iter_errors(structured)
    except (TypeError, ValueError) as err:
        raise ToolFailed(f"Tool {name!r} returned what its own schema cannot judge: {err}") from err
    if violations:
        raise ToolFailed(
            f"Tool {name!r} returned what does not fit its own schema: {violations[0].message}"
        )
    return structured


def unwrap_result(schema: Mapping[str, Any], value: Any) -> Any:
    """Return a value without the object that older versions of the protocol wrap it in.

    In those, a result must be an object, so SDKs write 5 as ``{"result": 5}``, with a schema that
    has only this property.
    """
    wraps = list(object_fields(schema.get("properties"))) == ["result"]
    fields = object_fields(value)
    return fields["result"] if wraps and list(fields) == ["result"] else value


def object_fields(value: object) -> Mapping[str, Any]:
    """Return the fields of a JSON object; an empty mapping for any other value."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _text(part: mcp_types.ContentBlock) -> str:
    match part:
        case mcp_types.TextContent():
            return part.text
        case mcp_types.ImageContent():
            return f"[image: {part.mime_type}, {_size(part.data)}]"
        case mcp_types.AudioContent():
            return f"[audio: {part.mime_type}, {_size(part.data)}]"
        case mcp_types.ResourceLink():
            described = f" {json.dumps(part.description)}" if part.description else ""
            return f"[resource: {part.uri}{described}]"
        case mcp_types.EmbeddedResource():
            resource = part.resource
            if isinstance(resource, mcp_types.TextResourceContents):
                return resource.text
            kind = resource.mime_type or "application/octet-stream"
            return f"[resource: {resource.uri}, {kind}, {_size(resource.blob)}]"


def _size(base64: str) -> str:
    return f"{len(base64) * 3 // 4 - base64[-2:].count('=')} bytes"
