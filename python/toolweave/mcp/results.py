"""What a server's tool answered, as a result of ours."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import mcp_types

from ..exceptions import ToolFailed

if TYPE_CHECKING:
    from .._core import Validator


def tool_output(name: str, result: mcp_types.CallToolResult, output: Validator | None) -> Any:
    """What the call returns.

    Structured content where there is any, otherwise the text of all parts. Models read text: in
    the place of an image, a recording or a link stands a line that says what it is.

    Args:
        name: The tool, for messages.
        result: The answer.
        output: What structured content is held to.

    Raises:
        ToolFailed: The tool says that it failed, or what it says does not fit its schema.
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
    """A value without the object that the protocol's older versions wrap it in.

    There a result has to be an object, so SDKs write 5 as ``{"result": 5}``, with a schema that
    has this one property.
    """
    wraps = list(object_fields(schema.get("properties"))) == ["result"]
    fields = object_fields(value)
    return fields["result"] if wraps and list(fields) == ["result"] else value


def object_fields(value: object) -> Mapping[str, Any]:
    """The fields of a JSON object; none of anything else."""
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
