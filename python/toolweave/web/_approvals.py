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

import asyncio
import uuid
from contextvars import ContextVar
from typing import TYPE_CHECKING, cast

from .._checks import check_type
from .._core import FunctionContract, ToolCall
from ..protocols import Approval
from ..store import PendingInput

if TYPE_CHECKING:
    from ..executor._deferred import Resolution
    from ..store import MessageStore
    from ._writer import RunWriter


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


class PendingAnswers:
    """The answers that one run waits for.

    Args:
        store: The store that answers are delivered to.
        writer: The writer that records what the run waits for.
    """

    def __init__(self, store: MessageStore, writer: RunWriter) -> None:
        self._store = store
        self._writer = writer
        self._futures: dict[str, asyncio.Future[Resolution]] = {}

    async def poll(self) -> None:
        """Deliver answers that the store has received."""
        for key, future in list(self._futures.items()):
            found = await self._store.resolution(key, chat_id=self._writer.record.chat_id)
            if found is not None and not future.done():
                future.set_result(found)

    def register(self, kind: str) -> str:
        """Return a new key, and wait for an answer to it from now on.

        Args:
            kind: The prefix of the key, for people who see it.
        """
        key = f"{kind}_{uuid.uuid4().hex}"
        self._futures[key] = asyncio.get_running_loop().create_future()
        return key

    async def wait_for(self, key: str) -> Resolution:
        """Return the answer to a key of `register`, as soon as there is one."""
        try:
            return await self._futures[key]
        finally:
            self._futures.pop(key, None)

    async def request_approval(self, call: ToolCall) -> Approval:
        """Ask the user of the chat to approve a call.

        If the caller stops waiting, the request is denied, so that later answers have no effect.
        """
        key = self.register("approval")
        writer = self._writer
        awaited = PendingInput(key, "approval", call, writer.record.run_id)
        try:
            await writer.publish_pending(
                {
                    "kind": "tool_state",
                    "toolCallId": call.id,
                    "state": "awaiting_approval",
                    "key": key,
                },
                awaited,
            )
            answer = await self.wait_for(key)
        except BaseException:
            self._futures.pop(key, None)
            await asyncio.shield(self._withdraw(key))
            raise
        return approval_of(answer.value)

    async def _withdraw(self, key: str) -> None:
        value = {"approved": False, "reason": "nobody decided in time"}
        await self._store.resolve(key, value, chat_id=self._writer.record.chat_id)


def approval_of(value: object) -> Approval:
    """Return the decision that an answer makes: approved only if it says so explicitly."""
    if not isinstance(value, dict):
        return Approval.deny()
    fields = cast("dict[str, object]", value)
    reason, decided_by = fields.get("reason"), fields.get("decidedBy")
    reason = reason if isinstance(reason, str) else None
    decided_by = decided_by if isinstance(decided_by, str) else "user"
    if fields.get("approved") is True:
        return Approval.allow(reason, decided_by=decided_by)
    return Approval.deny(reason, decided_by=decided_by)


CURRENT_ANSWERS: ContextVar[PendingAnswers | None] = ContextVar(
    "toolweave_web_answers", default=None
)
"""Pending answers of the run that the current task belongs to."""
