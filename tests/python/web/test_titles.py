"""Titles of chats: those that clients set, or else the first message."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from chat_servers import new_chat, on_a_server, say, serve_agent, until
from toolweave import Agent, Role, TextMessage
from toolweave.store import MessageStore
from toolweave.store._chats import MAX_PREVIEW_CHARS, preview_of
from toolweave.testing import ScriptedModel
from toolweave.web._user_chats import MAX_LENGTH, title_from, titles

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200)


async def listed(client: Any) -> dict[str, str | None]:
    chats = (await client.get("/chats")).json()["chats"]
    return {each["chatId"]: each.get("title") for each in chats}


@on_a_server
async def test_a_chat_without_a_title_is_titled_by_its_first_message(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(ScriptedModel("Cold.", "Warm."))) as client:
        chat = await new_chat(client)
        chat_id = chat.removeprefix("/chats/")
        assert await listed(client) == {chat_id: None}
        for text in ("How is the weather\nin Oslo?", "And in Rome?"):
            run = await say(client, chat, text)
            await until(client, chat, "run", runId=run["runId"], status="finished")
        assert await listed(client) == {chat_id: "How is the weather in Oslo?"}
        assert (await client.get(chat)).json()["title"] == "How is the weather in Oslo?"
        named = await client.post("/chats", json={"chatId": "c2", "metadata": {"title": "Tea"}})
        assert named.status_code == 201
        assert (await listed(client))["c2"] == "Tea"


@given(texts, st.sampled_from(["", " and so on" * 1000]), st.booleans())
def test_any_text_is_the_title_of_its_chat(text: str, more: str, ascii_only: bool) -> None:
    fields = TextMessage(text + more, role=Role.USER, id="m").to_dict()
    beginning = json.dumps(fields, ensure_ascii=ascii_only)[:MAX_PREVIEW_CHARS]
    assert title_from(preview_of(beginning)) == title_from(text + more)


@given(st.text(max_size=20))
def test_the_preview_of_a_damaged_message_raises_nothing(text: str) -> None:
    assert isinstance(preview_of(text), str)
    assert isinstance(preview_of(f'{{"text": "{text}'), str)


def test_the_first_text_of_a_user_counts_in_every_chat_that_has_one() -> None:
    async def main() -> None:
        async with MessageStore("sqlite://") as store:
            hello = TextMessage("Hello!", role=Role.ASSISTANT)
            for chat_id, texts in (("a", ["One", "Two"]), ("b", []), ("c", ['"Three\\"'])):
                await store.create_chat(chat_id)
                messages = [TextMessage(text, role=Role.USER) for text in texts]
                await store.write(chat_id, messages=[hello, *messages])
            assert await store.previews(["a", "b", "c", "none"]) == {"a": "One", "c": '"Three\\"'}
            assert await store.previews([]) == {}
            assert await titles(store, await store.chats()) == {"a": "One", "c": '"Three\\"'}

    asyncio.run(main())


@given(texts)
def test_a_title_is_one_short_line_of_the_text_s_first_words(text: str) -> None:
    title = title_from(text)
    assert len(title) <= MAX_LENGTH + 2
    assert title == " ".join(title.split())
    words = " ".join(text.split())
    assert words.startswith(title.removesuffix(" …"))
    assert bool(title) == bool(words)
