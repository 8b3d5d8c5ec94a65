"""Types of chats over HTTP: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from typing_extensions import Self, assert_type

from toolweave import Agent, Message, SceneManager, TextDelta
from toolweave.lifecycle import RawText, TurnEvent
from toolweave.protocols import Approver
from toolweave.store import MessageStore
from toolweave.tools import RateLimit
from toolweave.web import (
    AgentResponder,
    Authenticate,
    Encoder,
    Page,
    Responder,
    ResponderRun,
    SceneResponder,
    Suggestion,
    Turn,
    WebLimits,
    ask_in_chat,
    chat_app,
)
from toolweave.web.encoders import AgUiEncoder, AiSdkEncoder

approver: Approver = ask_in_chat


class Echo:
    """A custom reply."""

    generation_id = "g"

    def __init__(self, turn: Turn) -> None:
        self.finished_messages: Sequence[Message] = ()
        self._turn = turn

    def __aiter__(self) -> AsyncIterator[TurnEvent]:
        return self._events()

    async def _events(self) -> AsyncIterator[TurnEvent]:
        yield RawText("Hi")
        yield TextDelta("Hi")

    async def cancel(self) -> None: ...

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None: ...


def scenes_or_echo(manager: SceneManager) -> Responder:
    scenes = SceneResponder(manager)

    def responder(turn: Turn) -> ResponderRun:
        assert_type(turn.history, tuple[Message, ...])
        assert_type(turn.user_id, str | None)
        return Echo(turn) if turn.user_id is None else scenes(turn)

    return responder


def identify(request: Request) -> str | None:
    return request.headers.get("x-user")


async def identify_async(request: Request) -> str | None:
    return request.headers.get("x-user")


def authenticators() -> list[Authenticate]:
    return [identify, identify_async]


class NativeEncoder:
    """A custom encoder."""

    media_type = "text/event-stream"
    headers: Mapping[str, str] = {}

    def encode(self, event: Mapping[str, object]) -> list[str]:
        return [str(event)]

    def close(self) -> list[str]:
        return []


def encoders() -> list[Encoder]:
    return [NativeEncoder(), AgUiEncoder(), AiSdkEncoder(version=7)]


def written(encoder: Encoder, event: Mapping[str, object]) -> Sequence[str]:
    return [*encoder.encode(event), *encoder.close()]


def app(store: MessageStore, agent: Agent, manager: SceneManager) -> None:
    assert_type(chat_app(store, AgentResponder(agent)), Starlette)
    chat_app(
        store,
        scenes_or_echo(manager),
        authenticate=identify_async,
        limits=WebLimits(requests=RateLimit(10, 1.0), run_timeout=None),
        page=Page(title="Tea", suggestions=[Suggestion(label="Tea", text="Tea, please.")]),
        encoders={"ag-ui": AgUiEncoder},
        allowed_hosts=["127.0.0.1"],
    )
    chat_app(store, AgentResponder(lambda _: agent))
