"""Questions to the model about invalid outputs: users see none, and the next turn has them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from calculator_scenes import ENTER
from chat_servers import QUICK, all_events, new_chat, on_a_server, say, serve
from coroutine_tests import on_a_loop
from encoded_runs import encode
from output_types import City
from toolweave import Agent, SceneManager, TextMessage
from toolweave.kinds import Role
from toolweave.lifecycle import StreamEventMapper
from toolweave.store import MessageStore
from toolweave.summary import Summarizer
from toolweave.testing import ScriptedModel
from toolweave.web import AgentResponder, SceneResponder, chat_app
from toolweave.web.encoders import AgUiEncoder, AiSdkEncoder

OSLO = '{"name": "Oslo"}'
WRONG = '{"people": "many"}'
QUESTION = "/name: missing"


def made(kind: str, model: ScriptedModel) -> Agent[None, City] | SceneManager[City]:
    if kind == "agent":
        return Agent(model, output_type=City)
    manager = SceneManager(model, output_type=City)
    manager.scene("Calculator")
    return manager


def responder_of(kind: str, model: ScriptedModel) -> AgentResponder | SceneResponder:
    found = made(kind, model)
    return AgentResponder(found) if isinstance(found, Agent) else SceneResponder(found)


@pytest.mark.parametrize("kind", ["agent", "scenes"])
@on_a_server
async def test_only_what_the_user_wrote_is_a_message_of_the_user(kind: str, tmp_path: Path) -> None:
    enter = [] if kind == "agent" else [ENTER]
    model = ScriptedModel(*enter, WRONG, OSLO, *enter, WRONG, OSLO)
    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    async with serve(chat_app(store, responder_of(kind, model), limits=QUICK)) as client:
        chat = await new_chat(client)
        for text in ("Where?", "And now?"):
            await say(client, chat, text)
            received = await all_events(client, chat)
        asked = [each for each in received if each.get("role") == "user"]
        assert [each["delta"] for each in asked] == ["Where?", "And now?"]
        assert QUESTION not in json.dumps(received)
        everything = (await client.get(f"{chat}/messages")).json()["messages"]
        texts = [each["message"]["text"] for each in everything if "text" in each["message"]]
        shown = [OSLO] if kind == "agent" else [WRONG, OSLO]
        assert texts == ["Where?", *shown, "And now?", *shown]
        assert kind == "scenes" or "many" not in json.dumps(received)
        # Pages are as long as the client asks for, without gaps or repetitions.
        pages: list[Any] = []
        while True:
            after = pages[-1]["sequenceNumber"] if pages else 0
            url = f"{chat}/messages?limit=2&after={after}"
            page = (await client.get(url)).json()["messages"]
            if not page:
                break
            pages += page
            assert len(page) == 2 or pages == everything
        assert pages == everything
    # The model reads the whole conversation.
    seen = [m.text for m in model.requests[-1].messages if isinstance(m, TextMessage)]
    assert [QUESTION in text for text in seen].count(True) == 2


@pytest.mark.parametrize("kind", ["agent", "scenes"])
def test_protocols_for_clients_have_no_question(kind: str) -> None:
    async def events() -> list[Any]:
        mapper = StreamEventMapper("chat", "run")
        enter = [] if kind == "agent" else [ENTER]
        started = mapper.run_started()
        async with made(kind, ScriptedModel(*enter, WRONG, OSLO)).open("Where?") as run:
            async for event in run:
                started += mapper.map(event, generation_id=run.generation_id)
        assert any(message.metadata for message in run.finished_messages)
        return [*started, *mapper.run_finished()]

    found = asyncio.run(events())
    for encoder in (AiSdkEncoder(), AgUiEncoder(history=[])):
        text = json.dumps(encode(encoder, found))
        assert "Oslo" in text
        assert QUESTION not in text
        assert kind == "scenes" or "many" not in text


@on_a_loop
async def test_a_summary_keeps_what_the_user_asked_and_not_the_question() -> None:
    model = ScriptedModel(WRONG, OSLO)
    result = await Agent(model, output_type=City).run("Where is the capital?")
    writer = ScriptedModel("They want a capital.")
    shortened = await Summarizer(writer, max_messages=2, keep=0).shorten(result.messages)
    assert shortened is not None
    kept = [
        m.text for m in shortened.messages if isinstance(m, TextMessage) and m.role is Role.USER
    ]
    assert kept == ["Where is the capital?"]
    asked = str(writer.requests[0].messages)
    assert QUESTION not in asked
    assert "many" not in asked
