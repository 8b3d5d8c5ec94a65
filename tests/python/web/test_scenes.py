"""Scenes over HTTP: calls and results are published once, in the reply that they belong to."""

from __future__ import annotations

from pathlib import Path

from chat_servers import QUICK, all_events, new_chat, on_a_server, say, serve
from toolweave import SceneManager
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.web import SceneResponder, chat_app


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@on_a_server
async def test_each_result_is_published_once_after_its_call_and_in_its_reply(
    tmp_path: Path,
) -> None:
    model = ScriptedModel(
        "<Maths/>",
        '<add>{"a": 1, "b": 2}</add>',
        '<add>{"a": 3, "b": 4}</add>',
        "3, then 7.",
    )
    manager = SceneManager(model)
    manager.scene("Maths", "Works with numbers").tool(add)
    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    async with serve(chat_app(store, SceneResponder(manager), limits=QUICK)) as client:
        chat = await new_chat(client)
        await say(client, chat, "1 + 2, and 3 + 4?")
        received = await all_events(client, chat)
    steps = [
        (event["kind"], event.get("result"), event["messageId"].partition(".")[0])
        for event in received
        if event["kind"] in ("tools_call", "tool_result")
    ]
    assert [step[:2] for step in steps] == [
        ("tools_call", None),
        ("tool_result", "3"),
        ("tools_call", None),
        ("tool_result", "7"),
    ]
    assert steps[0][2] == steps[1][2] != steps[2][2] == steps[3][2]
    assert received[-1]["stopReason"] == "completed"


@on_a_server
async def test_scenes_forget_a_chat_that_is_deleted(tmp_path: Path) -> None:
    model = ScriptedModel("<Talk/>", "I see.", "<Talk/>", "Who are you?")
    manager = SceneManager(model)
    manager.scene("Talk", "Talks")
    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    async with serve(chat_app(store, SceneResponder(manager), limits=QUICK)) as client:
        for text in ("My name is Ada.", "What is my name?"):
            made = await client.post("/chats", json={"chatId": "same"})
            assert made.status_code == 201
            await say(client, "/chats/same", text)
            assert (await all_events(client, "/chats/same"))[-1]["stopReason"] == "completed"
            assert (await client.delete("/chats/same")).status_code == 204
    last = model.requests[-1]
    assert "What is my name?" in str(last.messages)
    assert "Ada" not in str(last.messages)
