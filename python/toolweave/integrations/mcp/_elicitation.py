"""Elicitation: questions to the user, of a server and to a client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import mcp_types
from mcp import MCPError

from ..._core import Validator
from ...exceptions import SchemaError, ToolError

if TYPE_CHECKING:
    from mcp.server import ServerRequestContext

    from ...tools import ToolContext

_ANSWER = "answer"


async def answer_elicitation(
    context: ToolContext, params: mcp_types.ElicitRequestParams
) -> mcp_types.ElicitResult | mcp_types.ErrorData:
    """Ask the user a question of a server, and return the answer in the form of the protocol.

    A request to visit a URL becomes a yes-or-no question.
    """
    try:
        if isinstance(params, mcp_types.ElicitRequestURLParams):
            question = f"{params.message}\n{params.url}"
            agreed = await context.ask(question, {"type": "boolean"})
            return mcp_types.ElicitResult(action="accept" if agreed is True else "decline")
        validator = Validator(params.requested_schema)
        answer = await context.ask(params.message, params.requested_schema)
    except SchemaError as err:
        return _invalid(f"the question has a schema that cannot be used: {err}")
    except ToolError:
        return mcp_types.ElicitResult(action="decline")
    if answer is None:
        return mcp_types.ElicitResult(action="cancel")
    if not isinstance(answer, Mapping):
        return _invalid("the answer is no object")
    answer = cast("Mapping[str, Any]", answer)
    if violations := validator.iter_errors(answer):
        return _invalid(f"the answer does not fit: {violations[0].message}")
    return mcp_types.ElicitResult(action="accept", content=dict(answer))


def _invalid(message: str) -> mcp_types.ErrorData:
    return mcp_types.ErrorData(code=mcp_types.INVALID_PARAMS, message=message)


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
    form = (
        answer_schema
        if is_form
        else {"type": "object", "properties": {_ANSWER: answer_schema}, "required": [_ANSWER]}
    )
    try:
        answer = await session.elicit_form(question, form, related_request_id=context.request_id)
    except (MCPError, ValueError):
        return "The user could not be asked", True
    if answer.action != "accept":
        return "The user did not want to answer", True
    content = answer.content or {}
    return (content, False) if is_form else (content.get(_ANSWER), False)
