"""Natural tool use over `HttpModel`: the same events as over any other model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
from coroutine_tests import collect
from effort import effort
from native_replies import native_replies
from parser_replies import NAMES, TOOLS, joined, replies, split_at
from paths import CASES
from servers.adapters import KEY
from servers.dialects import DONE, KEEP_ALIVE, call, delta, openai_calls, openai_text, openai_usage
from servers.http_models import model
from servers.raw import raw_server
from servers.scripts import answer, document, events
from servers.sse import Do
from toolweave._core import ChunkReader
from toolweave.agent import Agent
from toolweave.exceptions import ModelError, ToolUseParsingError
from toolweave.models.http import HttpModel
from toolweave.models.openai import OpenAIModel
from toolweave.natural import NaturalToolUse, NaturalToolUseParser
from toolweave.testing import ScriptedModel
from toolweave.tools import Toolset


def echo(**arguments: Any) -> Any:
    return arguments


ECHOES = Toolset(TOOLS, handlers=dict.fromkeys(NAMES, echo))


class Both:
    """One server for `HttpModel` and the client of OpenAI; created once for all examples."""

    def __init__(self) -> None:
        self.body: list[bytes] = []
        self.shape: dict[str, Any] = {}
        self.url = ""
        self.tools: Any = TOOLS
        self._native: HttpModel | None = None

    def script(self, connection: Any, request: Any) -> None:
        answer(*self.body, **self.shape)(connection, request)

    def native(self) -> HttpModel:
        if self._native is None:
            # With separate connections, which models of the same settings share, and with a
            # retry, for a kept connection that has been closed.
            own = {"connect_timeout": 9.5, "max_retries": 1}
            self._native = model(self.url, provider="openai", **own)
        return self._native

    def foreign(self) -> OpenAIModel:
        return OpenAIModel("m", base_url=f"{self.url}/v1", api_key=KEY, max_retries=0)

    def events(self, asked: Any, body: Iterable[bytes], **options: Any) -> list[Any]:
        """Return the events of a reply, followed by its error, if there is one."""
        self.body = [*body]

        async def main() -> list[Any]:
            seen: list[Any] = []
            parser = NaturalToolUseParser(asked, self.tools, **options)
            try:
                await collect(parser.stream("Hi!"), seen)
            except (ModelError, ToolUseParsingError) as error:
                seen.append(type(error))
            if isinstance(asked, OpenAIModel):
                await asked.aclose()
            return seen

        return asyncio.run(main())


@pytest.fixture(scope="module")
def both() -> Iterator[Both]:
    one = Both()
    with raw_server(one.script) as server:
        one.url = server.url
        yield one


def texts(pieces: Iterable[str]) -> list[dict[str, Any]]:
    return [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]


def native(updates: Iterable[tw.ToolCallUpdate]) -> list[dict[str, Any]]:
    return [
        {
            "choices": [
                {
                    "index": 0,
                    "delta": {
                        "tool_calls": [
                            {
                                "index": update.index,
                                "id": update.tool_call_id,
                                "function": {
                                    "name": update.function_name,
                                    "arguments": update.function_args,
                                },
                            }
                        ]
                    },
                }
            ]
        }
        for update in updates
    ]


def ending(reason: str | None) -> list[dict[str, Any]]:
    return [{"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}] if reason else []


def sse(values: Iterable[Any]) -> list[bytes]:
    return [*(b"data: %b\n\n" % json.dumps(value).encode() for value in values), DONE]


def scripted(values: Iterable[Any], *, native_tools: bool = True) -> ScriptedModel:
    """Return a model with the updates that other clients read in the chunks."""
    reader = ChunkReader()
    updates = [update for value in values for update in reader.push(value)]
    return ScriptedModel([*updates, reader.finish()], native_tools=native_tools)


ways = st.fixed_dictionaries(
    {"tool_mode": st.sampled_from(["natural", "natural", "native"])},
    optional={
        "deltas": st.booleans(),
        "repair": st.sampled_from(["none", "syntax", "schema"]),
        "strict": st.booleans(),
    },
)
reasons = st.sampled_from(["stop", "stop", "length", "tool_calls", "content_filter", None])
cuts = st.lists(st.integers(0, 500), max_size=8)


@given(reply=replies, cut=cuts, reason=reasons, way=ways)
def test_text_gives_the_same_events_as_in_other_clients(
    both: Both, reply: str, cut: list[int], reason: str | None, way: Any
) -> None:
    values = [*texts(split_at(reply, cut)), *ending(reason)]
    native_events = both.events(both.native(), sse(values), **way)
    assert joined(native_events) == joined(both.events(scripted(values), [], **way))


@given(reply=native_replies(), reply_text=replies, reason=reasons, way=ways)
@settings(max_examples=effort(30))
def test_native_calls_give_the_same_events_as_in_other_clients(
    both: Both, reply: Any, reply_text: str, reason: str | None, way: Any
) -> None:
    fragments, _ = reply
    half = len(reply_text) // 2
    values = [
        *texts([reply_text[:half]]),
        *native(fragments),
        *texts([reply_text[half:]]),
        *ending(reason),
    ]
    native_events = both.events(both.native(), sse(values), **way)
    assert joined(native_events) == joined(both.events(scripted(values), [], **way))


@given(
    reply=replies, cut=cuts, reason=reasons, end=st.sampled_from([[], [Do.CUT], [b"data: {\n\n"]])
)
@settings(max_examples=effort(25))
def test_events_equal_those_of_the_openai_client(
    both: Both, reply: str, cut: list[int], reason: str | None, end: Any
) -> None:
    body = [*sse([*texts(split_at(reply, cut)), *ending(reason)])[:-1], *end]
    native_events = both.events(both.native(), body)
    client_events = both.events(both.foreign(), body)
    assert joined(native_events) == joined(client_events)


def recorded() -> list[Any]:
    found = []
    for path in sorted((CASES / "calls").glob("*.json")):
        cases = json.loads(path.read_text("utf-8"))
        for case in cases["cases"]:
            if "reply" in case and not set(case) - {"name", "reply", "events"}:
                name = f"{path.stem}: {case['name']}"
                found.append(pytest.param(cases["tools"], case["reply"], id=name))
    return found


@pytest.mark.parametrize(("tools", "reply"), recorded())
def test_recorded_replies_give_the_events_of_the_client_of_openai(
    both: Both, tools: Any, reply: str
) -> None:
    both.tools = tools
    try:
        pieces = [reply[at : at + 3] for at in range(0, len(reply), 3)]
        body = sse([*texts(pieces), *ending("stop")])
        native_events = both.events(both.native(), body)
        client_events = both.events(both.foreign(), body)
        assert joined(native_events) == joined(client_events)
    finally:
        both.tools = TOOLS


WEATHER = '<GetWeather>{"city": "Oslo"}</GetWeather>'


def use(url: str, **options: Any) -> NaturalToolUse:
    options = {"generation_ids": lambda: "g", "clock": lambda: 0.0, **options}
    return NaturalToolUse(model(url), ECHOES, **options)


def test_an_inline_call_is_run_while_the_reply_goes_on() -> None:
    body = openai_text(["Wait. ", WEATHER[:9], WEATHER[9:], " Done."])
    with raw_server(events(*body)) as server:
        seen = asyncio.run(collect(use(server.url).stream("Hi!")))
        messages = asyncio.run(use(server.url).complete("Hi!"))
    (result,) = [event for event in seen if isinstance(event, tw.ToolResult)]
    assert json.loads(result.result) == {"city": "Oslo"}
    (used,) = [event for event in seen if isinstance(event, tw.UsageMessage)]
    assert (used.input_tokens, used.output_tokens, used.cached_input_tokens) == (7, 5, 2)
    assert seen[-1] == tw.FinishUpdate("tool_calls")
    assert [type(message).__name__ for message in messages] == [
        "TextMessage",
        "ToolAggregateMessage",
        "TextMessage",
        "UsageMessage",
    ]


def test_a_native_call_is_run_under_the_id_that_the_provider_gave() -> None:
    body = openai_calls([("c1", "Add", ['{"a": 1, ', '"b": 2}'])])
    with raw_server(events(*body)) as server:
        messages = asyncio.run(use(server.url, tool_mode="native").complete("Hi!"))
        asked = server.requests[0].json
    aggregate, _ = messages
    assert isinstance(aggregate, tw.ToolAggregateMessage)
    assert aggregate.tool_calls[0].id == "c1"
    assert json.loads(aggregate.tool_results[0].result) == {"a": 1, "b": 2}
    assert {tool["function"]["name"] for tool in asked["tools"]} >= {"Add", "GetWeather"}


@pytest.mark.parametrize("streaming", [True, False])
def test_a_document_gives_the_same_messages_as_a_stream(streaming: bool) -> None:
    message = {"role": "assistant", "content": f"Wait. {WEATHER}"}
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    with raw_server(document(whole)) as server:
        one = NaturalToolUse(model(server.url, streaming=streaming), ECHOES)
        messages = asyncio.run(one.complete("Hi!"))
    assert [type(message).__name__ for message in messages] == [
        "TextMessage",
        "ToolAggregateMessage",
    ]


def test_a_fallback_repairs_an_invalid_call_over_http_as_well() -> None:
    broken = openai_text(['<GetWeather>{"city": Oslo?}</GetWeather>'])
    with (
        raw_server(events(*broken)) as server,
        raw_server(events(*openai_text(['{"city": "Oslo"}']))) as helper,
    ):
        one = use(server.url, fallback=model(helper.url))
        aggregate, _ = asyncio.run(one.complete("Hi!"))
        assert len(helper.requests) == 1
    assert isinstance(aggregate, tw.ToolAggregateMessage)
    assert aggregate.tool_calls[0].arguments == {"city": "Oslo"}


def test_a_repaired_call_has_its_repairs() -> None:
    body = openai_text(["<Add>{'a': '1', b: 2,}</Add>"])
    with raw_server(events(*body)) as server:
        parser = NaturalToolUseParser(model(server.url), TOOLS)
        seen = asyncio.run(collect(parser.stream("Hi!")))
    (made,) = [event for event in seen if isinstance(event, tw.ToolCall)]
    assert made.arguments == {"a": 1, "b": 2}
    assert made.repairs
    assert [made] == [
        e for e in tw.parse("<Add>{'a': '1', b: 2,}</Add>", TOOLS) if isinstance(e, tw.ToolCall)
    ]


@pytest.mark.parametrize("mode", ["natural", "native"])
def test_an_agent_repeats_requests_until_there_is_an_answer(mode: Any) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    calls = {
        "natural": openai_text(['<add>{"a": 2, "b": 3}</add>']),
        "native": openai_calls([("c1", "add", ['{"a": 2,', ' "b": 3}'])]),
    }
    scripts = [events(*calls[mode]), events(KEEP_ALIVE, *openai_text(["It is 5."]))]

    async def main(url: str) -> Any:
        async with model(url) as one:
            return await Agent(one, [add], tool_mode=mode).run("2 + 3?")

    with raw_server(*scripts) as server:
        result = asyncio.run(main(server.url))
        sent = server.requests[1].json["messages"]
        assert len(server.connections) == 1
    assert result.text == "It is 5."
    assert "5" in sent[-1]["content"]


@pytest.mark.parametrize("end", [Do.CUT, b"data: {\n\n"])
def test_a_reply_that_breaks_has_its_whole_calls_and_no_open_one(end: Any) -> None:
    body = [delta(content=f"Well {WEATHER} then <Add>" + '{"a": 1'), end]
    seen: list[Any] = []
    with raw_server(events(*body)) as server:
        parser = NaturalToolUseParser(model(server.url), TOOLS)
        with pytest.raises(ModelError, match="bytes of the reply"):
            asyncio.run(collect(parser.stream("Hi!"), seen))
    calls = [event for event in seen if isinstance(event, (tw.ToolCall, tw.InvalidToolCall))]
    assert isinstance(calls[0], tw.ToolCall)
    assert [getattr(call, "kind", None) for call in calls[1:]] == ["unclosed"]
    assert "".join(e.text for e in seen if isinstance(e, tw.TextDelta)) == "Well  then "


def test_native_and_inline_calls_are_counted_together() -> None:
    fragment = call(0, id="c1", name="Add", arguments='{"a": 1, "b": 2}')
    body = [delta(content=WEATHER), delta(tool_calls=[fragment]), delta(content="<Ping/>")]
    with raw_server(events(*body, delta("stop"), openai_usage(1, 1), DONE)) as server:
        parser = NaturalToolUseParser(model(server.url), TOOLS)
        seen = asyncio.run(collect(parser.stream("Hi!")))
    made = [event for event in seen if isinstance(event, tw.ToolCall)]
    assert [(one.index, one.id, one.name) for one in sorted(made, key=lambda one: one.index)] == [
        (0, "call_0", "GetWeather"),
        (1, "c1", "Add"),
        (2, "call_2", "Ping"),
    ]
    assert seen[-1] == tw.FinishUpdate("tool_calls")
