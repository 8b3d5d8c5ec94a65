"""Following a chat with scripted responses: requests, retries and the end."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from chat_clients import FLAVOURS, chat_client, scripted
from chat_servers import on_a_server
from encoded_runs import EventLog
from toolweave.client import AsyncChatClient, ChatClient
from toolweave.exceptions import ChatRequestError
from toolweave.lifecycle import StreamReducer
from toolweave.web._sse import frame

LOG = EventLog().asked("Hi").started().text("g", 0, "Hel", "lo").finished().events
URL = "http://chats.example/api/"
HEARTBEAT = b":\n\n"

flavours = pytest.mark.parametrize("flavour", FLAVOURS)


def stream(*events: dict[str, Any], before: bytes = b"retry: 1\n\n") -> httpx.Response:
    body = before + b"".join(
        frame([json.dumps(event)], event["sequenceNumber"]) for event in events
    )
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=body)


def refused(status: int, code: str, **headers: str) -> httpx.Response:
    body = {"error": {"code": code, "message": "A sentence."}}
    return httpx.Response(status, json=body, headers=headers)


async def read(
    flavour: str, answers: list[httpx.Response | Exception], **options: Any
) -> tuple[list[Any], list[httpx.Request], dict[str, Any]]:
    """Follow a chat with scripted responses; return the events, requests and snapshot."""
    mocked, asked = scripted(flavour, answers)
    client_options = {
        name: options.pop(name)
        for name in ("retries", "max_event_bytes", "headers")
        if name in options
    }
    async with chat_client(flavour, URL, **mocked, **client_options) as client:
        events = client.follow("chat", **options)
        received = [event async for event in events]
        assert events.last_sequence_number == (received[-1]["sequenceNumber"] if received else 0)
        return received, asked, events.snapshot()


@flavours
@on_a_server
async def test_events_are_read_once_and_in_order_however_a_connection_ends(flavour: str) -> None:
    whole = StreamReducer()
    for event in LOG:
        whole.push(event)
    received, asked, snapshot = await read(
        flavour,
        [
            httpx.ConnectError("refused"),
            stream(*LOG[:2]),
            refused(503, "store_failed", **{"retry-after": "0"}),
            httpx.ReadTimeout("silence"),
            # Ends regularly, as when a server shuts down; a known event is repeated.
            stream(*LOG[1:3]),
            refused(429, "too_many"),
            stream(),
            stream(*LOG[3:]),
            httpx.Response(204),
        ],
        headers={"Authorization": "Bearer x"},
    )
    assert received == LOG
    assert snapshot == whole.snapshot()
    assert [request.headers["last-event-id"] for request in asked] == list("002223335")
    assert {str(request.url) for request in asked} == {f"{URL}chats/chat/events"}
    assert {request.headers["authorization"] for request in asked} == {"Bearer x"}


@flavours
@on_a_server
async def test_a_reader_resumes_after_the_events_of_its_reducer(flavour: str) -> None:
    reducer = StreamReducer()
    for event in LOG[:3]:
        reducer.push(event)
    received, asked, snapshot = await read(
        flavour, [stream(*LOG[3:]), httpx.Response(204)], reducer=reducer, further_runs=True
    )
    assert received == LOG[3:]
    assert asked[0].headers["last-event-id"] == "3"
    assert asked[0].url.params["follow"] == "1"
    assert snapshot["messages"][-1]["text"] == "Hello"


@flavours
@on_a_server
async def test_only_attempts_without_a_new_event_count_as_failures(flavour: str) -> None:
    lost: list[httpx.Response | Exception] = [httpx.ReadError("reset"), stream()]
    answers = [answer for event in LOG for answer in (*lost, stream(event))]
    beating = [stream(before=HEARTBEAT + b"retry: 1\n\n") for _ in range(9)]
    received, asked, _ = await read(flavour, [*answers, *beating, httpx.Response(204)], retries=2)
    assert received == LOG
    assert len(asked) == 3 * len(LOG) + 10
    with pytest.raises(ChatRequestError, match=r"GET .*/chats/chat/events failed: reset") as caught:
        await read(flavour, [stream(LOG[0]), *lost, httpx.ReadError("reset")], retries=2)
    assert (caught.value.status, caught.value.code) == (None, "unreachable")
    assert isinstance(caught.value.__cause__, httpx.ReadError)


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        (refused(404, "unknown_chat"), 404, "unknown_chat"),
        (refused(409, "beyond_end"), 409, "beyond_end"),
        (httpx.Response(401, text="<html>"), 401, "refused"),
        (httpx.Response(302, headers={"location": "/login"}), 302, "refused"),
        (httpx.Response(200, text="<html>"), 200, "unreadable"),
        (stream({"kind": "text", "sequenceNumber": 1}), 200, "unreadable"),
        (stream({"sequenceNumber": "one"}), 200, "unreadable"),
        (stream(before=b"data: [" * 2 + b"\n\n"), 200, "unreadable"),
        (stream(before=b"data: " + b"[" * 5000 + b"\n\n"), 200, "event_too_long"),
        (httpx.UnsupportedProtocol("ftp"), None, "unreachable"),
    ],
)
@flavours
@on_a_server
async def test_permanent_errors_fail_immediately(
    flavour: str, answer: httpx.Response | Exception, status: int | None, code: str
) -> None:
    with pytest.raises(ChatRequestError) as caught:
        await read(flavour, [answer], max_event_bytes=4000)
    assert (caught.value.status, caught.value.code) == (status, code)


@flavours
@on_a_server
async def test_only_safe_requests_are_retried(flavour: str) -> None:
    receipt = {"chatId": "c", "runId": "r", "messageId": "m", "sequenceNumber": 1}
    mocked, asked = scripted(
        flavour,
        [
            httpx.ReadError("reset"),
            refused(503, "store_failed"),
            httpx.Response(202, json=receipt),
            httpx.ReadError("reset"),
            httpx.Response(202, json={"runId": "r", "stopping": True}),
            httpx.ReadError("reset"),
            httpx.ReadError("reset"),
            httpx.Response(200, json=["not", "a", "receipt"]),
            refused(429, "too_many", **{"retry-after": "7"}),
        ],
    )
    async with chat_client(flavour, URL, retries=2, **mocked) as client:
        sent = await client.send("a/b", "Hello")
        assert (sent.run_id, sent.sequence_number, sent.message_id) == ("r", 1, "m")
        bodies = [json.loads(request.content) for request in asked]
        assert bodies[0] == bodies[1] == bodies[2]
        assert bodies[0]["messageId"]
        assert asked[0].url.raw_path == b"/api/chats/a%2Fb/messages"
        assert await client.stop("c", "r") is True
        for ask in (client.start, lambda: client.send("c")):
            with pytest.raises(ChatRequestError, match="failed: reset"):
                await ask()
        with pytest.raises(ChatRequestError, match="returned an invalid response"):
            await client.start()
        with pytest.raises(
            ChatRequestError, match=r"with status 429: too_many: A sentence"
        ) as caught:
            await client.start()
        assert caught.value.retry_after == 7.0


@flavours
@on_a_server
async def test_arguments_are_checked_immediately(flavour: str) -> None:
    for url, options, message in [
        ("chats.example", {}, "base_url must start with http:// or https://"),
        (URL, {"timeout": 0}, "timeout must be a number above 0"),
        (URL, {"backoff": float("nan")}, "backoff must be a number above 0"),
        (URL, {"retries": -1}, "retries must be at least 0, got -1"),
        (URL, {"max_event_bytes": 0}, "max_event_bytes must be at least 1, got 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            async with chat_client(flavour, url, **options):
                pass
    wrong, _ = scripted(next(other for other in FLAVOURS if other != flavour), [])
    for url, options, message in [
        (None, {}, "base_url must be a string, got NoneType"),
        (URL, {"timeout": "1"}, "timeout must be a number, got str"),
        (URL, {"retries": 1.5}, "retries must be an integer, got float"),
        (URL, wrong, "http_client must be an httpx"),
    ]:
        with pytest.raises(TypeError, match=message):
            (AsyncChatClient if flavour == "async" else ChatClient)(url, **options)
    async with chat_client(flavour, URL) as client:
        for chat in ("", ".", ".."):
            with pytest.raises(ValueError, match="chat_id must not be empty"):
                client.follow(chat)
        with pytest.raises(ValueError, match="after must be at least 0"):
            client.follow("chat", after=-1)
        with pytest.raises(ValueError, match="message_id must be None"):
            await client.send("chat", message_id="m")


@flavours
@on_a_server
async def test_the_iteration_resumes_after_an_error(flavour: str) -> None:
    reset = httpx.ReadError("reset")
    mocked, asked = scripted(
        flavour,
        [stream(*LOG[:2]), reset, reset, reset, stream(*LOG[2:]), httpx.Response(204)],
    )
    async with chat_client(flavour, URL, retries=1, **mocked) as client:
        events = client.follow("chat")
        assert [await anext(events), await anext(events)] == LOG[:2]
        with pytest.raises(ChatRequestError, match="failed: reset"):
            await anext(events)
        assert [event async for event in events] == LOG[2:]
        assert [event async for event in events] == []
        assert len(asked) == 6
        left = client.follow("chat")
        await left.aclose()
        assert [event async for event in left] == []


@on_a_server
async def test_a_cancelled_reader_may_resume() -> None:
    async def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        if len(asked) == 1:
            await asyncio.Event().wait()
        return stream(*LOG) if len(asked) == 2 else httpx.Response(204)

    asked: list[httpx.Request] = []
    http = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    async with http, chat_client("async", URL, http_client=http) as client:
        events = client.follow("chat")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(anext(events), 0.01)
        assert [event async for event in events] == LOG
        assert not http.is_closed
