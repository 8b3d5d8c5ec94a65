"""The blocking and the asyncio chat client behind one interface, for shared scenarios."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import httpx

from toolweave.client import AsyncChatClient, AsyncChatEvents, ChatClient, ChatEvents

FLAVOURS = ["blocking", "async"]

_END = object()


class Events(Protocol):
    """The events of a chat."""

    @property
    def last_sequence_number(self) -> int: ...
    def __aiter__(self) -> Events: ...
    async def __anext__(self) -> Any: ...
    async def aclose(self) -> None: ...
    def snapshot(self) -> dict[str, Any]: ...


class _Blocking:
    """The events of the blocking client, each read in a thread."""

    def __init__(self, events: ChatEvents) -> None:
        self._events = events

    @property
    def last_sequence_number(self) -> int:
        return self._events.last_sequence_number

    def __aiter__(self) -> _Blocking:
        return self

    async def __anext__(self) -> Any:
        event = await asyncio.to_thread(next, self._events, _END)
        if event is _END:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        await asyncio.to_thread(self._events.close)

    def snapshot(self) -> dict[str, Any]:
        return self._events.snapshot()


class Client:
    """A client of either flavour."""

    def __init__(self, client: ChatClient | AsyncChatClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)
        if isinstance(self._client, AsyncChatClient):
            return method

        async def threaded(*args: Any, **options: Any) -> Any:
            return await asyncio.to_thread(method, *args, **options)

        return threaded

    def follow(self, chat_id: str, **options: Any) -> Events:
        events: ChatEvents | AsyncChatEvents = self._client.follow(chat_id, **options)
        return events if isinstance(events, AsyncChatEvents) else _Blocking(events)


@asynccontextmanager
async def chat_client(flavour: str, url: object, **options: Any) -> AsyncIterator[Client]:
    """Open a client of a flavour that retries without delay."""
    options = {"backoff": 0.002, "timeout": 15.0, **options}
    if flavour == "async":
        async with AsyncChatClient(str(url), **options) as client:
            yield Client(client)
    else:
        with ChatClient(str(url), **options) as blocking:
            yield Client(blocking)


def scripted(
    flavour: str, answers: list[httpx.Response | Exception]
) -> tuple[dict[str, Any], list[httpx.Request]]:
    """Return client options that give these responses in order, and the list of requests."""
    asked: list[httpx.Request] = []
    left = iter(answers)

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        given = next(left)
        if isinstance(given, Exception):
            raise given
        # A response can be used for one request only.
        return httpx.Response(given.status_code, headers=given.headers, content=given.content)

    transport = httpx.MockTransport(answer)
    if flavour == "async":
        return {"http_client": httpx.AsyncClient(transport=transport)}, asked
    return {"http_client": httpx.Client(transport=transport)}, asked
