"""Parsing half of natural tool use: requests to any model, and its replies as events."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from parser_replies import TOOLS, joined, replies, split_at
from toolweave import protocols
from toolweave.exceptions import ContractError, ModelError, SchemaError, ToolUseParsingError
from toolweave.natural import NaturalToolUseParser, ReplyEvent
from toolweave.testing import ScriptedModel

CUT_OFF = ["length", "content_filter", "missing"]


def events_of(
    parser: NaturalToolUseParser, messages: protocols.Messages = "Hi!", **options: Any
) -> list[Any]:
    """Return all events of one request."""

    async def collect() -> list[ReplyEvent]:
        return [event async for event in parser.stream(messages, **options)]

    return asyncio.run(collect())


def reply_to(reply: Any, tools: tw.Tools = TOOLS, **options: Any) -> list[Any]:
    """Return the events of one scripted reply."""
    model = ScriptedModel(reply, native_tools=options.get("tool_mode") == "native")
    return events_of(NaturalToolUseParser(model, tools, **options))


def requested(messages: protocols.Messages, tools: tw.Tools = TOOLS, **options: Any) -> Any:
    """Return the only request of a conversation."""
    model = ScriptedModel("Fine.", native_tools=options.get("tool_mode") == "native")
    asked = {key: options.pop(key) for key in ("options",) if key in options}
    events_of(NaturalToolUseParser(model, tools, **options), messages, **asked)
    return model.requests[0]


def texts(request: Any) -> list[tuple[str, str]]:
    return [(message.role.value, message.text) for message in request.messages]


# Requests.


def test_the_tools_are_described_in_the_first_system_message() -> None:
    system = tw.TextMessage("Be brief.", role="system")
    second_system = tw.TextMessage("And kind.", role="system")
    request = requested([system, "Hi!", second_system])
    assert texts(request) == [
        ("system", tw.system_prompt(TOOLS, "Be brief.")),
        ("user", "Hi!"),
        ("system", "And kind."),
    ]


def test_without_a_system_message_one_is_put_first() -> None:
    assert texts(requested("Hi!")) == [("system", tw.system_prompt(TOOLS)), ("user", "Hi!")]


def test_every_request_describes_the_tools_once() -> None:
    model = ScriptedModel("One.", "Two.")
    parser = NaturalToolUseParser(model, TOOLS)
    events_of(parser, "Hi!")
    events_of(parser, model.requests[0].messages)
    assert model.requests[1].messages == model.requests[0].messages


def test_without_tools_the_prompt_has_no_section() -> None:
    request = requested("Hi!", [])
    assert texts(request) == [("user", "Hi!")]
    assert request.options is None


def test_tools_that_are_gone_are_taken_out_of_the_prompt() -> None:
    prompted = requested("Hi!").messages
    assert texts(requested(prompted, [])) == [("user", "Hi!")]


@pytest.mark.parametrize("style", ["compact", "full"])
@pytest.mark.parametrize("tag", ["name", "tool_call"])
@pytest.mark.parametrize("fenced", [True, False])
def test_history_is_written_as_the_prompt_asks_for_calls(
    style: Any, tag: Any, fenced: bool
) -> None:
    call = tw.ToolCall("c", "Add", {"a": 1, "b": 2})
    history = [
        tw.TextMessage("1 + 2?"),
        tw.ToolAggregateMessage([call], [tw.ToolResult("c", "Add", "3")]),
    ]
    request = requested(history, style=style, tag=tag, fenced=fenced)
    written = tw.consolidate(history, tools=TOOLS, form="turn", tag=tag, fenced=fenced)
    assert list(request.messages[1:]) == written
    assert request.messages[0].text == tw.system_prompt(TOOLS, style=style, tag=tag, fenced=fenced)


def test_the_single_form_ends_with_a_user_message() -> None:
    call = tw.ToolCall("c", "Add", {"a": 1, "b": 2})
    history = [
        tw.TextMessage("Be brief.", role="system"),
        tw.TextMessage("1 + 2?"),
        tw.TextMessage("I add.", role="assistant"),
        tw.ToolAggregateMessage([call], [tw.ToolResult("c", "Add", "3")]),
    ]
    system, question, transcript = requested(history, form="single").messages
    assert system.text == tw.system_prompt(TOOLS, "Be brief.")
    assert (question.role, question.text) == (tw.Role.USER, "1 + 2?")
    assert transcript.role is tw.Role.USER
    assert transcript.text.startswith("I add.\n<Add>")
    assert transcript.text.endswith("</tool_response>")


def test_a_turn_is_sent_in_order_with_all_results_after_it() -> None:
    def ran(call_id: str) -> tw.ToolAggregateMessage:
        call = tw.ToolCall(call_id, "Add", {"a": 1, "b": 2})
        return tw.ToolAggregateMessage(
            [call], [tw.ToolResult(call_id, "Add", call_id)], generation_id="g"
        )

    def assistant(text: str) -> tw.TextMessage:
        return tw.TextMessage(text, role="assistant", generation_id="g")

    history = [
        "Go.",
        assistant("First."),
        ran("c1"),
        assistant("Then."),
        ran("c2"),
        assistant("Wait."),
    ]
    _, question, turn, results = texts(requested(history))
    assert question == ("user", "Go.")
    assert turn[0] == "assistant"
    assert re.sub(r"<Add>.*?</Add>", "CALL", turn[1], flags=re.DOTALL) == (
        "First.\nCALL\nThen.\nCALL\nWait."
    )
    assert results[0] == "user"
    assert re.findall(r"\nc[12]\n", results[1]) == ["\nc1\n", "\nc2\n"]


def test_requests_have_a_stop_sequence_against_fabricated_results() -> None:
    assert requested("Hi!").options.stop == ("<tool_response",)
    own = protocols.ModelOptions(temperature=0.5, stop=("END",))
    options = requested("Hi!", options=own).options
    assert options == protocols.ModelOptions(temperature=0.5, stop=("END", "<tool_response"))


def test_the_stop_sequence_can_be_disabled() -> None:
    assert requested("Hi!", stop=False).options is None


def test_stop_sequences_stay_within_the_limit_of_providers() -> None:
    own = protocols.ModelOptions(stop=("a", "b", "c", "d"))
    assert requested("Hi!", options=own).options == own
    own = protocols.ModelOptions(stop=("<tool_response",))
    assert requested("Hi!", options=own).options == own


def test_native_requests_hand_tools_and_messages_to_the_provider() -> None:
    call = tw.ToolCall("c", "Add", {"a": 1, "b": 2})
    history = (
        tw.TextMessage("1 + 2?"),
        tw.ToolAggregateMessage([call], [tw.ToolResult("c", "Add", "3")]),
    )
    request = requested(history, tool_mode="native")
    assert request.messages == history
    assert [tool.name for tool in request.tools] == [
        tool if isinstance(tool, str) else tool["name"] for tool in TOOLS
    ]
    assert request.options is None


@pytest.mark.parametrize(
    ("mode", "tools", "chosen"),
    [("native", ["Any"], "required"), ("native", [], None), ("natural", ["Any"], None)],
)
def test_a_choice_among_tools_is_left_to_the_provider_where_it_has_some(
    mode: str, tools: list[str], chosen: str | None
) -> None:
    options = protocols.ModelOptions(tool_choice="required", stop=("END",))
    request = requested("Hi!", tools, tool_mode=mode, stop=False, options=options)
    assert request.options == protocols.ModelOptions(tool_choice=chosen, stop=("END",))


@pytest.mark.parametrize("native", [True, False])
def test_auto_is_native_for_a_model_that_can(native: bool) -> None:
    model = ScriptedModel("Fine.", native_tools=native)
    parser = NaturalToolUseParser(model, TOOLS, tool_mode="auto")
    events_of(parser)
    assert parser.native is native
    assert bool(model.requests[0].tools) is native


def test_a_model_that_says_nothing_of_native_calls_is_asked_in_text() -> None:
    async def model(messages: Sequence[tw.Message]) -> str:
        return f"{len(messages)} messages"

    parser = NaturalToolUseParser(model, TOOLS, tool_mode="auto")
    assert parser.native is False
    assert events_of(parser) == [tw.TextDelta("2 messages"), tw.FinishUpdate("stop")]


def test_tools_of_a_request_take_the_place_of_its_own() -> None:
    model = ScriptedModel("<B>{}</B> <A>{}</A>")
    parser = NaturalToolUseParser(model, ["A"])
    calls = [e for e in events_of(parser, tools=["B"]) if isinstance(e, tw.ToolCall)]
    assert [call.name for call in calls] == ["B"]
    assert "## B" in model.requests[0].messages[0].text
    assert "## A" not in model.requests[0].messages[0].text


def test_tools_that_change_between_requests_take_effect() -> None:
    model = ScriptedModel("<A>{}</A><B>{}</B>", "<A>{}</A><B>{}</B>")
    tools = ["A"]
    parser = NaturalToolUseParser(model, tools)
    first = [e.name for e in events_of(parser) if isinstance(e, tw.ToolCall)]
    tools[:] = ["A", "B"]
    second = [e.name for e in events_of(parser) if isinstance(e, tw.ToolCall)]
    assert (first, second) == (["A"], ["A", "B"])


@pytest.mark.parametrize(
    "tools",
    [
        [tw.FunctionContract("A")],
        ["A"],
        iter(["A"]),
        {"A": None},
        {"A": {"type": "object"}},
        {"A": {"parameters": {"type": "object"}}},
        {"A": tw.FunctionContract("A")},
        [{"type": "function", "function": {"name": "A"}}],
    ],
)
def test_tools_are_taken_in_every_form_for_every_request(tools: Any) -> None:
    parser = NaturalToolUseParser(ScriptedModel("<A>{}</A>", "<A>{}</A>"), tools)
    for _ in range(2):
        assert any(isinstance(event, tw.ToolCall) for event in events_of(parser))


# Replies.


def test_text_calls_and_fabricated_results_are_in_order() -> None:
    made_up = '<tool_response name="Ping">pong</tool_response>'
    events = reply_to(["I ", "ping. <Ping>{}", f"</Ping>{made_up}", " It works."])
    assert joined(events[:-1]) == [
        tw.TextDelta("I ping. "),
        tw.ToolCallStart(0, "call_0", "Ping"),
        tw.ToolCallDelta(0, "{}"),
        tw.ToolCall("call_0", "Ping", {}, "<Ping>{}</Ping>"),
        tw.FabricatedResult("Ping", made_up),
        tw.TextDelta(" It works."),
    ]
    assert events[-1] == tw.FinishUpdate("tool_calls")


def test_a_fabricated_result_is_logged_without_its_content(caplog: Any) -> None:
    with caplog.at_level(logging.WARNING, "toolweave.natural"):
        reply_to('<tool_response name="Ping">secret</tool_response>')
    (record,) = caplog.records
    assert record.tool == "Ping"
    assert "secret" not in str(vars(record))


def test_reasoning_and_usage_pass_as_they_are() -> None:
    pieces = [tw.ReasoningDelta("Hm."), "Hello.", tw.UsageUpdate(3, 4)]
    assert reply_to(pieces) == [
        tw.ReasoningDelta("Hm."),
        tw.TextDelta("Hello."),
        tw.UsageUpdate(3, 4),
        tw.FinishUpdate("stop"),
    ]


@given(reply=replies, cuts=st.lists(st.integers(0, 500), max_size=8))
def test_the_events_are_those_of_the_parser_whatever_the_chunks(
    reply: str, cuts: list[int]
) -> None:
    expected = tw.parse(reply, TOOLS)
    *events, finish = reply_to(split_at(reply, cuts))
    assert joined(events) == joined(expected)
    called = any(isinstance(event, tw.ToolCallStart) for event in events)
    assert finish == tw.FinishUpdate("tool_calls" if called else "stop")


@given(reply=replies, reason=st.sampled_from(CUT_OFF))
def test_a_reply_that_was_cut_off_completes_no_open_call(reply: str, reason: str) -> None:
    expected = tw.parse(reply, TOOLS, truncated=True)
    *events, finish = reply_to([reply, tw.FinishUpdate(reason)])
    assert joined(events) == joined(expected)
    assert finish == tw.FinishUpdate(reason)


@pytest.mark.parametrize("reason", CUT_OFF)
@pytest.mark.parametrize("mode", ["natural", "native"])
def test_a_call_that_looks_complete_is_invalid_if_the_reply_was_truncated(
    reason: str, mode: str
) -> None:
    call: Any = (
        "<Ping>{}" if mode == "natural" else tw.ToolCallUpdate("c", 0, "Ping", '{"more": 1}')
    )
    events = reply_to(["Well. ", call, tw.FinishUpdate(reason)], tool_mode=mode)
    assert [type(event).__name__ for event in events] == [
        "TextDelta",
        "ToolCallStart",
        "ToolCallDelta",
        "InvalidToolCall",
        "FinishUpdate",
    ]
    assert events[3].kind == "unclosed"
    assert events[4].reason == reason


def test_a_stream_without_a_finish_is_truncated() -> None:
    class Silent:
        async def stream(self, *_: Any, **__: Any) -> AsyncIterator[tw.Update]:
            yield tw.TextDelta("<Ping>{}")

    *_, invalid, finish = events_of(NaturalToolUseParser(Silent(), TOOLS))
    assert (invalid.kind, finish.reason) == ("unclosed", "missing")


@pytest.mark.parametrize("mode", ["natural", "native"])
def test_an_error_of_the_model_is_raised_after_all_events(mode: Any) -> None:
    failure = ModelError("the connection was lost", "scripted")
    call: Any = "<Ping>{}" if mode == "natural" else tw.ToolCallUpdate("c", 0, "Ping", "{}")
    parser = NaturalToolUseParser(
        ScriptedModel(["Well. ", call, failure], native_tools=mode == "native"),
        TOOLS,
        tool_mode=mode,
    )
    seen: list[Any] = []

    async def collect() -> None:
        async for event in parser.stream("Hi!"):
            seen.append(event)  # noqa: PERF401 - what came before it raised

    with pytest.raises(ModelError) as caught:
        asyncio.run(collect())
    assert caught.value is failure
    assert seen[0] == tw.TextDelta("Well. ")
    assert seen[-1].kind == "unclosed"
    assert not any(isinstance(event, (tw.ToolCall, tw.FinishUpdate)) for event in seen)


def test_an_invalid_update_is_an_error_that_says_so() -> None:
    class Wrong:
        async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            yield "text"

    with pytest.raises(TypeError, match=r"expected a TextDelta, .* got str"):
        events_of(NaturalToolUseParser(Wrong(), TOOLS))


def test_the_first_of_two_ends_counts_and_nothing_is_lost() -> None:
    pieces = ["X", tw.FinishUpdate("stop"), "Y", tw.UsageUpdate(1, 2), tw.FinishUpdate("length")]
    assert reply_to(pieces) == [
        tw.TextDelta("X"),
        tw.TextDelta("Y"),
        tw.UsageUpdate(1, 2),
        tw.FinishUpdate("stop"),
    ]


def test_a_reader_that_leaves_closes_the_model() -> None:
    model = ScriptedModel(["one ", "two ", "three "])

    async def leave() -> None:
        stream = NaturalToolUseParser(model, TOOLS).stream("Hi!")
        async for _ in stream:
            break
        await stream.aclose()

    asyncio.run(leave())
    assert model.abandoned == 1


def test_cancelling_the_reader_cancels_the_model() -> None:
    cancelled: list[bool] = []

    async def model(_: Any) -> AsyncIterator[str]:
        yield "one "
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def main() -> None:
        seen = asyncio.Event()

        async def read() -> None:
            async for _ in NaturalToolUseParser(model, TOOLS).stream("Hi!"):
                seen.set()

        task = asyncio.create_task(read())
        await asyncio.wait_for(seen.wait(), 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert cancelled == [True]


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        ("<Add>{nonsense}</Add>", "invalid_json"),
        ('<Add>{"a": 1}</Add>', "schema_violation"),
        ('<tool_call name="Nope">{}</tool_call>', "unknown_tool"),
        ('<Add>{"a": 1', "unclosed"),
    ],
)
def test_strict_mode_raises_for_an_invalid_call_after_all_earlier_events(
    bad: str, kind: str
) -> None:
    parser = NaturalToolUseParser(
        ScriptedModel(f"Well. <Ping>{{}}</Ping>{bad} More."), TOOLS, strict=True
    )
    seen: list[Any] = []

    async def collect() -> None:
        async for event in parser.stream("Hi!"):
            seen.append(event)  # noqa: PERF401 - what came before it raised

    with pytest.raises(ToolUseParsingError, match=kind) as caught:
        asyncio.run(collect())
    assert caught.value.call.kind == kind
    assert seen[0] == tw.TextDelta("Well. ")
    assert any(isinstance(event, tw.ToolCall) for event in seen)
    assert tw.TextDelta(" More.") not in seen


def test_complete_gives_thoughts_texts_and_calls_in_order_then_usage() -> None:
    reply = [
        tw.ReasoningDelta("Hm."),
        "Ping. <Ping>{}</Ping> And ",
        '<Add>{"a": 1}</Add>again.<Ping/>',
        '<tool_response name="Ping">x</tool_response>',
        tw.UsageUpdate(5, 6),
    ]
    parsed = asyncio.run(NaturalToolUseParser(ScriptedModel(reply), TOOLS).complete("Hi!"))
    thought, text, first, rest, last, usage = parsed.messages
    assert [each.text for each in (thought, text, rest)] == ["Hm.", "Ping. ", " And again."]
    calls = [*first.tool_calls, *last.tool_calls]
    assert [(call.name, call.index) for call in calls] == [("Ping", 0), ("Ping", 2)]
    assert (usage.input_tokens, usage.output_tokens) == (5, 6)
    assert [bad.kind for bad in parsed.invalid] == ["schema_violation"]
    assert [made_up.name for made_up in parsed.fabricated] == ["Ping"]
    assert parsed.finish_reason == "tool_calls"


def test_ids_of_calls_can_be_given_for_one_reply() -> None:
    model = ScriptedModel(["<Ping/>", tw.ToolCallUpdate(None, 0, "Ping", "{}"), "<Ping/>"])
    parser = NaturalToolUseParser(model, TOOLS)
    events = events_of(parser, call_ids=lambda index: f"r7-{index}")
    calls = [event for event in events if isinstance(event, tw.ToolCall)]
    assert [(call.id, call.index) for call in calls] == [("r7-0", 0), ("r7-2", 2), ("r7-1", 1)]
    starts = [event for event in events if isinstance(event, tw.ToolCallStart)]
    assert [(start.id, start.index) for start in starts] == [("r7-0", 0), ("r7-1", 1), ("r7-2", 2)]


def test_functions_are_tools_as_in_a_toolset() -> None:
    def search(query: str, limit: int = 10) -> str:
        return query * limit

    reply = '<{}>{{"query": "x", "limit": "3"}}</{}>'
    for name, tools in ("search", [search]), ("find", {"find": search}):
        parser = NaturalToolUseParser(ScriptedModel(reply.format(name, name)), tools)
        [call] = [each for each in events_of(parser) if isinstance(each, tw.ToolCall)]
        assert (call.name, call.arguments) == (name, {"query": "x", "limit": 3})


def test_native_and_inline_calls_of_one_reply_have_different_ids() -> None:
    events = reply_to([tw.ToolCallUpdate(None, 0, "Ping", "{}"), "<Ping/><Ping/>"])
    calls = {event.index: event.id for event in events if isinstance(event, tw.ToolCall)}
    assert calls == {0: "call_0", 1: "call_1", 2: "call_2"}


# Invalid options.


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"tool_mode": "both"}, ValueError, "tool_mode must be 'natural', 'native' or 'auto'"),
        ({"tag": "x"}, ValueError, "tag must be"),
        ({"form": "x"}, ValueError, "form must be"),
        ({"rewrite_plain_replies": True}, ValueError, "requires a fallback"),
        ({"repair": "magic"}, ValueError, "repair"),
        ({"fallback": 7}, TypeError, " must have a method"),
        ({"model": 7}, TypeError, " must have a method"),
        ({"tools": [7]}, TypeError, "a tool must be a FunctionContract"),
        ({"tools": "A"}, TypeError, "must be a list or a mapping"),
        ({"tools": 7}, TypeError, "must be a list or a mapping"),
        ({"tools": ["A", "A"]}, ContractError, "A"),
        ({"tools": {"B": tw.FunctionContract("A")}}, ContractError, "key of tool 'A' must be its"),
        ({"tools": {"B": {"name": "A"}}}, ContractError, "key of tool 'A' must be its name"),
        ({"tools": {"B": "A"}}, ContractError, "key of tool 'A' must be its name, got 'B'"),
        ({"tools": {"A": {"properties": {"a": {"type": 7}}}}}, ContractError, "/properties/a"),
        ({"tools": {"A": {"$ref": "https://nowhere.example/x"}}}, SchemaError, "nowhere"),
    ],
)
def test_a_wrong_option_is_an_error_at_once(
    options: dict[str, Any], error: type[Exception], match: str
) -> None:
    options = {"model": ScriptedModel(), **options}
    with pytest.raises(error, match=match):
        NaturalToolUseParser(options.pop("model"), **options)


def test_it_has_the_name_of_its_model() -> None:
    parser = NaturalToolUseParser(ScriptedModel(name="m1", provider="acme"))
    assert (parser.name, parser.provider) == ("m1", "acme")
