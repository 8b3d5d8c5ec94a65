"""Titles of chats, for lists of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..store import Chat, MessageStore

MAX_LENGTH = 60
"""Maximum length of a title that is made from a message, in characters."""


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
