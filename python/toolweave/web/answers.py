"""What people answer: approvals, answers to questions, and results that come later."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..kinds import Outcome

if TYPE_CHECKING:
    from ..store import MessageStore, StoredPendingInput
    from .late_results import LateResultPublisher
    from .runs import ChatRuns

_log = logging.getLogger("toolweave.web")


@dataclass(frozen=True)
class AnswerOutcome:
    """What became of an answer."""

    outcome: Outcome
    """Whether it counts."""
    run_id: str | None = None
    """The run that goes on by it; it may be over by now."""


class AnswerResolver:
    """Takes answers, and wakes who waits for them.

    Args:
        store: Where they come in.
        late: Who tells of results that come later.
        runs: Who may wait for them, and goes on when the last result has come.
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
        """Takes an answer. Only the first one counts.

        Args:
            chat_id: The chat.
            key: What is answered.
            value: The answer: JSON values.
            is_error: Whether it says that the call failed.
            user_id: The user that answers, whose limits count for what goes on by that.

        Raises:
            ValidationError: It does not fit the question; an answer is awaited still.
        """
        waiting = {each.key: each for each in await self._store.pending(chat_id)}
        value = await self._with_decider(chat_id, key, value, waiting.get(key), user_id)
        outcome = await self._store.resolve(key, value, chat_id=chat_id, is_error=is_error)
        _log.info(
            "an answer has come", extra={"chat_id": chat_id, "key": key, "outcome": outcome.value}
        )
        awaited = waiting.get(key)
        if outcome is not Outcome.RESOLVED or awaited is None:
            return AnswerOutcome(outcome)
        if awaited.pending_kind == "deferred":
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
        """A decision with the user that made it; any other answer as it is."""
        if not isinstance(value, dict):
            return value
        decision = cast("dict[str, Any]", value)
        if awaited is not None:
            if awaited.pending_kind == "approval" and user_id is not None:
                return {**decision, "decidedBy": user_id}
            return decision
        # The same decision once more is no other one, whoever makes it.
        known = await self._store.resolution(key, chat_id=chat_id)
        if known is None or not isinstance(known.value, dict):
            return decision
        earlier = cast("dict[str, Any]", known.value)  # pyright: ignore[reportUnknownMemberType]
        return {**decision, **{name: earlier[name] for name in ("decidedBy",) if name in earlier}}

    async def pending_kind(self, chat_id: str, key: str) -> str | None:
        """What is awaited under a key: ``approval``, ``question`` or ``deferred``."""
        for each in await self._store.pending(chat_id):
            if each.key == key:
                return each.pending_kind
        return None
