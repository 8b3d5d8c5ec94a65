"""What a user says: taken once, however often it is sent."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._core import TextMessage
from ..exceptions import StoreError
from ..kinds import Role
from .bodies import is_id
from .errors import HttpError

if TYPE_CHECKING:
    from ..store import MessageStore
    from .limits import WebLimits
    from .runs import ChatRuns


@dataclass(frozen=True)
class Submission:
    """What became of a message."""

    run_id: str
    """The run that answers it."""
    message_id: str | None
    """Its id; None where nothing was said."""
    sequence_number: int
    """The number of the first event of the run."""


class MessageSubmitter:
    """Takes what users say.

    Args:
        store: Where it is kept.
        runs: Who answers.
        limits: How long it may be.
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
        """Says something in a chat, which starts a run.

        Args:
            chat_id: The chat.
            text: What is said; None to go on with the history.
            message_id: The id that the client gave it. The same one again gets the same answer.
            user_id: Who says it.
            payer: Whose limits count.

        Raises:
            ChatBusyError: A run is going on in the chat.
            Refused: It cannot be said.
        """
        if text is None:
            chat = await self._store.chat(chat_id)
            if chat is None or not chat.last_message:
                raise HttpError(400, "nothing_said", "There is nothing to answer in this chat yet.")
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
            # Perhaps the same message came twice at once, and is being answered, or was.
            earlier = await self._find_submission(chat_id, text, message_id)
            if earlier is None:
                raise
            return earlier
        return Submission(started.run_id, message_id, started.sequence_number)

    def check(self, text: str, message_id: str | None) -> None:
        """Looks whether something can be said.

        Raises:
            Refused: It cannot.
        """
        if not text.strip():
            raise HttpError(400, "nothing_said", "`text` has to say something.")
        if len(text.encode()) > self._limits.max_message_bytes:
            raise HttpError(
                413, "too_long", f"A message has at most {self._limits.max_message_bytes} bytes."
            )
        if message_id is not None and not is_id(message_id):
            raise HttpError(400, "wrong_id", "The id of the message cannot be one.")

    async def _find_submission(self, chat_id: str, text: str, message_id: str) -> Submission | None:
        """What became of a message that was sent before."""
        stored = await self._store.message(chat_id, message_id)
        if stored is None:
            return None
        run = None if stored.run_id is None else await self._store.run(stored.run_id)
        message = stored.message
        if run is None or not isinstance(message, TextMessage) or message.text != text:
            raise HttpError(
                409, "id_taken", f"There is another message with the id {message_id!r}."
            )
        return Submission(run.run_id, message_id, run.first_event)
