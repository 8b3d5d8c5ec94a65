"""Calls that a server has left in the text of a native reply."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from coroutine_tests import on_a_loop
from loop_watchdog import left_out
from toolweave.exceptions import ModelError
from toolweave.natural import NaturalToolUse, NaturalToolUseParser
from toolweave.natural._recovery import rejects_tools
from toolweave.protocols import ModelOptions
from toolweave.testing import ScriptedModel
from tracing_spans import exporter, reader

Update = tw.ToolCallUpdate


def hermes(name: str, **arguments: Any) -> str:
    """Return a call as Hermes and Qwen write it."""
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def native(call_id: str, index: int, name: str, **arguments: Any) -> tw.ToolCallUpdate:
    """Return a native call in one fragment."""
    return Update(call_id, index, name, json.dumps(arguments))


def scripted(*replies: Any, **options: Any) -> ScriptedModel:
    """Return a model with native calls."""
    return ScriptedModel(*replies, native_tools=True, **options)


def use_of(*replies: Any, mode: Any = "native", **options: Any) -> NaturalToolUse:
    """Return natural tool use with the replies of a model, and a tool."""

    def add(a: int, b: int) -> int:
        return a + b

    def ping() -> str:
        return "pong"

    return NaturalToolUse(scripted(*replies), [add, ping], tool_mode=mode, **options)


async def events_of(use: NaturalToolUse, **options: Any) -> list[Any]:
    """Return the events of one reply."""
    return [event async for event in use.stream("Hi!", **options)]


def calls_of(messages: Sequence[tw.Message]) -> list[tw.ToolCall]:
    """Return the calls of messages."""
    return [call for each in messages for call in getattr(each, "tool_calls", ())]


def of(kind: Any, events: Sequence[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


@on_a_loop
@pytest.mark.parametrize("mode", ["native", "auto"])
async def test_a_call_in_the_text_of_a_native_reply_runs(mode: Any) -> None:
    events = await events_of(use_of(["I add. ", hermes("add", a=2, b=3)], mode=mode))
    [start], [call] = of(tw.ToolCallStart, events), of(tw.ToolCall, events)
    assert (start.recovered, call.recovered, call.dialect) == (True, True, "hermes")
    assert "recovered=True" in repr(start)
    assert "recovered=True" in repr(call)
    assert call != call.__replace__(recovered=False)
    [message] = of(tw.ToolAggregateMessage, events)
    assert [result.result for result in message.tool_results] == ["5"]
    assert [event.text for event in of(tw.TextDelta, events)] == ["I add. "]
    assert events[-1] == tw.FinishUpdate("tool_calls")


@on_a_loop
async def test_the_wire_shows_recovered_calls_only() -> None:
    use = use_of([hermes("ping")], [native("a", 0, "ping")])
    [[recovered], [plain]] = [of(tw.ToolAggregateMessage, await events_of(use)) for _ in range(2)]
    [call] = recovered.to_dict()["toolCalls"]
    assert call["recovered"] is True
    assert "recovered" not in plain.to_dict()["toolCalls"][0]
    assert tw.ToolAggregateMessage.from_dict(recovered.to_dict()) == recovered
    assert not plain.tool_calls[0].recovered


@on_a_loop
@pytest.mark.parametrize("form", ["turn", "single", "split"])
async def test_consolidated_histories_keep_the_mark(form: Any) -> None:
    [message] = of(tw.ToolAggregateMessage, await events_of(use_of([hermes("ping")])))
    written = tw.consolidate([tw.TextMessage("Hi!"), message], form=form, tools=["ping"])
    assert [call.recovered for call in calls_of(tw.parse_history(written, ["ping"]))] == [True]


@on_a_loop
async def test_natural_calls_are_not_recovered() -> None:
    events = await events_of(use_of('<add>{"a": 1, "b": 1}</add>', mode="natural"))
    assert [call.recovered for call in of(tw.ToolCall, events)] == [False]


@on_a_loop
async def test_a_recovered_call_is_logged_counted_and_traced(
    caplog: pytest.LogCaptureFixture,
) -> None:
    spans, measured = exporter(), reader()
    spans.clear()
    with caplog.at_level(logging.INFO, "toolweave.natural"):
        await events_of(use_of([hermes("add", a=2, b=3)]))
    [record] = [each for each in caplog.records if "recovered" in each.getMessage()]
    shown = vars(record)
    assert (shown["tool"], shown["dialect"], shown["model"]) == ("add", "hermes", "scripted")
    [span] = [each for each in spans.get_finished_spans() if each.name.startswith("execute_tool")]
    assert dict(span.attributes or {})["toolweave.tool.call.recovered"] is True
    with left_out():
        # What all tests of the process have measured.
        data = measured.get_metrics_data()
    assert data is not None
    metrics = [m for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics]
    [counter] = [each for each in metrics if each.name == "toolweave.client.recovered_calls"]
    counts = [dict(point.attributes or {}) for point in counter.data.data_points]
    assert any(point["toolweave.tool.call.dialect"] == "hermes" for point in counts)


@on_a_loop
async def test_text_stays_text_where_the_request_allows_no_call() -> None:
    written = hermes("add", a=2, b=3)
    use = use_of(written, written)
    events = await events_of(use, options=ModelOptions(tool_choice="none"))
    assert "".join(event.text for event in of(tw.TextDelta, events)) == written
    async with use.open("Hi!", with_tools=False) as reply:
        events = [event async for event in reply]
    assert "".join(event.text for event in of(tw.TextDelta, events)) == written
    assert reply.calls == ()


@on_a_loop
async def test_recovered_calls_can_be_refused() -> None:
    pieces = [hermes("add", a=2, b=3), native("c1", 0, "ping")]
    events = await events_of(use_of(pieces, accept=("native",)))
    assert [call.name for call in of(tw.ToolCall, events)] == ["ping"]
    [refused] = of(tw.InvalidToolCall, events)
    assert (refused.kind, refused.recovered) == ("refused", True)


@on_a_loop
async def test_a_recovered_call_that_is_invalid_has_an_error_as_its_result() -> None:
    events = await events_of(use_of(hermes("add", a=2)))
    [invalid] = of(tw.InvalidToolCall, events)
    assert (invalid.recovered, invalid.dialect) == (True, "hermes")
    assert "recovered=True" in repr(invalid)
    assert invalid != invalid.__replace__(recovered=False)
    [message] = of(tw.ToolAggregateMessage, events)
    assert [result.is_error for result in message.tool_results] == [True]
    [call] = message.tool_calls
    assert (call.recovered, call.dialect) == (True, "hermes")


TWICE: dict[str, list[Any]] = {
    "text first": [hermes("add", a=2, b=3), native("c1", 0, "add", b=3, a=2)],
    "native first": [native("c1", 0, "add", b=3, a=2), hermes("add", a=2, b=3)],
    "open native call": [
        Update("c1", 0, "add", '{"a": 2,'),
        hermes("add", a=2, b=3),
        Update(None, 0, None, ' "b": 3}'),
    ],
    "another type": [hermes("add", a="2", b=3), native("c1", 0, "add", a=2, b=3)],
}


@on_a_loop
@pytest.mark.parametrize("pieces", TWICE.values(), ids=TWICE)
async def test_a_call_that_is_native_and_in_the_text_runs_once(pieces: list[Any]) -> None:
    events = await events_of(use_of(pieces))
    [message] = of(tw.ToolAggregateMessage, events)
    assert [call.arguments for call in message.tool_calls] == [{"a": 2, "b": 3}]
    [duplicate] = [each for each in of(tw.Discarded, events) if each.reason == "duplicate"]
    assert duplicate.raw
    assert len(of(tw.ToolCallStart, events)) == len(of(tw.ToolCall, events)) == 1


DIFFERENT: dict[str, tuple[list[Any], int]] = {
    "other arguments": ([hermes("add", a=2, b=3), native("c1", 0, "add", a=2, b=4)], 2),
    "other tool": ([hermes("add", a=2, b=3), native("c1", 0, "ping")], 2),
    "two native calls": (
        [native("c1", 0, "ping"), native("c2", 1, "ping"), hermes("ping")],
        2,
    ),
    "two calls in the text": ([hermes("ping") * 2, native("c1", 0, "ping")], 2),
    "two of each": (
        [hermes("ping"), native("c1", 0, "ping"), hermes("ping"), native("c2", 1, "ping")],
        2,
    ),
}


@on_a_loop
@pytest.mark.parametrize(("pieces", "count"), DIFFERENT.values(), ids=DIFFERENT)
async def test_only_pairs_of_equal_calls_are_duplicates(pieces: list[Any], count: int) -> None:
    events = await events_of(use_of(pieces))
    assert len(of(tw.ToolCall, events)) == count
    ids = [result.tool_call_id for result in of(tw.ToolResult, events)]
    assert len(ids) == len(set(ids)) == count


_text = st.text("ab .<>{}\n", max_size=12)
_examples: list[tuple[str, dict[str, Any]]] = [
    ("add", {"a": 1, "b": 2}),
    ("add", {"a": 3, "b": 4}),
    ("ping", {}),
    ("Nope", {"x": 1}),
    ("add", {"a": "x"}),
]
_calls = st.sampled_from(_examples)


def _in_dialects(name: str, arguments: dict[str, Any]) -> list[str]:
    """Return a call as models of several families write it."""
    text = json.dumps(arguments)
    parameters = [f"<parameter={key}>\n{value}\n</parameter>" for key, value in arguments.items()]
    pairs = [
        f"<arg_key>{key}</arg_key>\n<arg_value>{value}</arg_value>"
        for key, value in arguments.items()
    ]
    tags = [f'<parameter name="{key}">{value}</parameter>' for key, value in arguments.items()]
    return [
        hermes(name, **arguments),
        f'<tool_call name="{name}">{text}</tool_call>',
        "\n".join(
            ["<tool_call>", f"<function={name}>", *parameters, "</function>", "</tool_call>"]
        ),
        "\n".join([f"<tool_call>{name}", *pairs, "</tool_call>"]),
        f'<minimax:tool_call><invoke name="{name}">{"".join(tags)}</invoke></minimax:tool_call>',
        f"[TOOL_CALLS]{name}[ARGS]{text}",
        f'```json\n{{"name": "{name}", "arguments": {text}}}\n```',
        f"<|tool_call>call:{name}{text}<tool_call|>",
    ]


_written = _calls.flatmap(lambda call: st.sampled_from(_in_dialects(*call)))


@st.composite
def _replies(draw: st.DrawFn) -> list[Any]:
    """Return the pieces of a reply with text, calls in it, and native calls, at any cuts."""
    pieces: list[Any] = []
    for number, part in enumerate(draw(st.lists(st.one_of(_text, _written, _calls), max_size=8))):
        if isinstance(part, str):
            cuts = sorted(draw(st.lists(st.integers(0, len(part)), max_size=4)))
            ends = [*cuts, len(part)]
            pieces += [part[a:b] for a, b in zip([0, *cuts], ends, strict=True) if a < b]
        else:
            pieces.append(native(f"c{number}", number, part[0], **part[1]))
    return pieces


@given(_replies())
def test_every_call_has_one_result_and_no_text_is_lost(pieces: list[Any]) -> None:
    events = asyncio.run(events_of(use_of(pieces, pieces)))
    ended = of((tw.ToolCall, tw.InvalidToolCall), events)
    assert sorted(each.index for each in of(tw.ToolCallStart, events)) == sorted(
        each.index for each in ended
    )
    results = [
        result.tool_call_id
        for message in of(tw.ToolAggregateMessage, events)
        for result in message.tool_results
    ]
    assert len(results) == len(set(results)) == len(ended)
    # Each character of the text is in exactly one event.
    read = [
        each.text if isinstance(each, tw.TextDelta) else each.raw
        for each in of((tw.TextDelta, tw.ToolCall, tw.InvalidToolCall, tw.Discarded), events)
    ]
    sent = [piece if isinstance(piece, str) else piece.function_args for piece in pieces]
    if "".join(sent).strip():
        # An empty reply is requested once more.
        assert sorted("".join(read)) == sorted("".join(sent))


# Learning.

MARKED = "<start_function_call>call:add{a:1,b:2}<end_function_call>"
STRIPPED = "call:add{a:1,b:2}"


@on_a_loop
@pytest.mark.parametrize(("mode", "calls"), [("auto", [1, 1]), ("native", [1, 0])])
async def test_a_dialect_of_a_recovered_call_is_named_from_then_on(
    mode: Any, calls: list[int]
) -> None:
    use = use_of(MARKED, STRIPPED, mode=mode)
    found = [of(tw.ToolCall, await events_of(use)) for _ in range(2)]
    assert [len(each) for each in found] == calls
    assert {call.dialect for each in found for call in each} == {"functiongemma"}


QUOTED = {
    "bare": '{"name": "add", "arguments": {"a": 1, "b": 2}}',
    "llama": '{"name": "add", "parameters": {"a": 1, "b": 2}}',
    "fenced": '```json\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n```',
    "list": '[{"name": "add", "arguments": {"a": 1, "b": 2}}]',
    "python": "[add(a=1, b=2)]",
    "react": 'Action: add\nAction Input: {"a": 1, "b": 2}',
    "tools": '<tools>\n{"name": "add", "arguments": {"a": 1, "b": 2}}\n</tools>',
}


@on_a_loop
@pytest.mark.parametrize("written", QUOTED.values(), ids=QUOTED)
async def test_a_form_without_a_marker_counts_at_the_beginning_of_replies_only(
    written: str,
) -> None:
    quoting = f"A model could write\n\n{written}\n\nto add."
    use = use_of(hermes("ping"), written, quoting, written, mode="auto")
    found = [of(tw.ToolCall, await events_of(use)) for _ in range(4)]
    assert [len(each) for each in found] == [1, 1, 0, 1]


@on_a_loop
async def test_a_stripped_call_is_text_while_its_dialect_is_not_known() -> None:
    events = await events_of(use_of(STRIPPED, mode="auto"))
    assert of(tw.ToolCall, events) == []


@on_a_loop
async def test_a_stripped_call_is_read_if_its_dialect_is_known_from_the_model() -> None:
    model = scripted(STRIPPED, name="google/functiongemma-270m-it")
    reply = await NaturalToolUseParser(model, ["add"], tool_mode="native").complete("Hi!")
    [call] = calls_of(reply.messages)
    assert (call.dialect, call.recovered) == ("functiongemma", True)


@on_a_loop
async def test_dialects_that_the_caller_names_are_the_only_ones() -> None:
    parser = NaturalToolUseParser(
        scripted(hermes("add"), hermes("add")),
        ["add"],
        tool_mode="auto",
        dialects=("natural",),
    )
    for _ in range(2):
        reply = await parser.complete("Hi!")
        assert [each.kind for each in reply.messages] == ["text"]


class WithoutTools:
    """A model whose server rejects tools, with this error."""

    name = "gemma"
    native_tools = True

    def __init__(self, error: ModelError) -> None:
        self._error = error
        self.requests: list[bool] = []

    async def stream(
        self,
        messages: Sequence[tw.Message],  # noqa: ARG002 - of the protocol
        *,
        tools: Sequence[tw.FunctionContract] = (),
        options: ModelOptions | None = None,  # noqa: ARG002 - of the protocol
    ) -> AsyncIterator[Any]:
        self.requests.append(bool(tools))
        if tools:
            raise self._error
        yield tw.TextDelta('<add>{"a": 1, "b": 2}</add>')
        yield tw.FinishUpdate("stop")


REJECTIONS = [
    (400, "registry.ollama.ai/library/gemma:2b does not support tools"),
    (400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'),
    (500, "tools param requires --jinja flag"),
    (404, 'No endpoints found that support tool use. Try disabling "get_weather".'),
    (400, "Unrecognized request argument supplied: tools"),
    (400, "Unknown parameter: 'tools'."),
    (422, "tools: Extra inputs are not permitted; tools is not supported"),
    (400, "This model doesn't support function calling"),
    (400, "Function calling is not enabled for this model"),
    (501, "Tool use is not supported"),
]
OTHER_ERRORS = [
    (400, "Invalid schema for function 'add': None is not of type 'object'"),
    (400, "Invalid 'tools[0].function.name': string does not match pattern"),
    (400, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"),
    (400, "temperature is not supported with this model"),
    (401, "this key does not support tools"),
    (429, "too many tools are not supported right now"),
    (None, "does not support tools"),
    (400, "max_tokens is too large: 9000. This model supports at most 4096 completion tokens"),
]


@pytest.mark.parametrize(("status", "message"), REJECTIONS)
def test_an_error_that_tools_are_not_supported_is_recognized(status: int, message: str) -> None:
    assert rejects_tools(ModelError(message, "p", status))


@pytest.mark.parametrize(("status", "message"), OTHER_ERRORS)
def test_other_errors_are_not_about_tools(status: int | None, message: str) -> None:
    assert not rejects_tools(ModelError(message, "p", status))


@on_a_loop
async def test_a_server_that_rejects_tools_gets_natural_requests_from_then_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = WithoutTools(ModelError("gemma does not support tools", "ollama", 400))
    parser = NaturalToolUseParser(model, ["add"], tool_mode="auto")
    assert parser.native
    with caplog.at_level(logging.WARNING, "toolweave.natural"):
        replies = [await parser.complete("Hi!") for _ in range(2)]
    calls = [call for reply in replies for call in calls_of(reply.messages)]
    assert [call.recovered for call in calls] == [False, False]
    assert (model.requests, parser.native) == ([True, False, False], False)
    [record] = [each for each in caplog.records if "rejects" in each.getMessage()]
    assert vars(record)["model"] == "gemma"


@on_a_loop
async def test_a_rejection_of_tools_is_raised_in_native_mode() -> None:
    model = WithoutTools(ModelError("gemma does not support tools", "ollama", 400))
    with pytest.raises(ModelError, match="does not support tools"):
        await NaturalToolUseParser(model, ["add"], tool_mode="native").complete("Hi!")


@on_a_loop
async def test_other_errors_are_raised_in_every_mode() -> None:
    model = WithoutTools(ModelError("the server is on fire", "ollama", 400))
    with pytest.raises(ModelError, match="fire"):
        await NaturalToolUseParser(model, ["add"], tool_mode="auto").complete("Hi!")
