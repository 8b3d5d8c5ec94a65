"""Answers of clients: approvals, answers to questions, and deferred results."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..kinds import Outcome

if TYPE_CHECKING:
    from ..store import MessageStore, StoredPendingInput
    from ._late_results import LateResultPublisher
    from ._runs import ChatRuns

_log = logging.getLogger("toolweave.web")


@dataclass(frozen=True)
class AnswerOutcome:
    """The result of resolving an answer."""

    outcome: Outcome
    """Outcome of the answer, such as resolved or duplicate."""
    run_id: str | None = None
    """Id of the run that continues with the answer; it may have ended by now."""


class AnswerResolver:
    """Delivery of answers to the store and to the runs that wait for them.

    Args:
        store: The store that answers are delivered to.
        late_results: The publisher of late results.
        runs: The runs of this process.
    """

    def __init__(
        self, store: MessageStore, late_results: LateResultPublisher, runs: ChatRuns
    ) -> None:
        self._store = store
        self._late_results = late_results
        self._runs = runs

    async def resolve(
        self, chat_id: str, key: str, value: Any, *, is_error: bool, user_id: str | None
    ) -> AnswerOutcome:
        """Deliver an answer. Only the first answer to a key counts.

        Args:
            chat_id: Id of the chat.
            key: Key of the approval, question or deferred result.
            value: The answer, a JSON value.
            is_error: True if the answer says that the call failed.
            user_id: Id of the user, who also owns a run that this answer starts.

        Raises:
            ValidationError: The answer does not match the question's schema; the question stays
                open.
        """
        waiting = {each.key: each for each in await self._store.pending(chat_id)}
        value = await self._with_decider(chat_id, key, value, waiting.get(key), user_id)
        outcome = await self._store.resolve(key, value, chat_id=chat_id, is_error=is_error)
        _log.info(
            "an answer was received",
            extra={"chat_id": chat_id, "key": key, "outcome": outcome.value},
        )
        awaited = waiting.get(key)
        if outcome is not Outcome.RESOLVED or awaited is None:
            return AnswerOutcome(outcome)
        if awaited.kind == "deferred":
            await self._late_results.publish(chat_id, [awaited.call.id])
            return AnswerOutcome(outcome, await self._runs.resume(chat_id, user_id))
        await self._runs.poll(chat_id)
        return AnswerOutcome(outcome, awaited.run_id)

    async def _with_decider(
        self,
        chat_id: str,
        key: str,
        value: Any,
        awaited: StoredPendingInput | None,
        user_id: str | None,
    ) -> Any:
        """Return a decision with the user who made it; any other answer unchanged."""
        if not isinstance(value, dict):
            return value
        decision = cast("dict[str, Any]", value)
        if awaited is not None:
            if awaited.kind == "approval" and user_id is not None:
                return {**decision, "decidedBy": user_id}
            return decision
        # The same decision again is a duplicate, even if another user makes it.
        known = await self._store.resolution(key, chat_id=chat_id)
        if known is None or not isinstance(known.value, dict):
            return decision
        earlier = cast("dict[str, Any]", known.value)  # pyright: ignore[reportUnknownMemberType]
        return {**decision, **{name: earlier[name] for name in ("decidedBy",) if name in earlier}}

    async def pending_kind(self, chat_id: str, key: str) -> str | None:
        """Return the kind that a key waits for: ``approval``, ``question`` or ``deferred``."""
        for each in await self._store.pending(chat_id):
            if each.key == key:
                return each.kind
        return None
