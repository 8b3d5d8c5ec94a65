"""Requests of pages on other origins."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.requests import Request

from chat_servers import QUICK, new_chat, on_a_server, serve, serve_agent
from toolweave import Agent, Message
from toolweave.store import Chat, MessageStore
from toolweave.web import AgentResponder, chat_app
from toolweave.web._cors import check_origins

APP, OTHER = "https://app.example", "https://other.example"
CROSS = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}


async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
    return "Yes."


def user_of(request: Request) -> str | None:
    return request.headers.get("x-key")


def preflight(origin: str, method: str, *headers: str) -> dict[str, str]:
    return {
        "origin": origin,
        "access-control-request-method": method,
        "access-control-request-headers": ",".join(headers),
        **CROSS,
    }


@on_a_server
async def test_a_listed_origin_may_use_all_methods_and_headers_of_the_routes(
    tmp_path: Path,
) -> None:
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    async with serve_agent(
        tmp_path,
        Agent(model),
        allowed_origins=[APP],
        authenticate=user_of,
        security_schemes=schemes,
    ) as client:
        for method, header in (
            ("POST", "content-type"),
            ("DELETE", "x-key"),
            ("GET", "last-event-id"),
            ("POST", "x-ai-sdk-version"),
            ("GET", "authorization"),
        ):
            answer = await client.options("/chats", headers=preflight(APP, method, header))
            assert answer.status_code == 200
            assert answer.headers["access-control-allow-origin"] == APP
            assert answer.headers["access-control-allow-credentials"] == "true"
            assert method in answer.headers["access-control-allow-methods"].split(", ")
            allowed = answer.headers["access-control-allow-headers"].lower().split(", ")
            assert header in allowed
            assert answer.headers["x-content-type-options"] == "nosniff"
        for method, header in (("PUT", "x-key"), ("POST", "x-other")):
            answer = await client.options("/chats", headers=preflight(APP, method, header))
            assert answer.status_code == 400
        # Preflight requests have no credentials; errors can be read as well.
        answer = await client.get("/chats", headers={"origin": APP, **CROSS})
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
        assert answer.headers["access-control-allow-origin"] == APP
        allowed = {"origin": APP, "x-key": "ann", **CROSS}
        answer = await client.post("/chats", json={}, headers=allowed)
        assert answer.status_code == 201
        assert answer.headers["vary"] == "Origin"
        exposed = answer.headers["access-control-expose-headers"].split(", ")
        assert {"Location", "Retry-After", "X-Vercel-AI-UI-Message-Stream"} <= set(exposed)


@pytest.mark.parametrize(
    "origin", [OTHER, "null", "https://app.example.evil", "http://app.example", f"{APP}:8443"]
)
@on_a_server
async def test_other_origins_can_neither_read_nor_change_anything(
    tmp_path: Path, origin: str
) -> None:
    async with serve_agent(tmp_path, Agent(model), allowed_origins=[APP]) as client:
        chat = await new_chat(client)
        asked = await client.options("/chats", headers=preflight(origin, "POST", "content-type"))
        got = await client.get(chat, headers={"origin": origin, **CROSS})
        for answer in (asked, got):
            assert "access-control-allow-origin" not in answer.headers
        for headers in ({"origin": origin, **CROSS}, {"origin": origin}):
            answer = await client.post("/chats", json={}, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (403, "cross_site")
        assert len((await client.get("/chats")).json()["chats"]) == 1


@on_a_server
async def test_a_listed_origin_can_read_unexpected_errors_too(tmp_path: Path) -> None:
    class Broken(MessageStore):
        async def chats(self, **_: object) -> list[Chat]:
            raise RuntimeError("secret")

    store = Broken(f"sqlite:///{tmp_path / 'chats.db'}")
    app = chat_app(store, AgentResponder(Agent(model)), limits=QUICK, allowed_origins=[APP])
    async with serve(app) as client:
        answer = await client.get("/chats", headers={"origin": APP, **CROSS})
        assert answer.json()["error"]["code"] == "failed"
        assert answer.headers["access-control-allow-origin"] == APP
        assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        ("https://app.example/", "'https://app.example'"),
        ("https://App.example", "'https://app.example'"),
        ("https://app.example:443", "'https://app.example'"),
        ("http://app.example:80/chat?x#y", "'http://app.example'"),
        ("*", "one exact origin"),
        ("null", "one exact origin"),
        ("https://*.example", "one exact origin"),
        ("app.example", "one exact origin"),
        ("file://", "one exact origin"),
        ("https://bücher.example", "one exact origin"),
        ("https://app.example:99999", "one exact origin"),
        ("", "one exact origin"),
    ],
)
def test_patterns_null_and_urls_are_refused_with_what_would_be_right(
    origin: str, wanted: str
) -> None:
    with pytest.raises(ValueError, match=r"^allowed_origins\[1\] must be ") as caught:
        check_origins([APP, origin])
    assert wanted in str(caught.value)
    assert repr(origin) in str(caught.value)


@given(st.text())
@example("http://[::1]:3000")
@example("capacitor://localhost")
@example("http://[")
def test_any_text_is_an_origin_or_refused(text: str) -> None:
    try:
        [origin] = check_origins([text])
    except ValueError:
        return
    assert origin == text
    scheme, _, host = text.partition("://")
    assert scheme
    assert host
    assert not set(host) & set("/*?#@ ,")


def test_a_single_string_is_no_list_of_origins(tmp_path: Path) -> None:
    store = MessageStore(f"sqlite:///{tmp_path / 'chats.db'}")
    responder = AgentResponder(Agent(model))
    with pytest.raises(TypeError, match="allowed_origins must be a sequence of strings"):
        chat_app(store, responder, allowed_origins=APP)
    with pytest.raises(ValueError, match="security_schemes need authenticate"):
        chat_app(store, responder, security_schemes={"key": {"type": "http", "scheme": "bearer"}})
