"""Input of users: messages and answers, each accepted once, however often it is sent."""

from __future__ import annotations

import logging
import uuid
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._core import TextMessage
from ..exceptions import StoreError
from ..kinds import Outcome, Role
from ._bodies import is_id
from ._errors import HttpError

if TYPE_CHECKING:
    from .._messages import Message
    from ..store import MessageStore, RunRecord, StoredPendingInput
    from ._limits import WebLimits
    from ._runs import ChatRuns
    from ._security import Client

_log = logging.getLogger("toolweave.web")


class Submission(NamedTuple):
    """The result of submitting a message."""

    run: RunRecord
    """The run that answers the message."""
    message_id: str | None
    """Id of the message; None if the run continues from the history."""


class AnswerOutcome(NamedTuple):
    """The result of resolving an answer."""

    outcome: Outcome
    """Outcome of the answer, such as resolved or duplicate."""
    run_id: str | None = None
    """Id of the run that continues with the answer; it may have ended by now."""


class UserInput:
    """Delivery of users' messages and answers to the store and to the runs of this process.

    Args:
        store: The store that holds the chats.
        runs: The runs of this process.
        limits: The limits of the server, with the length of a message.
    """

    def __init__(self, store: MessageStore, runs: ChatRuns, limits: WebLimits) -> None:
        self._store = store
        self._runs = runs
        self._limits = limits

    # Messages.

    async def submit(
        self, chat_id: str, text: str | None, message_id: str | None, client: Client
    ) -> Submission:
        """Add a user's message to a chat, and start the run that answers it.

        Args:
            chat_id: Id of the chat.
            text: Text of the message; None to continue from the history.
            message_id: Id that the client chose; submitting it again returns the same result.
            client: The client, whose limits count.

        Raises:
            ChatBusyError: A run is active in the chat.
            HttpError: The message is invalid, or there are too many runs.
        """
        messages: tuple[Message, ...] = ()
        if text is None:
            chat = await self._store.chat(chat_id)
            if chat is None or not chat.last_message:
                raise HttpError(409, "nothing_said", "The chat has no messages to answer yet.")
            message_id = None
        else:
            self._check(text, message_id)
            if message_id is None:
                message_id = uuid.uuid4().hex
            elif (earlier := await self._find_submission(chat_id, text, message_id)) is not None:
                return earlier
            messages = (TextMessage(text, role=Role.USER, id=message_id),)
        try:
            run = await self._runs.start(
                chat_id, messages, client.user_id, quota_key=client.quota_key
            )
        except StoreError:
            if text is None or message_id is None:
                raise
            # A concurrent request may have submitted the same message.
            earlier = await self._find_submission(chat_id, text, message_id)
            if earlier is None:
                raise
            return earlier
        return Submission(run, message_id)

    def _check(self, text: str, message_id: str | None) -> None:
        if not text.strip():
            raise HttpError(400, "nothing_said", "`text` must not be empty.")
        if len(text.encode()) > self._limits.max_message_bytes:
            raise HttpError(
                413,
                "too_long",
                f"A message must have at most {self._limits.max_message_bytes} bytes.",
            )
        if message_id is not None and not is_id(message_id):
            raise HttpError(400, "wrong_id", "The id of the message is invalid.")

    async def _find_submission(self, chat_id: str, text: str, message_id: str) -> Submission | None:
        """Return the result of submitting this message earlier; None if it is new."""
        stored = await self._store.message(chat_id, message_id)
        if stored is None:
            return None
        run = None if stored.run_id is None else await self._store.run(stored.run_id)
        message = stored.message
        if run is None or not isinstance(message, TextMessage) or message.text != text:
            raise HttpError(409, "id_taken", f"Another message already has the id {message_id!r}.")
        return Submission(run, message_id)

    # Answers.

    async def awaited(self, chat_id: str, key: str) -> StoredPendingInput | None:
        """Return what waits for the answer to a key; None if nothing does."""
        pending = await self._store.pending(chat_id)
        return next((each for each in pending if each.key == key), None)

    async def resolve(
        self,
        chat_id: str,
        key: str,
        value: Any,
        awaited: StoredPendingInput | None,
        user_id: str | None,
        *,
        is_error: bool = False,
    ) -> AnswerOutcome:
        """Deliver an answer. Only the first answer to a key counts.

        Args:
            chat_id: Id of the chat.
            key: Key of the approval, question or deferred result.
            value: The answer, a JSON value.
            awaited: The result of `awaited`.
            user_id: Id of the user, who also owns a run that this answer starts.
            is_error: True if the answer says that the call failed.

        Raises:
            ValidationError: The answer does not match the question's schema; the question stays
                open.
        """
        value = await self._with_decider(chat_id, key, value, awaited, user_id)
        last_event = await self._store.last_event(chat_id)
        outcome = await self._store.resolve(key, value, chat_id=chat_id, is_error=is_error)
        _log.info(
            "an answer was received",
            extra={"chat_id": chat_id, "key": key, "outcome": outcome.value},
        )
        if outcome is not Outcome.RESOLVED or awaited is None:
            return AnswerOutcome(outcome)
        if awaited.kind == "deferred":
            await self._runs.publish_late_results(chat_id, [awaited.call.id])
            run_id = await self._runs.resume(chat_id, user_id, none_since=last_event)
            return AnswerOutcome(outcome, run_id)
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
        made = cast("dict[str, Any]", value)
        if awaited is not None:
            if awaited.kind == "approval" and user_id is not None:
                return {**made, "decidedBy": user_id}
            return made
        # The same decision again is a duplicate, even if another user makes it.
        known = await self._store.resolution(key, chat_id=chat_id)
        if known is None or not isinstance(known.value, dict):
            return made
        earlier = cast("dict[str, Any]", known.value)  # pyright: ignore[reportUnknownMemberType]
        return {**made, **{name: earlier[name] for name in ("decidedBy",) if name in earlier}}


def decision(approved: bool, reason: str | None) -> dict[str, object]:
    """Return the answer that approves or denies a call."""
    return {"approved": approved, **({} if reason is None else {"reason": reason})}
