"""Every model adapter in front of a scripted server or client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from toolweave import FinishUpdate, Message, TextDelta, TextMessage, ToolCallUpdate, UsageUpdate
from toolweave.exceptions import ModelError
from toolweave.integrations.litellm import LiteLLMModel
from toolweave.models import FunctionModel
from toolweave.models.anthropic import AnthropicModel
from toolweave.models.fallback import FallbackModel
from toolweave.models.http import HttpModel
from toolweave.models.openai import OpenAIModel
from toolweave.models.recording import RecordedReply
from toolweave.models.replay import ReplayModel
from toolweave.testing import ScriptedModel

from . import dialects
from .model_answers import in_use
from .sse import TEST_TIMEOUT, Answer, Do, serving

KEY = "sk-very-secret-0123456789"

USAGE = UsageUpdate(7, 5, 2)
"""Usage at the end of a complete reply, if the model reports it."""


@dataclass(frozen=True)
class Reply:
    """A reply in terms that hold for every provider."""

    pieces: Sequence[str] = ()
    call: str | None = None
    """The beginning of the arguments of a native call of ``Add``, whose id is ``c1``."""
    end: str = "stop"
    """``stop``; ``missing``: no finish reason; ``hold``: it stays open; ``cut``: it breaks."""


@dataclass
class Asked:
    """A model, and the state of the server that answers it."""

    model: Any
    left: Callable[[], Any]
    """Coroutine function that waits until the server notices that its client is gone."""


def openai_steps(reply: Reply) -> list[Any]:
    if reply.end == "stop":
        return dialects.openai_text(reply.pieces)
    events = dialects.openai_text(reply.pieces)[: 1 + len(reply.pieces)]
    if reply.call is not None:
        events.append(dialects.delta(tool_calls=[dialects.call(id="c1", name="Add", arguments="")]))
        events.append(dialects.delta(tool_calls=[dialects.call(arguments=reply.call)]))
    return [*events, *_ending(reply)]


def anthropic_steps(reply: Reply) -> list[Any]:
    if reply.end == "stop":
        return dialects.anthropic_text(reply.pieces)
    events = dialects.anthropic_text(reply.pieces)[: 2 + len(reply.pieces)]
    if reply.call is not None:
        events = dialects.anthropic_calls([("c1", "Add", [reply.call])])[:5]
    return [*events, *_ending(reply)]


def _ending(reply: Reply) -> list[Any]:
    return {"hold": [Do.HOLD], "cut": [Do.CUT]}.get(reply.end, [])


Answering = Callable[[Callable[[str], Reply]], AbstractAsyncContextManager[Asked]]
"""Factory of a model that answers with the reply to the text of the last message."""


def over_http(make: Callable[[str], Any], steps: Callable[[Reply], list[Any]]) -> Answering:
    @asynccontextmanager
    async def answering(reply_to: Callable[[str], Reply]) -> AsyncIterator[Asked]:
        def answer(request: dict[str, Any]) -> Answer:
            return Answer(steps(reply_to(request["body"]["messages"][-1]["content"])))

        async with serving(answer) as served, in_use(make(served.url)) as model:
            yield Asked(model, served.client_left)

    return answering


async def _streamed(reply: Reply, left: asyncio.Event) -> AsyncIterator[Any]:
    """Yield the reply as updates, for models without a server."""
    try:
        for piece in reply.pieces:
            yield TextDelta(piece)
            await asyncio.sleep(0)
        if reply.call is not None:
            yield ToolCallUpdate("c1", 0, "Add", reply.call)
        if reply.end == "hold":
            await asyncio.sleep(TEST_TIMEOUT)
        elif reply.end == "cut":
            raise ModelError("the connection broke", "test")
        elif reply.end == "missing":
            yield FinishUpdate("missing")
        else:
            yield USAGE
    finally:
        left.set()


def scripted(reply_to: Callable[[str], Reply]) -> AbstractAsyncContextManager[Asked]:
    left = asyncio.Event()

    def reply(messages: Sequence[Message]) -> Any:
        return _streamed(reply_to(getattr(messages[-1], "text", "")), left)

    return nullcontext(Asked(ScriptedModel(*[reply] * 100, native_tools=True), left.wait))


def function(reply_to: Callable[[str], Reply]) -> AbstractAsyncContextManager[Asked]:
    left = asyncio.Event()

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:
        events = _streamed(reply_to(getattr(messages[-1], "text", "")), left)
        try:
            async for update in events:
                if isinstance(update, TextDelta):
                    yield update.text
        finally:
            await events.aclose()  # type: ignore[attr-defined]

    return nullcontext(Asked(FunctionModel(model), left.wait))


@asynccontextmanager
async def replayed(reply_to: Callable[[str], Reply]) -> AsyncIterator[Asked]:
    async def recorded(text: str) -> RecordedReply:
        reply = reply_to(text)
        updates, error = [], None
        try:
            if reply.end == "hold":
                updates = [*map(TextDelta, reply.pieces), TextDelta("never")]
            else:
                async for update in _streamed(reply, asyncio.Event()):
                    updates.append(update)
        except ModelError as err:
            error = err
        if reply.end == "stop":
            updates.append(FinishUpdate("stop"))
        times = [0.0] * len(updates)
        if reply.end == "hold":
            times[-1] = TEST_TIMEOUT
        return RecordedReply((TextMessage(text),), tuple(updates), tuple(times), error=error)

    replies = [await recorded(text) for text in ("Hi", *map(str, range(50)))]
    left = asyncio.Event()
    left.set()  # no server that could notice
    yield Asked(ReplayModel(replies, speed=1, max_pause=TEST_TIMEOUT, native_tools=True), left.wait)


def _openai(url: str) -> OpenAIModel:
    return OpenAIModel("m", base_url=f"{url}/v1", api_key=KEY, max_retries=0)


def _anthropic(url: str) -> AnthropicModel:
    return AnthropicModel("m", base_url=url, api_key=KEY, max_retries=0)


def _http(url: str) -> HttpModel:
    return HttpModel(f"{url}/v1", "m", KEY, provider="http", max_retries=0)


def _litellm(url: str) -> LiteLLMModel:
    return LiteLLMModel("openai/m", base_url=f"{url}/v1", api_key=KEY, max_retries=0)


def _fallback(url: str) -> FallbackModel:
    """Return a fallback chain whose first model never answers."""
    broken = ScriptedModel(*[ModelError("no such key", "test", 401)] * 100, native_tools=True)
    return FallbackModel(broken, _openai(url))


HTTP: dict[str, tuple[Callable[[str], Any], Callable[[Reply], list[Any]]]] = {
    "openai": (_openai, openai_steps),
    "anthropic": (_anthropic, anthropic_steps),
    "http": (_http, openai_steps),
}

# Only in its own environment (tests/suites.py), because its requirements on OpenAI's client
# conflict with those of other packages.
WITH_LITELLM = find_spec("litellm") is not None
if WITH_LITELLM:
    HTTP["litellm"] = (_litellm, openai_steps)

ADAPTERS: dict[str, Answering] = {
    "scripted": scripted,
    "function": function,
    "replay": replayed,
    **{name: over_http(make, steps) for name, (make, steps) in HTTP.items()},
    "fallback": over_http(_fallback, openai_steps),
}

QUIET = [
    # LiteLLM has filters for its own warnings, but pytest undoes them after each test.
    "ignore:.*ReadOnly.*:UserWarning",
    "ignore:.*attribute on the instance is deprecated.*:DeprecationWarning",
]
