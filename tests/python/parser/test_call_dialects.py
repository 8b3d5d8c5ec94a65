"""The dialect of a call, and the id that the model wrote: in events, messages and histories."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from typing import Any

import pytest

import toolweave as tw
from toolweave import Agent
from toolweave.testing import ScriptedModel

HERMES = '<tool_call>{"name": "Ping", "arguments": {}}</tool_call>'


def test_calls_have_the_dialect_they_are_written_in() -> None:
    events = tw.parse(f'<Ping/>{HERMES}<tool_call>{{"name": "No"}}</tool_call>', ["Ping"])
    ends = [e for e in events if isinstance(e, (tw.ToolCall, tw.InvalidToolCall))]
    assert [end.dialect for end in ends] == ["natural", "hermes", "hermes"]
    assert [type(end) for end in ends] == [tw.ToolCall, tw.ToolCall, tw.InvalidToolCall]
    parser = tw.Parser(["Ping"])
    assert parser.native_call("1", "Ping", "{}").dialect == "native"
    assert parser.native_call("1", "No", "{}").dialect == "native"
    assert parser.native_call("1", "Ping", "{}", dialect="hermes").dialect == "hermes"
    with pytest.raises(ValueError, match="hermes"):
        parser.native_call("1", "Ping", "{}", dialect="klingon")
    reader = tw.UpdateReader(parser)
    read = [*reader.push(tw.ToolCallUpdate("7", 0, "Ping", "{}")), *reader.finish(truncated=False)]
    assert read[-1].dialect == "native"  # type: ignore[union-attr]


def test_a_dialect_is_a_field_like_the_others() -> None:
    plain = tw.ToolCall("1", "Ping", {})
    call = tw.ToolCall("1", "Ping", {}, dialect="hermes")
    assert plain.dialect == "natural"
    assert plain != call
    assert repr(plain) == "ToolCall(id='1', name='Ping', arguments={})"
    assert repr(call) == "ToolCall(id='1', name='Ping', arguments={}, dialect='hermes')"
    assert pickle.loads(pickle.dumps(call)) == copy.copy(call) == call
    assert hash(call) == hash(tw.ToolCall("1", "Ping", {}, dialect="hermes")) != hash(plain)
    assert call.__replace__(dialect="natural") == plain
    match call:
        case tw.ToolCall(_, _, _, _, _, _, dialect):
            assert dialect == "hermes"
    violation = tw.Violation("", "refused", "no", None, None)
    invalid = tw.InvalidToolCall(0, "1", "Ping", "refused", "raw", (violation,))
    assert invalid.dialect == "natural"
    assert "dialect" not in repr(invalid)
    other = invalid.__replace__(dialect="hermes")
    assert repr(other).endswith("arguments=None, dialect='hermes')")
    assert pickle.loads(pickle.dumps(other)) == other != invalid


def test_a_dialect_is_on_the_wire_unless_it_is_natural() -> None:
    for dialect in ("natural", "hermes", "native", "of-a-later-version"):
        call = tw.ToolCall("1", "Ping", {}, dialect=dialect)
        message = tw.ToolCallMessage([call])
        wire = json.loads(message.to_json())["toolCalls"][0]
        assert wire.get("dialect", "natural") == dialect
        assert ("dialect" in wire) == (dialect != "natural")
        assert tw.message_from_json(message.to_json()) == message
    with pytest.raises(tw.MessageError, match="dialect"):
        tw.message_from_dict(
            {
                "kind": "tools_call",
                "role": "assistant",
                "toolCalls": [
                    {"toolCallId": "1", "name": "Ping", "arguments": {}, "index": 0, "dialect": 1}
                ],
            }
        )


def test_a_dialect_survives_consolidation() -> None:
    call = tw.ToolCall("1", "Ping", {}, HERMES, dialect="hermes")
    exchange = tw.ToolAggregateMessage([call], [tw.ToolResult("1", "Ping", "pong")])
    [message] = tw.consolidate([exchange])
    assert tw.parse_history(message)[0].tool_calls == (call,)  # type: ignore[union-attr]


# Two dialects in which calls have an id of the model, if they are built.
KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.Ping:{0}"
    "<|tool_call_argument_begin|>{{}}<|tool_call_end|><|tool_calls_section_end|>"
)
WITH_ID = '<tool_call>{{"id": "{0}", "name": "Ping", "arguments": {{}}}}</tool_call>'
COHERE = (
    '<|START_ACTION|>[{{"tool_call_id": "{0}", "tool_name": "Ping", "parameters": {{}}}}]'
    "<|END_ACTION|>"
)


def written_ids(reply: str, **options: Any) -> list[str]:
    events = tw.parse(reply, ["Ping"], **options)
    starts = [event.id for event in events if isinstance(event, tw.ToolCallStart)]
    ends = [e.id for e in events if isinstance(e, (tw.ToolCall, tw.InvalidToolCall))]
    assert starts == ends
    assert len(set(ends)) == len(ends)
    return ends


def is_built(form: str) -> bool:
    return bool(written_ids(form.format("0")))


@pytest.mark.parametrize("form", [KIMI, WITH_ID, COHERE])
def test_ids_of_the_model_are_kept_if_they_are_unique(form: str) -> None:
    if not is_built(form):
        return
    [first] = written_ids(form.format("7"))
    assert first in {"7", "functions.Ping:7", "call_0"}
    if first == "call_0":
        # The dialect has no ids.
        return
    assert written_ids(form.format("7") * 2) == [first, "call_1"]
    assert written_ids(form.format("7") + "<Ping/>") == [first, "call_1"]
    assert written_ids(form.format("7") + "<Ping/>", id_factory=lambda _: first) == [
        first,
        "call_1",
    ]
    # Ids of one reply do not affect the next.
    parser = tw.Parser(["Ping"])
    for _ in range(2):
        events = [*parser.push(form.format("7")), *parser.finish()]
        assert [e.id for e in events if isinstance(e, tw.ToolCall)] == [first]


@pytest.mark.parametrize("written", ["call_0", "call_1", "call_", "", " ", "a b", "x" * 513])
def test_an_id_that_could_be_another_is_not_used(written: str) -> None:
    assert written_ids(WITH_ID.format(written) + "<Ping/>") == ["call_0", "call_1"]


@pytest.mark.parametrize("form", [KIMI, WITH_ID, COHERE, "<Ping/>"])
def test_ids_that_repeat_from_reply_to_reply_break_nothing(form: str) -> None:
    if not is_built(form):
        return
    count = 0

    def Ping() -> str:  # noqa: N802
        nonlocal count
        count += 1
        return f"pong {count}"

    async def main() -> None:
        model = ScriptedModel(*[form.format("0")] * 3, "Done.")
        agent = Agent(model, [Ping])
        result = await agent.run("Ping three times.")
        assert result.text == "Done."
        exchanges = [m for m in result.messages if isinstance(m, tw.ToolAggregateMessage)]
        results = [each.result for m in exchanges for each in m.tool_results]
        assert results == ["pong 1", "pong 2", "pong 3"]
        history = result.messages
        dicts = tw.to_openai(history)
        answers = [each["content"] for each in dicts if each["role"] == "tool"]
        assert answers == results
        assert tw.to_anthropic(history)
        back = tw.parse_history(tw.consolidate(history))
        assert [
            each.result
            for m in back
            if isinstance(m, tw.ToolAggregateMessage)
            for each in m.tool_results
        ] == results

    asyncio.run(main())
