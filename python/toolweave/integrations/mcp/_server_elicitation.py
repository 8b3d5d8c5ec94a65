"""Elicitation by the server: questions of tools, sent to the user through the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import mcp_types
from mcp import MCPError

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

_ANSWER = "answer"


async def elicit_from_client(
    context: ServerRequestContext[Any, Any], question: str, schema: Mapping[str, Any] | None
) -> tuple[Any, bool]:
    """Ask the user a question, and return the answer; the flag is true for a refusal.

    The protocol requires a form, which is an object. For any other schema, the answer is the only
    field of a form.

    Args:
        context: Request of the client for the call of the tool.
        question: Question of the tool.
        schema: JSON Schema of the answer.
    """
    session = context.session
    wanted = mcp_types.ClientCapabilities(elicitation=mcp_types.ElicitationCapability())
    if not session.can_send_request or not session.check_client_capability(wanted):
        return "The user cannot be asked over this connection", True
    answer_schema = dict(schema or {"type": "string"})
    is_form = answer_schema.get("type") == "object"
    form = answer_schema if is_form else _form(answer_schema)
    try:
        answer = await session.elicit_form(question, form, related_request_id=context.request_id)
    except (MCPError, ValueError):
        return "The user could not be asked", True
    if answer.action != "accept":
        return "The user did not want to answer", True
    content = answer.content or {}
    return (content, False) if is_form else (content.get(_ANSWER), False)


def _form(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {_ANSWER: schema}, "required": [_ANSWER]}
