"""Messages of users, each accepted once, however often it is sent."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._core import TextMessage
from ..exceptions import StoreError
from ..kinds import Role
from ._bodies import is_id
from ._errors import HttpError

if TYPE_CHECKING:
    from ..store import MessageStore
    from ._limits import WebLimits
    from ._runs import ChatRuns


@dataclass(frozen=True)
class Submission:
    """The result of submitting a message."""

    run_id: str
    """Id of the run that answers the message."""
    message_id: str | None
    """Id of the message; None if the run continues from the history."""
    sequence_number: int
    """Sequence number of the run's first event."""


class MessageSubmitter:
    """Submission of users' messages to chats.

    Args:
        store: The store that holds the chats.
        runs: The runs of this process.
        limits: The limits of the server, with the length of a message.
    """

    def __init__(self, store: MessageStore, runs: ChatRuns, limits: WebLimits) -> None:
        self._store = store
        self._runs = runs
        self._limits = limits

    async def submit(
        self,
        chat_id: str,
        text: str | None,
        message_id: str | None,
        user_id: str | None,
        *,
        quota_key: str,
    ) -> Submission:
        """Add a user's message to a chat, and start the run that answers it.

        Args:
            chat_id: Id of the chat.
            text: Text of the message; None to continue from the history.
            message_id: Id that the client chose; submitting it again returns the same result.
            user_id: Id of the user.
            quota_key: The key whose limits count.

        Raises:
            ChatBusyError: A run is active in the chat.
            HttpError: The message is invalid, or there are too many runs.
        """
        if text is None:
            chat = await self._store.chat(chat_id)
            if chat is None or not chat.last_message:
                raise HttpError(400, "nothing_said", "The chat has no messages to answer yet.")
            started = await self._runs.start(chat_id, (), user_id, quota_key=quota_key)
            return Submission(started.run_id, None, started.sequence_number)
        self.check(text, message_id)
        if message_id is None:
            message_id = uuid.uuid4().hex
        elif (earlier := await self._find_submission(chat_id, text, message_id)) is not None:
            return earlier
        message = TextMessage(text, role=Role.USER, id=message_id)
        try:
            started = await self._runs.start(chat_id, (message,), user_id, quota_key=quota_key)
        except StoreError:
            # A concurrent request may have submitted the same message.
            earlier = await self._find_submission(chat_id, text, message_id)
            if earlier is None:
                raise
            return earlier
        return Submission(started.run_id, message_id, started.sequence_number)

    def check(self, text: str, message_id: str | None) -> None:
        """Validate a message.

        Raises:
            HttpError: The text is empty or too long, or the id is invalid.
        """
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
        return Submission(run.run_id, message_id, run.first_event)
