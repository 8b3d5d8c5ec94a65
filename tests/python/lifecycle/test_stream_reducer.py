"""The Python binding of the reducer of stream events."""

from __future__ import annotations

import json
from collections import ChainMap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from paths import CASES, SCHEMAS
from toolweave import MessageError, StreamReducer, Validator, check_stream_event

FOLDER = CASES / "lifecycle"

Event = dict[str, Any]


def load(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def by_name(case: dict[str, Any]) -> str:
    return str(case["name"])


INVALID: list[dict[str, Any]] = load(FOLDER / "invalid.json")
REDUCED: list[dict[str, Any]] = [
    case
    for path in sorted(FOLDER.glob("*.json"))
    if path.name != "invalid.json"
    for case in load(path)
]


def reduce(events: list[Event], **options: Any) -> StreamReducer:
    reducer = StreamReducer(**options)
    for event in events:
        reducer.push(event)
    return reducer


# Cases


@pytest.mark.parametrize("case", REDUCED, ids=by_name)
def test_events_reduce_to_the_snapshots_of_the_cases(case: dict[str, Any]) -> None:
    reducer = reduce(case["events"], pending_timeout=case.get("pendingTimeoutMs", 60_000) / 1000)
    now = case.get("now")
    snapshot = reducer.snapshot(None if now is None else now / 1000)
    assert snapshot == case["snapshot"]
    assert reducer.last_sequence_number == snapshot["lastSequenceNumber"]
    assert [list(missing) for missing in reducer.missing] == snapshot["missing"]


@pytest.mark.parametrize("case", INVALID, ids=by_name)
def test_an_invalid_event_is_refused_with_its_place(case: dict[str, Any]) -> None:
    with pytest.raises(MessageError) as caught:
        check_stream_event(case["event"])
    assert caught.value.path == case["path"]
    with pytest.raises(MessageError) as pushed:
        StreamReducer().push(json.dumps(case["event"]))
    assert str(pushed.value) == str(caught.value)


def test_the_schemas_agree() -> None:
    events = Validator(load(SCHEMAS / "stream-events.json"))
    snapshots = Validator(load(SCHEMAS / "snapshot.json"))
    for case in INVALID:
        # A schema does not know what an unknown field may have meant.
        assert events.is_valid(case["event"]) == (case.get("schema") == "fits"), case["name"]
    for case in REDUCED:
        assert snapshots.is_valid(case["snapshot"]), case["name"]
        for event in case["events"]:
            check_stream_event(event)


# Laws


def numbered(bodies: list[Event]) -> list[Event]:
    return [{**body, "sequenceNumber": number} for number, body in enumerate(bodies, 1)]


texts = st.sampled_from(["", " ", "a", "bc", "😀", "\u2028"])
ids = st.sampled_from(["a", "b", "call_0"])
calls = st.builds(
    lambda call, x: {"toolCallId": call, "name": "t", "arguments": {"x": x}}, ids, texts
)
fragments = st.fixed_dictionaries(
    {}, optional={"toolCallId": ids, "index": st.integers(0, 2), "functionArgs": texts}
).filter(bool)
owners = st.sampled_from(["g.calls", "h.calls"])
bodies = st.one_of(
    st.fixed_dictionaries(
        {"kind": st.just("text"), "messageId": ids, "delta": texts},
        optional={"done": st.booleans()},
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("tools_call_update"),
            "messageId": owners,
            "toolCallUpdates": st.lists(fragments, max_size=2),
        }
    ),
    st.fixed_dictionaries(
        {
            "kind": st.just("tools_call"),
            "messageId": owners,
            "runId": st.just("r"),
            "toolCalls": st.lists(calls, max_size=2),
        }
    ),
    st.builds(
        lambda owner, call, result, done: {
            "kind": "tool_result",
            "messageId": f"{owner}_result_{call}",
            "toolCallId": call,
            "result": result,
            "done": done,
        },
        owners,
        ids,
        texts,
        st.booleans(),
    ),
    st.fixed_dictionaries(
        {"kind": st.just("run"), "runId": st.just("r")},
        optional={"stopReason": st.sampled_from(["completed", "deferred"])},
    ).flatmap(lambda run: st.sampled_from([{**run, "status": s} for s in ("started", "finished")])),
    st.fixed_dictionaries({"kind": st.just("hologram")}, optional={"x": st.none() | texts}),
)
chats = st.lists(bodies, max_size=20).map(numbered)


@given(chats, st.data())
def test_a_snapshot_depends_on_neither_order_nor_repetition_nor_earlier_snapshots(
    chat: list[Event], data: st.DataObject
) -> None:
    expected = reduce(chat)
    pushed = data.draw(st.permutations(chat + chat[: len(chat) // 2]))
    reducer = StreamReducer()
    for number, event in enumerate(pushed):
        fresh = reducer.push(event)
        assert fresh == all(event != earlier for earlier in pushed[:number])
        if number % 3 == 0:
            reducer.snapshot()
    assert reducer.snapshot() == expected.snapshot()
    assert reducer.messages() == expected.messages()
    assert reducer.missing == []


@given(chats)
def test_texts_are_joined_and_calls_of_finished_runs_are_interrupted(chat: list[Event]) -> None:
    snapshot = reduce(chat).snapshot()
    joined: dict[str, str] = {}
    for event in chat:
        if event["kind"] == "text":
            joined[event["messageId"]] = joined.get(event["messageId"], "") + event["delta"]
    shown = {m["messageId"]: m["text"] for m in snapshot["messages"] if m["kind"] == "text"}
    assert shown == joined
    over = {run["runId"] for run in snapshot["runs"] if run["status"] == "finished"}
    for message in snapshot["messages"]:
        for call in message.get("toolCalls", ()):
            if message.get("runId") in over:
                assert call["state"] in ("success", "error", "interrupted")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["kind", "messageId", "delta", "toolCalls", "toolCallId", "step", "x"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=10,
)


@given(json_values)
def test_any_value_is_accepted_or_refused(value: Any) -> None:
    try:
        check_stream_event(value)
    except (MessageError, TypeError):
        return
    StreamReducer().push({**value, "sequenceNumber": 1})


# Cases of Python


def test_an_event_is_any_mapping_or_text() -> None:
    event = {"kind": "raw", "delta": "a", "sequenceNumber": 1}
    expected = reduce([event]).snapshot()
    reducer = StreamReducer()
    assert reducer.push(json.dumps(event))
    assert not reducer.push(ChainMap(event))
    assert reducer.snapshot() == expected


def test_an_event_without_a_number_is_valid_but_cannot_be_ordered() -> None:
    event = {"kind": "raw", "delta": "a"}
    check_stream_event(event)
    with pytest.raises(MessageError, match="event at /sequenceNumber is missing") as caught:
        StreamReducer().push(event)
    assert caught.value.path == "/sequenceNumber"


def test_invalid_json_is_refused() -> None:
    cyclic: Event = {"kind": "new", "sequenceNumber": 1}
    cyclic["self"] = cyclic
    for event in (
        cyclic,
        {"kind": "new", "x": {1, 2}},
        {"kind": "new", "x": float("nan")},
        b"{}",
        7,
    ):
        with pytest.raises((TypeError, ValueError)):
            check_stream_event(event)  # type: ignore[arg-type]
    deep = '{"kind": "new", "sequenceNumber": 1, "x": ' + "[" * 1000 + "]" * 1000 + "}"
    with pytest.raises(MessageError, match="recursion"):
        StreamReducer().push(deep)
    with pytest.raises(MessageError, match="event is no JSON"):
        StreamReducer().push("{")


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), 1e300])
def test_times_are_numbers_of_seconds(seconds: float) -> None:
    with pytest.raises(ValueError, match="pending_timeout must be a non-negative number"):
        StreamReducer(pending_timeout=seconds)
    with pytest.raises(ValueError, match="now must be a non-negative number of seconds"):
        StreamReducer().snapshot(seconds)


def test_the_pending_timeout_can_be_disabled() -> None:
    call = {"toolCallId": "a", "name": "t", "arguments": {}}
    event = {
        "kind": "tools_call",
        "messageId": "m",
        "sequenceNumber": 1,
        "timestampUtc": 1000,
        "toolCalls": [call],
    }

    def state(reducer: StreamReducer) -> str:
        reducer.push(event)
        return str(reducer.snapshot(1e9)["messages"][0]["toolCalls"][0]["state"])

    assert state(StreamReducer()) == "timeout"
    assert state(StreamReducer(pending_timeout=None)) == "pending"


def test_messages_are_those_that_a_store_keeps() -> None:
    call = {"toolCallId": "a", "name": "t", "arguments": {"x": 12345678901234567890}, "index": 0}
    head = {"chatId": "c", "runId": "r", "generationId": "g"}
    events: list[Event] = [
        {"kind": "text", "messageId": "g.0", "delta": "Let m", **head},
        {"kind": "tools_call", "messageId": "g.calls", "toolCalls": [call], **head},
        {
            "kind": "tool_result",
            "messageId": "g.calls_result_a",
            "toolCallId": "a",
            "result": "no",
            "isError": True,
            "errorCode": "interrupted",
            "done": True,
        },
        {"kind": "tools_call", "messageId": "h.calls", "toolCalls": [call], "generationId": "h"},
    ]
    reducer = reduce(numbered(events))
    text, aggregate = reducer.messages("r")
    assert text == tw.TextMessage(
        "Let m", role="assistant", id="g.0", chat_id="c", run_id="r", generation_id="g"
    )
    assert isinstance(aggregate, tw.ToolAggregateMessage)
    assert aggregate.id == "g.calls"
    assert aggregate.tool_calls[0].arguments == {"x": 12345678901234567890}
    (result,) = aggregate.tool_results
    assert (result.name, result.error_code) == ("t", tw.ErrorCode.INTERRUPTED)
    assert [type(message) for message in reducer.messages()] == [
        tw.TextMessage,
        tw.ToolAggregateMessage,
        tw.ToolCallMessage,
    ]


def test_threads_share_a_reducer() -> None:
    events = numbered(
        [{"kind": "text", "messageId": "m", "delta": str(n % 10)} for n in range(500)]
    )
    reducer = StreamReducer()
    with ThreadPoolExecutor(4) as pool:
        fresh = list(pool.map(reducer.push, events * 4))
    assert sum(fresh) == len(events)
    assert reducer.snapshot() == reduce(events).snapshot()
