"""Properties of encoders for any run: any order of results, and any end of the stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoded_runs import EventLog, call, encode
from protocol_grammars import AgUiStream, UiMessageStream
from toolweave.web.encoders import AgUiEncoder, AiSdkEncoder, Encoder

words = st.text(st.characters(codec="utf-8"), max_size=12)
names = st.sampled_from(["get_weather", "add", "<b>", "ünicode"])
jsons = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, jsons, max_size=3)
errors = st.sampled_from([None, None, "tool_error", "denied", "interrupted", "timeout"])
endings = st.sampled_from(
    ["completed", "cancelled", "error", "interrupted", "deferred", "max_iterations", "length", "?"]
)
states = st.sampled_from(
    ["running", "awaiting_approval", "approved", "denied", "awaiting_answer", "deferred"]
)
versions = st.sampled_from([5, 6, 7])


@st.composite
def runs(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw a run with results, states and progress at any position."""
    log = EventLog().asked(draw(words)).started()
    late_events: list[Callable[[], object]] = []
    for number in range(draw(st.integers(0, 3))):
        generation = f"g{number}"
        count = draw(st.integers(0, 3))
        calls: list[dict[str, Any]] = []
        for step in range(draw(st.integers(0, 5))):
            match draw(st.integers(0, 3)):
                case 0:
                    log.text(generation, 0, draw(words), done=draw(st.booleans()))
                case 1:
                    log.reasoning(generation, 9, draw(words), done=draw(st.booleans()))
                case 2 if count:
                    # Ids on any fragment, or on none.
                    log.fragment(
                        generation,
                        step % count,
                        call_id=f"call_{step % count}" if draw(st.booleans()) else None,
                        name=draw(names) if draw(st.booleans()) else None,
                        arguments=draw(words),
                    )
                case _:
                    log.usage(generation, draw(st.integers(0, 99)), 1)
        for index in range(count):
            invalid = draw(st.none() | st.just("no such tool"))
            id_ = f"call_{index}"
            calls.append(call(id_, draw(names), draw(objects), index=index, invalid=invalid))
            events_of_call = EventLog()
            for _ in range(draw(st.integers(0, 2))):
                events_of_call.state(generation, id_, draw(states), key=f"{generation}{id_}key")
                events_of_call.result(generation, id_, draw(words), done=False)
            if draw(st.booleans()):
                events_of_call.result(generation, id_, draw(words), error=draw(errors))
            late_events += events_of_call.events  # type: ignore[arg-type]
        if calls and draw(st.booleans()):
            log.calls(generation, *calls)
    events = log.events
    for event in late_events:
        events.insert(draw(st.integers(2, len(events))), event)  # type: ignore[arg-type]
    if draw(st.booleans()):
        events += EventLog().finished(draw(endings)).events
    return events[: draw(st.integers(0, len(events)))] if draw(st.booleans()) else events


def texts_of(events: list[dict[str, Any]], *kinds: str) -> dict[str, str]:
    """Return the text that the model has written, by message."""
    texts: dict[str, str] = {}
    for event in events:
        if event["kind"] in kinds and event["role"] == "assistant" and event["delta"]:
            message = event["messageId"]
            texts[message] = texts.get(message, "") + event["delta"]
    return texts


def results(events: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the first result of each call, by its id for clients."""
    found: dict[str, dict[str, Any]] = {}
    for event in events:
        if event["kind"] == "tool_result" and event["done"]:
            found.setdefault(f"{event['generationId']}.{event['toolCallId']}", event)
    return found


@given(runs(), versions)
def test_the_ai_sdk_gets_everything_once_and_in_its_own_grammar(
    events: list[dict[str, Any]], version: Any
) -> None:
    grammar = UiMessageStream(version)
    grammar.check(encode(AiSdkEncoder(version=version), events))
    assert grammar.texts == texts_of(events, "text", "reasoning")
    expected = results(events)
    assert set(grammar.results) == set(expected)
    for id_, result in expected.items():
        chunk = grammar.results[id_]
        if not result["isError"]:
            assert chunk["output"] == result["result"]
        elif chunk["type"] == "tool-output-error":
            assert chunk["errorText"] == result["result"]
        else:
            assert (chunk["type"], result["errorCode"]) == ("tool-output-denied", "denied")


@given(runs(), st.booleans())
def test_ag_ui_gets_everything_once_and_in_its_own_grammar(
    events: list[dict[str, Any]], with_history: bool
) -> None:
    grammar = AgUiStream()
    grammar.check(encode(AgUiEncoder(history=[] if with_history else None), events))
    assert grammar.texts == texts_of(events, "text", "reasoning")
    expected = results(events)
    assert {id_: event["content"] for id_, event in grammar.results.items()} == {
        id_: result["result"] for id_, result in expected.items()
    }
    for id_, event in grammar.results.items():
        assert event.get("metadata") == (
            {"error": expected[id_]["errorCode"]} if expected[id_]["isError"] else None
        )


@pytest.mark.parametrize("encoder", [AiSdkEncoder, lambda: AgUiEncoder(history=[])])
@given(events=runs(), cut=st.integers(0, 60))
def test_a_resumed_stream_continues_exactly(
    encoder: Callable[[], Encoder], events: list[dict[str, Any]], cut: int
) -> None:
    calls = encode(encoder(), events)
    first = encoder()
    had = [payload for event in events[:cut] for payload in first.encode(event)]
    # Payloads depend only on earlier events, and encoding again gives the same payloads.
    assert calls[: len(had)] == had
    assert had + encode(encoder(), events)[len(had) :] == calls


SHAPE = """kind runId chatId messageId generationId toolCallId role delta done result isError state
    key errorCode status stopReason error toolCalls toolCallUpdates toolResults step message"""
KINDS = """text reasoning tools_call tools_call_update tool_result tools_aggregate usage error run
    tool_state scene selection raw new"""
VALUES = ["a", "a.calls", "a.0", "assistant", "user", "started", "finished", True]
PARTS = ["toolCallId", "index", "functionName", "name", "functionArgs", "arguments", "invalid"]

parts = st.dictionaries(st.sampled_from(PARTS), jsons | st.sampled_from(["a", 0]))
scraps = st.dictionaries(
    st.sampled_from(SHAPE.split()),
    jsons | st.sampled_from(VALUES) | st.sampled_from(KINDS.split()) | st.lists(parts, max_size=3),
)


@given(st.lists(scraps, max_size=12), versions)
def test_no_event_breaks_a_stream(scraps: list[dict[str, Any]], version: Any) -> None:
    UiMessageStream(version).check(encode(AiSdkEncoder(version=version), scraps))
    AgUiStream().check(encode(AgUiEncoder(history=[], echo=True), scraps))
