"""Chats of users: requests are authenticated, and users see only their own chats."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from chat_servers import (
    QUICK,
    all_events,
    finished,
    lines,
    new_chat,
    on_a_server,
    say,
    serve,
    serve_agent,
)
from toolweave import Agent, Message
from toolweave.store import Chat, MessageStore
from toolweave.web import AgentResponder, Turn, chat_app

ANN, BOB = {"authorization": "Bearer ann-secret"}, {"authorization": "Bearer bob-secret"}


def user_of(request: Request) -> str | None:
    """Return the user of a token."""
    return {"Bearer ann-secret": "ann", "Bearer bob-secret": "bob"}.get(
        request.headers.get("authorization", "")
    )


async def user_of_async(request: Request) -> str | None:
    await asyncio.sleep(0)
    return user_of(request)


async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
    return "Yes."


@pytest.mark.parametrize("authenticate", [user_of, user_of_async])
@on_a_server
async def test_chats_of_other_users_are_not_found(tmp_path: Path, authenticate: Any) -> None:
    async with serve_agent(tmp_path, Agent(model), authenticate=authenticate) as client:
        client.headers.update(ANN)
        chat = await new_chat(client)
        accepted = await say(client, chat, "Well?")
        await finished(client, chat, accepted["runId"])
        run = accepted["runId"]
        requests: list[tuple[str, str]] = [
            ("GET", chat),
            ("DELETE", chat),
            ("GET", f"{chat}/messages"),
            ("POST", f"{chat}/messages"),
            ("GET", f"{chat}/export"),
            ("GET", f"{chat}/events"),
            ("GET", f"{chat}/stream"),
            ("GET", f"/ai-sdk{chat.replace('chats', 'chat')}/stream"),
            ("POST", f"{chat}/runs/{run}/stop"),
            ("POST", f"{chat}/answers/key"),
        ]
        for method, path in requests:
            received: list[tuple[int, bytes]] = []
            # Another user's chat, and one that never existed.
            for place in (path, path.replace(chat, "/chats/none")):
                answer = await client.request(method, place, json={}, headers=BOB)
                received.append((answer.status_code, answer.content))
            assert received[0] == received[1]
            # `useChat` resumes chats before they exist.
            assert received[0][0] == (204 if path.endswith("/stream") else 404)
            anonymous = await client.request(method, path, json={}, headers={"authorization": "x"})
            assert anonymous.status_code == 401
        chats_of_ann, chats_of_bob = [
            (await client.get("/chats", headers=each)).json()["chats"] for each in (ANN, BOB)
        ]
        assert [each["chatId"] for each in chats_of_ann] == [chat.rpartition("/")[2]]
        assert chats_of_bob == []


@on_a_server
async def test_the_responder_gets_the_user(tmp_path: Path) -> None:
    turns: list[Turn] = []

    def agent(turn: Turn) -> Agent:
        turns.append(turn)
        return Agent(model)

    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}")
    app = chat_app(store, AgentResponder(agent), authenticate=user_of, limits=QUICK)
    async with serve(app) as client:
        client.headers.update(ANN)
        chat = await new_chat(client)
        accepted = await say(client, chat, "Well?")
        await finished(client, chat, accepted["runId"])
    [turn] = turns
    assert (turn.user_id, turn.run_id) == ("ann", accepted["runId"])
    assert turn.chat_id == chat.rpartition("/")[2]


@on_a_server
async def test_a_failing_hook_rejects_the_request(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(request: Request) -> str | None:
        raise RuntimeError(request.headers["authorization"])

    with caplog.at_level(logging.CRITICAL, "toolweave.web"):
        async with serve_agent(tmp_path, Agent(model), authenticate=fails) as client:
            answer = await client.get("/chats", headers=ANN)
            assert answer.status_code == 500
            assert "secret" not in answer.text
            assert (await client.get("/healthz")).status_code == 200


@on_a_server
async def test_logs_have_no_messages_and_no_credentials(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def look(place: str) -> str:  # noqa: ARG001
        return "the-result"

    async def says(messages: Sequence[Message]) -> str:
        return "the-answer" if len(messages) > 2 else '<look>{"place": "the-place"}</look>'

    with caplog.at_level(logging.DEBUG, "toolweave"):
        async with serve_agent(tmp_path, Agent(says, [look]), authenticate=user_of) as client:
            client.headers.update(ANN)
            chat = await new_chat(client)
            accepted = await say(client, chat, "the-question")
            await finished(client, chat, accepted["runId"])
            await client.post(f"{chat}/answers/k", json={"result": "the-reply"})
    records = [
        f"{record.getMessage()} {vars(record)}"
        for record in caplog.records
        if record.name.startswith("toolweave")
    ]
    assert any(accepted["runId"] in record for record in records)
    for secret in ("secret", "the-question", "the-answer", "the-place", "the-result", "the-reply"):
        assert not [record for record in records if secret in record], secret


@on_a_server
async def test_a_chat_can_be_exported_and_deleted(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model)) as client:
        made = await client.post("/chats", json={"chatId": "mine", "metadata": {"topic": "tea"}})
        assert (made.status_code, made.headers["location"]) == (201, "/chats/mine")
        accepted = await say(client, "/chats/mine", "Well?")
        await finished(client, "/chats/mine", accepted["runId"])
        shown = (await client.get("/chats/mine")).json()
        assert (shown["chatId"], shown["metadata"]) == ("mine", {"topic": "tea"})
        export = await client.get("/chats/mine/export")
        assert export.headers["content-type"] == "application/x-ndjson"
        kinds = [json.loads(line)["type"] for line in export.text.splitlines()]
        assert kinds[0] == "chat"
        assert {"message", "event", "run"} <= set(kinds)
        assert (await client.delete("/chats/mine")).status_code == 204
        assert (await client.get("/chats/mine")).status_code == 404
        assert (await client.get("/chats")).json() == {"chats": []}


@on_a_server
async def test_chats_are_listed_newest_first_page_by_page(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model)) as client:
        made = [(await new_chat(client)).rpartition("/")[2] for _ in range(5)]
        listed: list[str] = []
        before = ""
        while page := (await client.get(f"/chats?limit=2{before}")).json()["chats"]:
            listed += [each["chatId"] for each in page]
            before = f"&before={listed[-1]}"
        assert sorted(listed) == sorted(made)
        assert len(listed) == 5


@on_a_server
async def test_followers_of_a_deleted_chat_get_no_events_of_a_new_chat_with_its_id(
    tmp_path: Path,
) -> None:
    url = f"sqlite:///{tmp_path / 'chats.db'}"
    async with (
        serve_agent(tmp_path, Agent(model), authenticate=user_of) as client,
        MessageStore(url) as elsewhere,
    ):
        client.headers.update(ANN)
        chat = await new_chat(client)
        chat_id = chat.rpartition("/")[2]
        await elsewhere.write(chat_id, events=[{"kind": "raw", "delta": "Ann's"}])
        received: list[str] = []
        async with client.stream("GET", f"{chat}/events?follow=1") as response:
            async for line in lines(response):
                received.append(line.data)
                # Changes of another process, which this one has to detect.
                await elsewhere.delete_chat(chat_id)
                await elsewhere.create_chat(chat_id, user_id="bob")
                for delta in ("Bob's", "Bob's, too"):
                    await elsewhere.write(chat_id, events=[{"kind": "raw", "delta": delta}])
        assert len(received) == 1
        client.headers.update(BOB)
        assert len(await all_events(client, chat)) == 2


@on_a_server
async def test_unexpected_exceptions_are_answered_like_other_errors(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(MessageStore):
        async def chats(self, **_: object) -> list[Chat]:
            raise RuntimeError("secret")

    store = Broken(f"sqlite:///{tmp_path / 'chats.db'}")
    with caplog.at_level(logging.CRITICAL, "toolweave.web"):
        async with serve(chat_app(store, AgentResponder(Agent(model)), limits=QUICK)) as client:
            answer = await client.get("/chats")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "failed")
    assert "secret" not in answer.text
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"
