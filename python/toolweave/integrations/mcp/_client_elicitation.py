"""Elicitation in the client: questions of a server, sent to the user through the running tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import mcp_types

from ..._core import Validator
from ...exceptions import SchemaError, ToolError

if TYPE_CHECKING:
    from ...tools import ToolContext


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
