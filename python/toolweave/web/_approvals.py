"""Approval of calls by the user of the chat.

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
    from ._pending_answers import PendingAnswers

CURRENT_ANSWERS: ContextVar[PendingAnswers | None] = ContextVar(
    "toolweave_web_answers", default=None
)
"""Pending answers of the run that the current task belongs to."""


async def ask_in_chat(call: ToolCall, contract: FunctionContract) -> Approval:
    """Ask the user of the chat, and wait for ``POST /chats/{id}/answers/{key}``.

    An `Approver` for agents that answer in chats. Any process that shares the store can receive the
    answer. Outside of a chat there is no user to ask, so the call is denied.

    Args:
        call: The call that needs approval.
        contract: The tool's contract.
    """
    check_type("call", call, ToolCall, "a ToolCall")
    check_type("contract", contract, FunctionContract, "a FunctionContract")
    answers = CURRENT_ANSWERS.get()
    if answers is None:
        return Approval.deny("there is nobody to ask, as this is not a chat")
    return await answers.request_approval(call)
