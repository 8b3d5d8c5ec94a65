"""Waiting for what people answer, wherever they are asked and wherever the answer comes in."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, cast

from ..protocols import Approval
from ..store import PendingInput

if TYPE_CHECKING:
    from .. import ToolCall
    from ..executor.deferred import Resolution
    from ..store import MessageStore
    from .writer import RunWriter


class PendingAnswers:
    """The answers that one run waits for.

    Args:
        store: Where they come in.
        writer: Where it is written that they are waited for.
    """

    def __init__(self, store: MessageStore, writer: RunWriter) -> None:
        self._store = store
        self._writer = writer
        self._waiting: dict[str, asyncio.Future[Resolution]] = {}

    async def look(self) -> None:
        """Looks what has come in."""
        for key, waiting in list(self._waiting.items()):
            found = await self._store.resolution(key, chat_id=self._writer.chat_id)
            if found is not None and not waiting.done():
                waiting.set_result(found)

    def expect(self, kind: str) -> str:
        """A new key, under which an answer is waited for from now on.

        Args:
            kind: What it is, for people who see the key.
        """
        key = f"{kind}_{uuid.uuid4().hex}"
        self._waiting[key] = asyncio.get_running_loop().create_future()
        return key

    async def of(self, key: str) -> Resolution:
        """Waits for the answer to a key of `expect`."""
        try:
            return await self._waiting[key]
        finally:
            self._waiting.pop(key, None)

    async def approval(self, call: ToolCall) -> Approval:
        """Asks the user of the chat whether a call may run.

        Nobody's answer counts any more once it is no longer waited for.
        """
        key = self.expect("approval")
        writer = self._writer
        awaited = PendingInput(key, "approval", call, writer.run_id)
        answered = False
        try:
            await writer.announce(
                {
                    "kind": "tool_state",
                    "toolCallId": call.id,
                    "state": "awaiting_approval",
                    "key": key,
                },
                awaited,
            )
            found = await self.of(key)
            answered = True
        finally:
            self._waiting.pop(key, None)
            if not answered:
                await asyncio.shield(self._withdraw(key))
        return approval_of(found.value)

    async def _withdraw(self, key: str) -> None:
        value = {"approved": False, "reason": "nobody decided in time"}
        await self._store.resolve(key, value, chat_id=self._writer.chat_id)


def approval_of(value: object) -> Approval:
    """Reads what was answered: anything but a clear yes is a no."""
    if not isinstance(value, dict):
        return Approval.deny()
    fields = cast("dict[str, object]", value)
    given, by = fields.get("reason"), fields.get("decidedBy")
    reason = given if isinstance(given, str) else None
    decided_by = by if isinstance(by, str) else "user"
    if fields.get("approved") is True:
        return Approval.allow(reason, decided_by=decided_by)
    return Approval.deny(reason, decided_by=decided_by)
