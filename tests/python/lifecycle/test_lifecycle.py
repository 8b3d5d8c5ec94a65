"""Stream events one by one, for each event of a run."""

from __future__ import annotations

import json
import typing
from typing import Any

import pytest
import typing_extensions

import toolweave as tw
from coroutine_tests import on_a_loop
from event_snapshots import calls_of, events_of_run, snapshot_of, texts_of
from paths import SCHEMAS
from sample_selections import ITEMS, ScriptedScorer, named
from toolweave import SceneStatus, SceneStep, ToolSelector, lifecycle
from toolweave.agent import Agent
from toolweave.executor import (
    Deferred,
    ToolApproval,
    ToolApprovalRequested,
    ToolDeferred,
    ToolProgress,
    ToolQuestion,
    ToolStarted,
)
from toolweave.lifecycle import RawText, StreamEvent, StreamEventMapper
from toolweave.lifecycle import _events as events
from toolweave.testing import ScriptedModel
from toolweave.tools import tool
from virtual_time import run as on_virtual_time

DEFINITIONS = json.loads((SCHEMAS / "stream-events.json").read_text("utf-8"))["$defs"]
KINDS = {each.__name__: each for each in typing.get_args(StreamEvent)}


def map_events(*run_events: Any, generation_id: str = "g") -> list[dict[str, Any]]:
    """Return the stream events without the ids of the chat and the run."""
    mapper = StreamEventMapper("chat", "run")
    mapped: list[dict[str, Any]] = []
    for each in run_events:
        for event in mapper.map(each, generation_id=generation_id):
            fields: dict[str, Any] = {**event}
            assert fields.pop("chatId") == "chat"
            assert fields.pop("runId") == "run"
            mapped.append(fields)
    return mapped


def hints(kind: type) -> tuple[set[str], set[str]]:
    """Return the fields of a kind, and its required fields."""
    # Names that are there for type checkers only.
    found = typing_extensions.get_type_hints(
        kind, localns=vars(typing_extensions), include_extras=True
    )
    optional = {
        name
        for name, hint in found.items()
        if typing.get_origin(hint) is typing_extensions.NotRequired
    }
    required = set()
    for base in [kind, *getattr(kind, "__orig_bases__", ())]:
        if getattr(base, "__total__", True):
            required |= set(base.__annotations__)
    return set(found), (required & kind.__required_keys__) - optional  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", sorted(KINDS))
def test_a_kind_has_the_fields_of_its_schema(name: str) -> None:
    schema = DEFINITIONS[name]
    fields, required = hints(KINDS[name])
    assert fields == set(schema["properties"])
    # An event of ours may have to say more than any event must.
    assert required >= set(schema["required"]) - {"done"}


def test_there_is_a_class_for_each_kind() -> None:
    known = {each["$ref"].rsplit("/", 1)[1] for each in DEFINITIONS["KnownStreamEvent"]["oneOf"]}
    assert set(KINDS) == known
    assert known <= set(lifecycle.__all__)


@pytest.mark.parametrize("part", ["ReportedCall", "RankedTool", "InvalidReason"])
def test_a_part_of_an_event_has_the_fields_of_its_schema(part: str) -> None:
    assert hints(getattr(events, part))[0] == set(DEFINITIONS[part]["properties"])


def test_a_text_ends_where_a_call_or_reasoning_begins() -> None:
    mapped = map_events(
        tw.TextDelta("\n"),
        tw.TextDelta("Let me "),
        tw.ToolCallStart(0, "a", "Add"),
        tw.TextDelta("\n"),
        tw.ToolCallStart(1, "b", "Add"),
        tw.ToolCallDelta(0, "{"),
        tw.TextDelta("see."),
        tw.ToolCallDelta(1, "{"),
        tw.ToolCallStart(2, "c", "Add"),
        tw.ReasoningDelta("Hm."),
        tw.TextDelta(" "),
        tw.FinishUpdate("stop"),
    )
    assert [(e["kind"], e["messageId"], e.get("delta"), e.get("done")) for e in mapped] == [
        ("text", "g.0", "\nLet me ", None),
        ("text", "g.0", "", True),
        ("tools_call_update", "g.calls", None, None),
        ("tools_call_update", "g.calls", None, None),
        ("tools_call_update", "g.calls", None, None),
        ("text", "g.1", "\nsee.", None),
        ("tools_call_update", "g.calls", None, None),
        ("text", "g.1", "", True),
        ("tools_call_update", "g.calls2", None, None),
        ("reasoning", "g.2", "Hm.", None),
        ("reasoning", "g.2", "", True),
    ]
    assert {event["role"] for event in mapped} == {"assistant"}


def test_the_id_and_the_name_of_a_call_are_on_its_first_fragment() -> None:
    mapped = map_events(tw.ToolCallStart(0, "a", "Add"), tw.ToolCallDelta(0, '{"a"'))
    assert [event["toolCallUpdates"] for event in mapped] == [
        [{"toolCallId": "a", "index": 0, "functionName": "Add"}],
        [{"index": 0, "functionArgs": '{"a"'}],
    ]


def test_a_complete_call_has_its_repairs_and_no_raw_text() -> None:
    [mapped] = map_events(tw.ToolCall("a", "Add", {"a": 1}, "<Add>{a: 1}</Add>", 2))
    assert mapped["toolCalls"] == [
        {"toolCallId": "a", "name": "Add", "arguments": {"a": 1}, "index": 2}
    ]
    start, delta, broken = tw.parse("<Add>{}</Add>", [{"name": "Add", "parameters": NEEDS_A}])
    [*_, event] = map_events(start, delta, broken)
    [call] = event["toolCalls"]
    assert call["raw"] == "<Add>{}</Add>"
    assert call["invalid"]["reason"] == "schema_violation"
    assert "/a" in call["invalid"]["message"]
    assert "arguments" not in call


NEEDS_A = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def test_calls_with_equal_ids_have_the_unique_ids_of_the_executor() -> None:
    mapped = map_events(
        tw.ToolCallStart(0, "a", "Add"),
        tw.ToolCall("a", "Add", {"n": 1}, index=0),
        tw.ToolCallStart(1, "a", "Add"),
        tw.ToolCallDelta(1, "{}"),
        tw.ToolCall("a", "Add", {"n": 2}, index=1),
        tw.ToolResult("a", "Add", "one"),
        tw.ToolResult("a#2", "Add", "two"),
    )
    snapshot = snapshot_of(typing.cast("list[StreamEvent]", mapped))
    shown = calls_of(snapshot)
    assert {key: (e["arguments"], e["result"]) for key, e in shown.items()} == {
        ("g.calls", "a"): ({"n": 1}, "one"),
        ("g.calls", "a#2"): ({"n": 2}, "two"),
    }
    assert snapshot["problems"] == []


def test_call_states_refer_to_the_message_of_the_call() -> None:
    first, second = tw.ToolCall("a", "Add", {}), tw.ToolCall("b", "Add", {}, index=1)
    result = tw.ToolResult("b", "Add", "two")
    of_second = tw.ToolAggregateMessage([second], [result], id="g.calls2", generation_id="g")
    mapped = map_events(
        first,
        tw.TextDelta("So"),
        second,
        ToolStarted("a", "Add", {}),
        ToolStarted("b", "Add", {}),
        result,
        of_second,
    )
    shown = calls_of(snapshot_of(typing.cast("list[StreamEvent]", mapped)))
    states = {key: each["state"] for key, each in shown.items()}
    assert states == {("g.calls", "a"): "running", ("g.calls2", "b"): "success"}

    next_mapper = StreamEventMapper("chat", "second")
    next_mapper.register_calls([tw.TextMessage("So"), of_second])
    [event] = next_mapper.map(result, generation_id="g")
    assert event["messageId"] == "g.calls2_result_b"
    state = {"kind": "tool_state", "toolCallId": "b", "state": "awaiting_approval"}
    assert next_mapper.with_envelope(state, generation_id="g")["messageId"] == "g.calls2"
    assert not next_mapper.has_emitted_call("b", generation_id="g"), (
        "it was not emitted in this run"
    )


def test_changes_of_a_call_are_its_states() -> None:
    mapped = map_events(
        ToolApprovalRequested("a", "Add", {}),
        ToolApproval("a", "allowed", None),
        ToolApproval("b", "timeout", "nobody decided"),
        ToolStarted("a", "Add", {}),
        ToolQuestion("a", "key", "Really?", {"type": "boolean"}),
        ToolDeferred("a", "Add", "later"),
    )
    assert {(e["kind"], e["messageId"]) for e in mapped} == {("tool_state", "g.calls")}
    assert [{k: v for k, v in e.items() if k in OF_STATES} for e in mapped] == [
        {"toolCallId": "a", "state": "awaiting_approval"},
        {"toolCallId": "a", "state": "approved"},
        {"toolCallId": "b", "state": "denied", "reason": "nobody decided"},
        {"toolCallId": "a", "state": "running"},
        {
            "toolCallId": "a",
            "state": "awaiting_answer",
            "key": "key",
            "question": "Really?",
            "schema": {"type": "boolean"},
        },
        {"toolCallId": "a", "state": "deferred", "key": "later"},
    ]


OF_STATES = ("toolCallId", "state", "key", "question", "schema", "reason")


def test_a_result_is_the_text_that_the_model_reads() -> None:
    [mapped] = map_events(
        tw.ToolResult("a", "Add", "late", is_error=True, error_code="timeout", duration=2)
    )
    assert mapped == {
        "kind": "tool_result",
        "generationId": "g",
        "role": "tool",
        "messageId": "g.calls_result_a",
        "toolCallId": "a",
        "name": "Add",
        "result": "late",
        "isError": True,
        "errorCode": "timeout",
        "duration": 2.0,
        "done": True,
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [("half way", "half way"), ({"at": 1}, '{"at":1}'), (object(), "(object)")],
)
def test_progress_is_text(value: object, text: str) -> None:
    [mapped] = map_events(ToolProgress("a", value))
    assert (mapped["result"], mapped["done"], mapped["isError"]) == (text, False, False)
    assert mapped["messageId"] == "g.calls_result_a"


def test_huge_progress_is_truncated() -> None:
    [mapped] = map_events(ToolProgress("a", "x" * 5_000_000))
    assert len(mapped["result"]) < 11_000


HALF = "a\ud800b"


@pytest.mark.parametrize(
    "run_event",
    [
        ToolProgress("a", HALF),
        ToolProgress("a", {"x": HALF}),
        ToolQuestion("a", "key", HALF, {"enum": [HALF]}),
        ToolApproval("a", "denied", HALF),
        ToolDeferred("a", "Add", HALF),
        tw.ToolResult("a", "Add", HALF),
        RawText(HALF),
        tw.TextDelta(HALF),
        SceneStep(SceneStatus.RUNNING, message=HALF),
        SceneStep(SceneStatus.ERROR, message=HALF, error=HALF, fatal=True),
        SceneStep(SceneStatus.FUNCTION_REQUEST, function="Add", call_id="a", arguments={"x": HALF}),
    ],
)
def test_any_text_of_tools_and_users_can_be_written(run_event: Any) -> None:
    mapper = StreamEventMapper("chat", "run")
    mapped = [*mapper.map(run_event, generation_id="g"), *mapper.run_finished("error", HALF)]
    snapshot_of(mapped)
    text = json.dumps(mapped, ensure_ascii=False).encode("utf-8").decode()
    assert "a\ufffdb" in text


def test_raw_text_is_mapped_and_parser_notes_are_not() -> None:
    assert map_events(RawText("<Add>")) == [{"kind": "raw", "generationId": "g", "delta": "<Add>"}]
    assert (
        map_events(tw.Discarded("</think>", "reasoning_tag"), tw.FabricatedResult(None, "<x/>"))
        == []
    )


def test_an_object_that_is_not_an_event_is_refused() -> None:
    with pytest.raises(TypeError, match="event must be an event of a run, got str"):
        StreamEventMapper("chat", "run").map("Hello")  # type: ignore[arg-type]


def test_a_selection_has_the_scores_of_all_tools() -> None:
    scorer = ScriptedScorer([named("compare", 95, item1="ramen", item2="udon")])
    selection = on_virtual_time(ToolSelector(ITEMS, scorer).select("Ramen or udon?"))
    [mapped] = map_events(selection)
    assert mapped.pop("duration") >= 0
    assert mapped == {
        "kind": "selection",
        "generationId": "g",
        "tool": "compare",
        "score": 95.0,
        "fallback": False,
        "calls": 1,
        "ranking": [
            {"tool": "compare", "score": 95.0},
            {"tool": "search"},
            {"tool": "details"},
        ],
    }


def test_late_results_of_another_reply_do_not_end_the_current_text() -> None:
    mapper = StreamEventMapper("chat", "run")
    mapped = mapper.map(tw.TextDelta("Hel"), generation_id="new")
    mapped += mapper.map(tw.ToolResult("a", "Add", "3"), generation_id="old")
    mapped += mapper.map(tw.TextDelta("lo"), generation_id="new")
    mapped += mapper.run_finished()
    assert [event.get("messageId") for event in mapped] == [
        "new.0",
        "old.calls_result_a",
        "new.0",
        "new.0",
        None,
    ]


def test_user_messages_are_mapped_as_complete_texts() -> None:
    mapper = StreamEventMapper("chat", "run", from_agent="helper")
    message = tw.TextMessage("Hi!", id="m1", metadata={"via": "web"})
    assert mapper.map_messages([message]) == [
        {
            "kind": "text",
            "chatId": "chat",
            "runId": "run",
            "role": "user",
            "messageId": "m1",
            "delta": "Hi!",
            "metadata": {"via": "web"},
            "done": True,
        }
    ]
    with pytest.raises(ValueError, match="id must be a string, got None"):
        mapper.map_messages([tw.TextMessage("Hi!")])


def test_the_end_of_a_run_has_its_reason() -> None:
    mapper = StreamEventMapper("chat", "run")
    mapper.map(tw.TextDelta("Hel"), generation_id="g")
    text, end = mapper.run_finished("error", "the socket is gone")
    assert text.get("done")
    assert {k: v for k, v in end.items() if k not in ("chatId", "runId")} == {
        "kind": "run",
        "status": "finished",
        "stopReason": "error",
        "error": "the socket is gone",
    }


def test_custom_events_get_the_envelope() -> None:
    mapper = StreamEventMapper("chat", "run")
    own = {"kind": "tool_state", "toolCallId": "a", "state": "awaiting_approval", "key": "k"}
    mapped = mapper.with_envelope(own, generation_id="g")
    assert mapped == {
        **own,
        "chatId": "chat",
        "runId": "run",
        "generationId": "g",
        "messageId": "g.calls",
    }
    assert own["kind"] == "tool_state"


@on_a_loop
async def test_a_paused_run_is_mapped_and_its_late_result_finds_its_call() -> None:
    async def book() -> Deferred:
        return Deferred("booking")

    @tool(requires_approval=True)
    async def delete() -> str:
        return "deleted"

    ids = iter(["one", "two"])
    model = ScriptedModel("One moment. <book/><delete/>", "Done.")
    agent = Agent(
        model, [book, delete], approver=lambda *_: False, generation_ids=lambda: next(ids)
    )
    first = StreamEventMapper("chat", "first")
    async with agent.open("Hi!", run_id="first") as paused:
        mapped = [*first.run_started(), *await events_of_run(paused, first), *first.run_finished()]
    states = {each["name"]: each["state"] for each in calls_of(snapshot_of(mapped)).values()}
    assert states == {"book": "deferred", "delete": "denied"}
    agent.resolve("booking", "table 4")
    second = StreamEventMapper("chat", "second")
    async with agent.open(None, history=paused.messages, run_id="second") as run:
        mapped += [*second.run_started(), *await events_of_run(run, second), *second.run_finished()]
    snapshot = snapshot_of(mapped)
    results = {each["name"]: each.get("result") for each in calls_of(snapshot).values()}
    assert results["book"] == "table 4"
    assert texts_of(snapshot) == {"one.0": ("text", "One moment. "), "two.0": ("text", "Done.")}
    assert [each["stopReason"] for each in snapshot["runs"]] == ["deferred", "completed"]
    assert snapshot["problems"] == []
