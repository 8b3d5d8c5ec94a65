"""Chats of users, by their public ids.

Clients may choose the ids of chats, so two users can choose the same one. Both get a chat with that
id, so users cannot find out about the chats of others by trying ids. In the store, the id of the
second chat has a suffix with a digest of its owner; clients never see it.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from ..exceptions import StoreError
from ._bodies import is_id
from ._errors import HttpError, unknown_chat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..store import Chat, MessageStore
    from ._limits import WebLimits

MAX_LENGTH = 60
"""Maximum length of a title that is made from a message, in characters."""

# Clients cannot send such an id: valid ids have no slash.
_OWNER_SUFFIX = re.compile(r"//[0-9a-f]{32}\Z")


def public_id(chat_id: str) -> str:
    """Return the id of a chat without the suffix of its owner.

    Example:
        >>> public_id("my-chat"), public_id("my-chat//00112233445566778899aabbccddeeff")
        ('my-chat', 'my-chat')
    """
    return _OWNER_SUFFIX.sub("", chat_id)


def with_public_id(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event or a message with the public id of its chat."""
    chat_id = fields.get("chatId")
    if not isinstance(chat_id, str) or (known := public_id(chat_id)) == chat_id:
        return fields
    return {**fields, "chatId": known}


def _owned_id(chat_id: str, user: str) -> str:
    owner = hashlib.blake2b(user.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return f"{chat_id}//{owner}"


class UserChats:
    """The chats that users can access.

    Args:
        store: The store that holds the chats.
        limits: The limits of the server, with the number of chats per user.
    """

    def __init__(self, store: MessageStore, limits: WebLimits) -> None:
        self._store = store
        self._limits = limits

    async def find(self, chat_id: str, user: str | None) -> Chat:
        """Return a chat of the user.

        Raises:
            HttpError: The user has no chat with that id.
        """
        found = await self._find(chat_id, user) if is_id(chat_id) else None
        if found is None:
            raise unknown_chat()
        return found

    async def find_optional(self, chat_id: str, user: str | None) -> Chat | None:
        """Return a chat of the user; None if the user has no chat with that id.

        Raises:
            HttpError: The id is invalid.
        """
        if not is_id(chat_id):
            raise HttpError(400, "wrong_id", "The id of the chat is invalid.")
        return await self._find(chat_id, user)

    async def create(
        self, chat_id: str | None, user: str | None, metadata: Mapping[str, Any] | None = None
    ) -> Chat:
        """Create a chat.

        Raises:
            ChatLimitError: The user has the maximum number of chats.
            HttpError: The user has a chat with that id already.
        """
        if chat_id is not None and user is not None and await self._find(chat_id, user) is not None:
            raise _id_taken()
        created = await self._claim(chat_id, user, metadata)
        if created is None and chat_id is not None and user is not None:
            created = await self._claim(_owned_id(chat_id, user), user, metadata)
        if created is None:
            raise _id_taken()
        return created

    async def _claim(
        self, chat_id: str | None, user: str | None, metadata: Mapping[str, Any] | None
    ) -> Chat | None:
        """Create a chat; return None if another user's chat has that id in the store."""
        try:
            return await self._store.create_chat(
                chat_id, user_id=user, metadata=metadata, max_chats=self._limits.chats_per_user
            )
        except StoreError:
            existing = None if chat_id is None else await self._store.chat(chat_id)
            if existing is None:
                raise
            if user is not None and existing.user_id == user:
                raise _id_taken() from None
            return None

    async def get_or_create(self, chat_id: str, user: str | None, *, allow_create: bool) -> Chat:
        """Return a chat of the user, and create it if necessary.

        Args:
            chat_id: Id of the chat.
            user: Id of the user.
            allow_create: True to create the chat if it does not exist.

        Raises:
            ChatLimitError: The user has the maximum number of chats.
            HttpError: The chat does not exist and must not be created, or its id is invalid.
        """
        found = await self.find_optional(chat_id, user)
        if found is not None:
            return found
        if not allow_create:
            raise unknown_chat()
        try:
            return await self.create(chat_id, user)
        except HttpError:
            # Another request has created it meanwhile.
            return await self.find(chat_id, user)

    async def _find(self, chat_id: str, user: str | None) -> Chat | None:
        found = await self._store.chat(chat_id)
        if user is None or (found is not None and found.user_id == user):
            return found
        # Queried even if no other user has a chat with this id, so that the timing is the same.
        return await self._store.chat(_owned_id(chat_id, user))


def _id_taken() -> HttpError:
    return HttpError(409, "id_taken", "A chat with this id already exists.")


async def titles(store: MessageStore, chats: Sequence[Chat]) -> dict[str, str]:
    """Return the titles of chats by id: the `title` in their metadata, or else the first message.

    Args:
        store: The store that holds the chats.
        chats: The chats. A chat without messages and without a `title` is omitted.
    """
    own_titles = {chat.chat_id: _own_title(chat.metadata) for chat in chats}
    openings = await store.previews([chat_id for chat_id, title in own_titles.items() if not title])
    found = {
        chat_id: title or title_from(openings.get(chat_id, ""))
        for chat_id, title in own_titles.items()
    }
    return {chat_id: title for chat_id, title in found.items() if title}


def title_from(text: str) -> str:
    """Return the first words of a text, on one line."""
    line = " ".join(text.split())
    if len(line) <= MAX_LENGTH:
        return line
    cut = line[:MAX_LENGTH]
    return f"{cut[: max(cut.rfind(' '), MAX_LENGTH // 2)].rstrip()} …"


def _own_title(metadata: Mapping[str, Any]) -> str:
    title = metadata.get("title")
    return " ".join(title.split()) if isinstance(title, str) else ""
