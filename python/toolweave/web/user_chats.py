"""Chats by the ids that their users know them by.

Clients may choose the ids of chats, so two users may choose the same one. Who chooses second gets a
chat of that name as well: nobody learns of another's chats by naming them. In the store such a chat
has an id that holds its owner too; on the wire it never shows.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from ..exceptions import StoreError
from .bodies import is_id
from .errors import HttpError, unknown_chat

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..store import Chat, MessageStore
    from .limits import WebLimits

# Clients cannot name such an id: it holds what none of theirs may.
_OWNER_SUFFIX = re.compile(r"//[0-9a-f]{32}\Z")


def public_id(chat_id: str) -> str:
    """The id of a chat as its user knows it.

    Example:
        >>> shown_id("my-chat"), shown_id("my-chat//00112233445566778899aabbccddeeff")
        ('my-chat', 'my-chat')
    """
    return _OWNER_SUFFIX.sub("", chat_id)


def with_public_id(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """An event or a message, with the id of its chat as the user knows it."""
    chat_id = fields.get("chatId")
    if not isinstance(chat_id, str) or (known := public_id(chat_id)) == chat_id:
        return fields
    return {**fields, "chatId": known}


def _owned_id(chat_id: str, user: str) -> str:
    owner = hashlib.blake2b(user.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{chat_id}//{owner}"


class UserChats:
    """Finds and makes the chats of users.

    Args:
        store: Where they are.
        limits: How many there may be.
    """

    def __init__(self, store: MessageStore, limits: WebLimits) -> None:
        self._store = store
        self._limits = limits

    async def find(self, chat_id: str, user: str | None) -> Chat:
        """A chat of a user's.

        Raises:
            Refused: There is none.
        """
        found = await self._find(chat_id, user) if is_id(chat_id) else None
        if found is None:
            raise unknown_chat()
        return found

    async def create(
        self, chat_id: str | None, user: str | None, metadata: Mapping[str, Any] | None = None
    ) -> Chat:
        """A new chat.

        Raises:
            ChatLimitError: The user has as many as they may have.
            Refused: The user has one with that id.
        """
        if chat_id is None:
            return await self._create(None, user, metadata)
        if user is not None and await self._find(chat_id, user) is not None:
            raise _id_taken()
        created = await self._claim(chat_id, user, metadata)
        if created is None and user is not None:
            created = await self._claim(_owned_id(chat_id, user), user, metadata)
        if created is None:
            raise _id_taken()
        return created

    async def _claim(
        self, chat_id: str, user: str | None, metadata: Mapping[str, Any] | None
    ) -> Chat | None:
        """A new chat; None if there is another's with that id in the store."""
        try:
            return await self._create(chat_id, user, metadata)
        except StoreError:
            existing = await self._store.chat(chat_id)
            if existing is None:
                raise
            if user is not None and existing.user_id == user:
                raise _id_taken() from None
            return None

    async def get_or_create(self, chat_id: str, user: str | None, *, allow_create: bool) -> Chat:
        """A chat of a user's, which is made if it is not there.

        Args:
            chat_id: The chat.
            user: Whose it is.
            make: Whether it may be made.

        Raises:
            ChatLimitError: The user has as many as they may have.
            Refused: There is none, and none is made.
        """
        if not is_id(chat_id):
            raise HttpError(400, "wrong_id", "The id of the chat cannot be one.")
        found = await self._find(chat_id, user)
        if found is not None:
            return found
        if not allow_create:
            raise unknown_chat()
        try:
            return await self.create(chat_id, user)
        except HttpError:
            # Another request has made it meanwhile.
            return await self.find(chat_id, user)

    async def _find(self, chat_id: str, user: str | None) -> Chat | None:
        found = await self._store.chat(chat_id)
        if user is None or (found is not None and found.user_id == user):
            return found
        # Asked whether or not there is another's: it takes as long.
        return await self._store.chat(_owned_id(chat_id, user))

    async def _create(
        self, chat_id: str | None, user: str | None, metadata: Mapping[str, Any] | None
    ) -> Chat:
        return await self._store.create_chat(
            chat_id, user_id=user, metadata=metadata, max_chats=self._limits.chats_per_user
        )


def _id_taken() -> HttpError:
    return HttpError(409, "id_taken", "There is a chat with this id.")
