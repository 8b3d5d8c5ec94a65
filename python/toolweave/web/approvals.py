"""Asking in the chat itself whether a call may run.

Example:
    >>> @tool(requires_approval=True)
    ... def delete(path: str) -> str:
    ...     return f"{path} is gone"
    >>> async def model(messages: Sequence[Message]) -> str:
    ...     return '<delete>{"path": "notes.txt"}</delete>'
    >>> agent = Agent(model, [delete], approver=ask_in_chat)
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

from .._checks import check_type
from .._core import FunctionContract, ToolCall
from ..protocols import Approval

if TYPE_CHECKING:
    from .pending_answers import PendingAnswers

CURRENT_ANSWERS: ContextVar[PendingAnswers | None] = ContextVar("toolweave_web_answers", default=None)
"""The answers that the run waits for which this code is part of."""


async def ask_in_chat(call: ToolCall, contract: FunctionContract) -> Approval:
    """Asks the user of the chat, and waits for ``POST /chats/{id}/answers/{key}``.

    An `Approver` for agents that answer in chats. The answer may come in at any process that shares
    the store. Outside of a chat nobody can be asked, so the call is not allowed.

    Args:
        call: The call.
        contract: The tool's contract.
    """
    check_type("call", call, ToolCall, "a ToolCall")
    check_type("contract", contract, FunctionContract, "a FunctionContract")
    answers = CURRENT_ANSWERS.get()
    if answers is None:
        return Approval.deny("there is nobody to ask, as this is not a chat")
    return await answers.approval(call)
