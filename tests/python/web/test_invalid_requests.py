"""Invalid and hostile requests: too long, too slow, too many, malformed, or from other sites."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_servers import (
    QUICK,
    TEST_TIMEOUT,
    app_of,
    finished,
    new_chat,
    on_a_server,
    say,
    serve_agent,
)
from toolweave import Agent, Message
from toolweave.tools import RateLimit
from toolweave.web import HttpError, WebLimits
from toolweave.web._bodies import parse_object

JSON = {"content-type": "application/json"}


async def model(messages: Sequence[Message]) -> str:  # noqa: ARG001
    return "Yes."


async def blocked(messages: Sequence[Message]) -> str:  # noqa: ARG001
    await asyncio.Event().wait()
    raise AssertionError


def code(answer: httpx.Response) -> tuple[int, str]:
    error = answer.json()["error"]
    assert set(error) == {"code", "message"}
    assert error["message"].endswith(".")
    return answer.status_code, error["code"]


BODIES: list[tuple[bytes, int, str]] = [
    (b"", 400, "not_json"),
    (b"{", 400, "not_json"),
    (b"\xff\xfe{}", 400, "not_json"),
    (b"[]", 400, "not_an_object"),
    (b"null", 400, "not_an_object"),
    (b'{"text": NaN}', 400, "not_json"),
    (b'{"text": 1e999}', 400, "no_number"),
    (b'{"text": 7}', 400, "wrong_type"),
    (b'{"text": null}', 400, "wrong_type"),
    (b'{"text": ["Hi"]}', 400, "wrong_type"),
    (b'{"text": ""}', 400, "nothing_said"),
    (b'{"text": " \\n "}', 400, "nothing_said"),
    (b'{"text": "a\\u0000b"}', 400, "not_text"),
    (b'{"text": "\\ud800"}', 400, "not_text"),
    (b'{"txt": "Hi"}', 400, "unknown_field"),
    (b'{"messageId": "m1"}', 400, "wrong_type"),
    (b'{"text": "Hi", "messageId": 7}', 400, "wrong_type"),
    (b'{"text": "Hi", "messageId": ""}', 400, "wrong_id"),
    (b'{"text": "Hi", "messageId": "../m"}', 400, "wrong_id"),
    (b'{"text": "Hi", "messageId": "' + b"m" * 10_000 + b'"}', 400, "wrong_id"),
    (b'{"text": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", 400, "too_deep"),
    (b'{"text": ' + b"[" * 200_000, 400, "too_deep"),
    (b'{"text": "' + b"x" * 200_001 + b'"}', 413, "too_long"),
    (b'{"text": "' + b"x" * 1_000_000 + b'"}', 413, "too_long"),
]


@on_a_server
async def test_invalid_bodies_are_answered_with_an_error(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model)) as client:
        chat = await new_chat(client)
        for body, status, name in BODIES:
            answer = await client.post(f"{chat}/messages", content=body, headers=JSON)
            assert code(answer) == (status, name), body[:80]
        assert (await client.get(chat)).json()["lastSequenceNumber"] == 0


@on_a_server
async def test_a_body_without_a_length_is_cut_off_as_well(tmp_path: Path) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield b'{"text": "'
        while sent < 50_000_000:
            sent += 10_000
            yield b"x" * 10_000

    async with serve_agent(tmp_path, Agent(model)) as client:
        chat = await new_chat(client)
        try:
            answer = await client.post(f"{chat}/messages", content=endless(), headers=JSON)
            assert code(answer) == (413, "too_long")
        except (httpx.WriteError, httpx.ReadError):
            # The server has closed the connection while the client was still sending.
            pass
        assert sent < 20_000_000
        assert (await client.get("/healthz")).json() == {"status": "ok"}


@on_a_server
async def test_a_slow_body_times_out(tmp_path: Path) -> None:
    limits = WebLimits(body_timeout=0.05, requests=None)
    async with serve_agent(tmp_path, Agent(model), limits=limits) as client:
        chat = await new_chat(client)
        host, port = client.base_url.host, client.base_url.port
        reader, writer = await asyncio.open_connection(host, port)
        head = f"POST {chat}/messages HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n"
        writer.write(f"{head}Content-Type: application/json\r\n\r\n{{".encode())
        line = await asyncio.wait_for(reader.readline(), TEST_TIMEOUT)
        assert line.startswith(b"HTTP/1.1 408 ")
        writer.close()


@on_a_server
async def test_only_json_is_accepted_so_that_forms_of_other_sites_are_rejected(
    tmp_path: Path,
) -> None:
    async with serve_agent(tmp_path, Agent(model)) as client:
        chat = await new_chat(client)
        kinds = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""]
        for path in ("/chats", f"{chat}/messages", f"{chat}/runs/r/stop", f"{chat}/answers/k"):
            for kind in kinds:
                answer = await client.post(
                    path, content=b'{"text": "Hi"}', headers={"content-type": kind}
                )
                assert code(answer) == (415, "not_json")
        answer = await client.post(
            "/chats", content=b"{}", headers={"content-type": "Application/JSON; charset=utf-8"}
        )
        assert answer.status_code == 201
        cross = {**JSON, "sec-fetch-site": "cross-site"}
        answer = await client.post("/chats", content=b"{}", headers=cross)
        assert code(answer) == (403, "cross_site")
        assert "access-control-allow-origin" not in answer.headers


@on_a_server
async def test_invalid_ids_are_not_found(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model)) as client:
        chat = await new_chat(client)
        for name in ("no", "a" * 10_000, "..%2f..", "%00", "a%2Fb", "%F0%9F%98%80", "a%0d%0ab"):
            for path in ("", "/events", "/messages", "/stream", "/export"):
                answer = await client.get(f"/chats/{name}{path}")
                resumed = (204 if name == "no" else 400) if path == "/stream" else 404
                status = 404 if "%2f" in name.lower() else resumed
                assert answer.status_code == status, (name, path)
            stop = await client.post(f"{chat}/runs/{name}/stop", json={})
            assert stop.status_code == 404
            given = await client.post(f"{chat}/answers/{name}", json={"result": 1})
            assert given.status_code == 404
        for name in ("", ".", "..", "a/b", "ä", "a b", "x" * 201, 7, None):
            answer = await client.post("/chats", json={"chatId": name})
            assert answer.status_code in ((400, 201) if name is None else (400,))


@on_a_server
async def test_the_metadata_of_chats_is_limited(tmp_path: Path) -> None:
    limits = QUICK.__class__(max_metadata_bytes=100, requests=None)
    async with serve_agent(tmp_path, Agent(model), limits=limits) as client:
        kept = await client.post("/chats", json={"metadata": {"title": "é" * 40}})
        assert kept.status_code == 201
        answer = await client.post("/chats", json={"metadata": {"title": "é" * 50}})
        assert code(answer) == (413, "too_long")


@on_a_server
async def test_concurrent_requests_for_one_id_create_one_chat(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model)) as client:
        made = await asyncio.gather(
            *(client.post("/chats", json={"chatId": "c"}) for _ in range(4))
        )
        assert sorted(each.status_code for each in made) == [201, 409, 409, 409]


@on_a_server
async def test_invalid_cursors_and_formats_are_rejected(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model)) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Well?")
        await finished(client, chat, accepted["runId"])
        for cursor in ("", "-1", "1.5", "x", "1e3", "9" * 30, "9" * 5_000, "٣"):
            answer = await client.get(f"{chat}/events", params={"after": cursor})
            assert code(answer) == (400, "wrong_number"), cursor
            if cursor.isascii():
                answer = await client.get(f"{chat}/events", headers={"Last-Event-ID": cursor})
                assert code(answer) == (400, "wrong_number"), cursor
        assert code(await client.get(f"{chat}/events?after=99")) == (409, "beyond_end")
        both = await client.get(f"{chat}/events?after=x", headers={"Last-Event-ID": "0"})
        assert code(both) == (400, "wrong_number")
        assert code(await client.get(f"{chat}/events?format=xml")) == (400, "unknown_format")
        assert code(await client.get(f"{chat}/events?follow=yes")) == (400, "wrong_number")
        assert code(await client.get(f"{chat}/messages?limit=1001")) == (400, "wrong_number")
        assert code(await client.get("/chats?before=nobody")) == (404, "unknown_chat")
        assert code(await client.get("/nowhere")) == (404, "not_found")
        assert code(await client.put(chat, json={})) == (405, "method_not_allowed")


@on_a_server
async def test_runs_streams_and_requests_are_limited(tmp_path: Path) -> None:
    limits = WebLimits(
        runs_per_user=2, streams_per_user=1, shutdown_grace=0.0, requests=RateLimit(40, 3600.0)
    )
    async with serve_agent(tmp_path, Agent(blocked), limits=limits) as client:
        chats = [await new_chat(client) for _ in range(3)]
        for chat in chats[:2]:
            await say(client, chat, "Well?")
        answer = await client.post(f"{chats[2]}/messages", json={"text": "Well?"})
        assert code(answer) == (429, "too_many")
        async with client.stream("GET", f"{chats[0]}/events") as stream:
            assert stream.status_code == 200
            answer = await client.get(f"{chats[1]}/events")
            assert code(answer) == (429, "too_many")
            assert answer.headers["retry-after"]
        while (answer := await client.get(chats[0])).status_code == 200:
            pass
        assert code(answer) == (429, "too_many")
        assert int(answer.headers["retry-after"]) > 1


@on_a_server
async def test_without_users_runs_are_limited_by_address(tmp_path: Path) -> None:
    app = app_of(tmp_path, Agent(blocked), limits=WebLimits(runs_per_user=1, shutdown_grace=0.0))

    def at(host: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app, client=(host, 1))
        return httpx.AsyncClient(transport=transport, base_url="http://chats")

    async with app.router.lifespan_context(app), at("192.0.2.1") as ann, at("192.0.2.2") as bob:
        chats = [await new_chat(ann) for _ in range(3)]
        await say(ann, chats[0], "Well?")
        answer = await ann.post(f"{chats[1]}/messages", json={"text": "Well?"})
        assert code(answer) == (429, "too_many")
        await say(bob, chats[2], "Well?")


@on_a_server
async def test_a_slot_is_released_when_a_stream_or_a_run_ends(tmp_path: Path) -> None:
    limits = WebLimits(runs_per_user=1, streams_per_user=1, requests=None, batch=0.001)
    async with serve_agent(tmp_path, Agent(model), limits=limits) as client:
        for _ in range(3):
            chat = await new_chat(client)
            # The slot is free a moment after the end was published.
            while (await client.post(f"{chat}/messages", json={"text": "Well?"})).is_error:
                pass
            received = b""
            while b"finished" not in received:
                async with client.stream("GET", f"{chat}/events") as stream:
                    received = await stream.aread()


@on_a_server
async def test_responses_have_security_headers(tmp_path: Path) -> None:
    async with serve_agent(tmp_path, Agent(model), allowed_hosts=["127.0.0.1"]) as client:
        answer = await client.get("/healthz")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert not [name for name in answer.headers if name.startswith("access-control")]
        # A host name of another site that resolves to this server.
        answer = await client.get("/healthz", headers={"host": "evil.example"})
        assert answer.status_code == 400


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.binary() | _JSON.map(lambda value: json.dumps(value).encode()))
def test_any_body_is_an_object_of_clean_text_or_rejected(body: bytes) -> None:
    try:
        found = parse_object(body)
    except HttpError as refused:
        assert refused.status == 400
        assert refused.message.endswith(".")
    else:
        text = json.dumps(found, ensure_ascii=False, allow_nan=False)
        assert "\0" not in text.encode().decode()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("runs", 0),
        ("runs", 1.5),
        ("runs", True),
        ("heartbeat", 0),
        ("heartbeat", float("inf")),
        ("batch", -1),
        ("lease", "30"),
    ],
)
def test_invalid_limits_of_a_server_are_rejected(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be a"):
        WebLimits(**{name: value})
    assert QUICK.requests is None
