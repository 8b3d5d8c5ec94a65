"""Conversion of the results of a server's tools to values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import mcp_types

from ...exceptions import ToolFailed

if TYPE_CHECKING:
    from ..._core import Validator


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
