"""Titles of chats, for lists of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..store import Chat, MessageStore

LONGEST = 60
"""The length of a title that is made of a text, in characters."""


async def titles(store: MessageStore, chats: Sequence[Chat]) -> dict[str, str]:
    """The titles of chats by id: the `title` in their metadata, or else what was said first.

    Args:
        store: The store that holds the chats.
        chats: The chats. One in which nobody has said anything may have none.
    """
    own = {chat.chat_id: _own(chat.metadata) for chat in chats}
    said = await store.previews([chat_id for chat_id, title in own.items() if not title])
    found = {chat_id: title or title_from(said.get(chat_id, "")) for chat_id, title in own.items()}
    return {chat_id: title for chat_id, title in found.items() if title}


def title_from(text: str) -> str:
    """The first words of a text, on one line."""
    line = " ".join(text.split())
    if len(line) <= LONGEST:
        return line
    cut = line[:LONGEST]
    return f"{cut[: max(cut.rfind(' '), LONGEST // 2)].rstrip()} …"


def _own(metadata: Mapping[str, Any]) -> str:
    title = metadata.get("title")
    return " ".join(title.split()) if isinstance(title, str) else ""
