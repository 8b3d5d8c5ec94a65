"""Raw text: if the responder enables it, the model's text is emitted before it is parsed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from chat_servers import (
    QUICK,
    all_events,
    finished,
    new_chat,
    on_a_server,
    say,
    serve,
    text_of,
)
from toolweave import Agent, Message, StreamReducer
from toolweave.store import MessageStore
from toolweave.web import AgentResponder, Turn, chat_app

CALL = '<add>\n{"a": 2, "b": 3,}\n</add>'


async def add(a: int, b: int) -> int:
    return a + b


async def model(messages: Sequence[Message]) -> AsyncIterator[str]:
    if "</tool_response>" in getattr(messages[-1], "text", ""):
        yield "It is 5."
    else:
        for piece in ("Let me", " see. ", CALL[:9], CALL[9:]):
            yield piece


@pytest.mark.parametrize("raw_text", [True, False])
@on_a_server
async def test_an_agent_emits_the_raw_text_of_each_reply(tmp_path: Path, raw_text: bool) -> None:
    agent = Agent(model, [add])

    def agent_of(_: Turn) -> Agent:
        return agent

    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    responder = AgentResponder(agent if raw_text else agent_of, raw_text=raw_text)
    async with serve(chat_app(store, responder, limits=QUICK)) as client:
        chat = await new_chat(client)
        run = await say(client, chat, "What is 2 + 3?")
        assert (await finished(client, chat, run["runId"]))["stopReason"] == "completed"
        received = await all_events(client, chat)
    reducer = StreamReducer()
    for event in received:
        reducer.push(event)
    snapshot = reducer.snapshot()
    raw = [each["text"] for each in snapshot["raw"]]
    assert raw == (["Let me see. " + CALL, "It is 5."] if raw_text else [])
    assert text_of(received) == "Let me see. It is 5."
    [call] = [call for each in snapshot["messages"] for call in each.get("toolCalls", ())]
    assert (call["state"], call["result"]) == ("success", "5")


def test_wrapping_the_model_does_not_change_the_agent() -> None:
    async def loud(_: Sequence[Message]) -> str:
        return "HELLO"

    async def quiet(_: Sequence[Message]) -> str:
        return "hello"

    agent, other = Agent(quiet, [add]), Agent(loud)
    seen: list[object] = []
    other.wrap_model(lambda model: seen.append(model) or model)
    [inner] = seen
    wrapped = agent.wrap_model(lambda _: inner)
    assert wrapped.run_sync("Hi").text == "HELLO"
    assert agent.run_sync("Hi").text == "hello"
    assert wrapped.toolset is agent.toolset
