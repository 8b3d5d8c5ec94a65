"""What a tool of ours asks the user, put to the user by the client (elicitation)."""

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
    """The answer, and whether it is a refusal.

    The protocol asks for forms: an object. Any other answer is the one field of a form.

    Args:
        context: The request of the client that the tool serves.
        question: What the tool wants to know.
        schema: What the answer has to fit.
    """
    session = context.session
    wanted = mcp_types.ClientCapabilities(elicitation=mcp_types.ElicitationCapability())
    if not session.can_send_request or not session.check_client_capability(wanted):
        return "The user cannot be asked over this connection", True
    asked = dict(schema or {"type": "string"})
    whole = asked.get("type") == "object"
    form = asked if whole else _form(asked)
    try:
        answer = await session.elicit_form(question, form, related_request_id=context.request_id)
    except (MCPError, ValueError):
        return "The user could not be asked", True
    if answer.action != "accept":
        return "The user did not want to answer", True
    content = answer.content or {}
    return (content, False) if whole else (content.get(_ANSWER), False)


def _form(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {_ANSWER: schema}, "required": [_ANSWER]}
