"""Ids of chats: they reveal nothing about chats of other users, whose number is limited."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request

from chat_servers import on_a_server, serve, serve_agent
from effort import effort
from stored_runs import with_store
from toolweave import Agent, ChatLimitError, Message
from toolweave.store import MessageStore
from toolweave.web import AgentResponder, WebLimits, chat_app

LIMITS = WebLimits(batch=0.005, shutdown_grace=0.0, requests=None, chats_per_user=3)


def user(request: Request) -> str | None:
    return request.headers.get("x-user")


async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
    return "Yes."


def ai_sdk(chat: str, number: int = 0) -> dict[str, Any]:
    parts = [{"type": "text", "text": "Hi"}]
    return {"id": chat, "messages": [{"id": f"a{number}", "role": "user", "parts": parts}]}


def ag_ui(chat: str, number: int = 0) -> dict[str, Any]:
    message = {"id": f"g{number}", "role": "user", "content": "Hi"}
    return {"threadId": chat, "runId": "mine", "messages": [message]}


REQUESTS: dict[str, tuple[str, str, Any]] = {
    "make": ("POST", "/chats", lambda chat: {"chatId": chat, "metadata": {"of": "mine"}}),
    "list": ("GET", "/chats", None),
    "list before": ("GET", "/chats?before={chat}", None),
    "show": ("GET", "/chats/{chat}", None),
    "delete": ("DELETE", "/chats/{chat}", None),
    "messages": ("GET", "/chats/{chat}/messages", None),
    "say": ("POST", "/chats/{chat}/messages", lambda _: {"text": "Well?", "messageId": "m"}),
    "go on": ("POST", "/chats/{chat}/messages", lambda _: {}),
    "events": ("GET", "/chats/{chat}/events", None),
    "events of AG-UI": ("GET", "/chats/{chat}/events?format=ag-ui", None),
    "stream": ("GET", "/chats/{chat}/stream", None),
    "export": ("GET", "/chats/{chat}/export", None),
    "stop": ("POST", "/chats/{chat}/runs/r/stop", lambda _: {}),
    "answer": ("POST", "/chats/{chat}/answers/k", lambda _: {"result": 1}),
    "useChat": ("POST", "/ai-sdk/chat", ai_sdk),
    "useChat resumes": ("GET", "/ai-sdk/chat/{chat}/stream", None),
    "AG-UI": ("POST", "/ag-ui", ag_ui),
}
"""Requests of all routes that take the id of a chat."""


def test_the_law_knows_all_routes() -> None:
    app = chat_app(MessageStore("sqlite://"), AgentResponder(Agent(model)))
    known = {(method, re.sub(r"\?.*", "", path)) for method, path, _ in REQUESTS.values()}
    known = {(method, path.replace("{chat}", "{chat_id}")) for method, path in known}
    known = {(m, p.replace("runs/r/", "runs/{run_id}/")) for m, p in known}
    known = {(m, p.replace("answers/k", "answers/{key:path}")) for m, p in known}
    routes = {
        (method, route.path)  # type: ignore[attr-defined]
        for route in app.routes
        for method in route.methods - {"HEAD"}  # type: ignore[attr-defined]
    }
    assert known == routes - {("GET", "/healthz"), ("GET", "/openapi.json")}


async def responses_to(
    client: httpx.AsyncClient, user_id: str, chat: str, requests: Sequence[str]
) -> list[str]:
    """Return the responses to a user's requests about a chat, without random parts."""
    texts: list[str] = []
    for each in requests:
        method, path, body = REQUESTS[each]
        answer = await client.request(
            method,
            path.format(chat=chat),
            json=None if body is None else body(chat),
            headers={"x-user": user_id},
        )
        if method == "POST" and answer.status_code in (200, 202):
            # Wait for the end of the run.
            await client.get(f"/chats/{chat}/events", headers={"x-user": user_id})
        text = f"{each}: {answer.status_code} {dict(answer.headers)} {answer.text}"
        text = re.sub(r"'(date|content-length)': '[^']*'", "", text)
        ids = list(dict.fromkeys(re.findall(r"(?<![0-9a-f])[0-9a-f]{32}", text)))
        for position, found in enumerate(ids):
            text = text.replace(found, f"ID-{position}")
        text = re.sub(r"\d\d\d\d-\d\d-\d\dT[0-9:.+]*|\b\d{13}\b", "TIME", text)
        texts.append(text.replace(chat, "CHAT").replace(user_id, "WHO"))
    return texts


def test_the_id_of_another_users_chat_is_answered_like_a_free_id(tmp_path: Path) -> None:
    numbers = iter(range(1000, 10_000))

    async def main(examples: list[list[str]]) -> None:
        async with serve_agent(tmp_path, Agent(model), authenticate=user, limits=LIMITS) as client:
            for requests in examples:
                number = next(numbers)
                taken, free = f"chat-t-{number}", f"chat-f-{number}"
                ann = {"x-user": f"ann-{number}"}
                created = await client.post("/chats", json={"chatId": taken}, headers=ann)
                assert created.status_code == 201
                before = (await client.get(f"/chats/{taken}", headers=ann)).text
                assert await responses_to(
                    client, f"bob-t-{number}", taken, requests
                ) == await responses_to(client, f"bob-f-{number}", free, requests)
                # Ann's chat is unchanged.
                assert (await client.get(f"/chats/{taken}", headers=ann)).text == before

    @settings(max_examples=effort(3))
    @given(
        st.lists(st.lists(st.sampled_from(sorted(REQUESTS)), max_size=6), min_size=3, max_size=6)
    )
    def law(examples: list[list[str]]) -> None:
        asyncio.run(main(examples))

    each = [[name] for name in REQUESTS]
    asyncio.run(main([*each, ["make", *REQUESTS], ["useChat", "show", "export", "make", "delete"]]))
    law()


@on_a_server
async def test_the_chats_of_a_user_are_limited(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model), authenticate=user, limits=LIMITS) as client:
        ann, bob = {"x-user": "ann"}, {"x-user": "bob"}
        responses = await asyncio.gather(
            *(client.post("/chats", json={}, headers=ann) for _ in range(8))
        )
        assert sorted(each.status_code for each in responses) == [201] * 3 + [409] * 5
        for path, body in (
            ("/chats", {"chatId": "c"}),
            ("/ai-sdk/chat", ai_sdk("c")),
            ("/ag-ui", ag_ui("c")),
        ):
            answer = await client.post(path, json=body, headers=ann)
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (409, "too_many_chats")
            assert "3 chats" in error["message"]
            assert (await client.get("/chats/c", headers=ann)).status_code == 404
        assert (await client.post("/chats", json={}, headers=bob)).status_code == 201
        [one, *_] = (await client.get("/chats", headers=ann)).json()["chats"]
        await client.delete(f"/chats/{one['chatId']}", headers=ann)
        assert (await client.post("/chats", json={}, headers=ann)).status_code == 201


def test_concurrent_requests_keep_to_the_limit_of_chats(store_url: str) -> None:
    async def scenario(store: MessageStore) -> None:
        responses = await asyncio.gather(
            *(store.create_chat(user_id="ann", max_chats=4) for _ in range(12)),
            return_exceptions=True,
        )
        refused = [each for each in responses if isinstance(each, ChatLimitError)]
        assert (len(refused), refused[0].user_id, refused[0].limit) == (8, "ann", 4)
        assert len(await store.chats(user_id="ann")) == 4
        # An existing chat does not count as a new one.
        chat = (await store.chats())[0]
        again = await store.create_chat(chat.chat_id, user_id="ann", max_chats=4, exist_ok=True)
        assert again == chat
        with pytest.raises(ValueError, match="at least 1, got 0"):
            await store.create_chat(max_chats=0)

    with_store(store_url, scenario)


@pytest.mark.parametrize(
    ("headers", "passes"),
    [
        ({}, True),
        ({"origin": "http://127.0.0.1:{port}"}, True),
        ({"origin": "HTTP://127.0.0.1:{port}"}, True),
        ({"origin": "http://evil.example"}, False),
        ({"origin": "http://127.0.0.1:1"}, False),
        ({"origin": "http://127.0.0.1.evil.example:{port}"}, False),
        ({"origin": "null"}, False),
        ({"origin": ""}, False),
        ({"origin": "http://["}, False),
        ({"origin": "https://chat.example", "host": "chat.example"}, True),
        ({"origin": "https://chat.example:443", "host": "chat.example"}, True),
        ({"origin": "http://chat.example:443", "host": "chat.example"}, False),
        ({"origin": "https://sub.chat.example", "host": "chat.example"}, False),
        # A proxy changes the host, but the browser sends the site of the page.
        ({"origin": "https://chat.example", "sec-fetch-site": "same-origin"}, True),
        ({"origin": "https://chat.example", "sec-fetch-site": "cross-site"}, False),
    ],
)
@on_a_server
async def test_pages_of_other_sites_change_nothing(
    tmp_path: Path, headers: dict[str, str], passes: bool
) -> None:
    async with serve_agent(tmp_path, Agent(model)) as client:
        given = {name: value.format(port=client.base_url.port) for name, value in headers.items()}
        answer = await client.post("/chats", json={}, headers=given)
        assert answer.status_code == (201 if passes else 403)
        if not passes:
            assert answer.json()["error"]["code"] == "cross_site"
        chats = (await client.get("/chats")).json()["chats"]
        assert len(chats) == passes


@on_a_server
async def test_pages_of_allowed_hosts_may_send_requests(tmp_path: Path) -> None:
    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}")
    hosts = ["127.0.0.1", "chat.example", "*.team.example", "*"]
    app = chat_app(store, AgentResponder(Agent(model)), allowed_hosts=hosts)
    async with serve(app) as client:
        for origin, status in (
            ("https://chat.example", 201),
            ("https://one.team.example", 201),
            ("https://team.example.evil", 403),
            ("https://evilteam.example", 403),
        ):
            answer = await client.post(
                "/chats",
                content=json.dumps({}),
                headers={"origin": origin, "content-type": "application/json"},
            )
            assert answer.status_code == status, origin
