"""Chats are stored and shown in the order of writing: live, after a restart and by clients."""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolweave as tw
import virtual_time
from chat_servers import all_events, finished, new_chat, on_a_server, say, serve_agent, until
from effort import effort
from encoded_runs import chunks, encode
from order_of_writing import (
    Piece,
    check_neighbours,
    check_results,
    events_of,
    note,
    of_messages,
    of_snapshot,
    order,
    script,
    written_replies,
)
from protocol_grammars import AgUiStream, UiMessageStream
from toolweave import Agent, Deferred
from toolweave.lifecycle import StreamReducer
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.web.encoders import AgUiEncoder, AiSdkEncoder, AiSdkVersion


def model_of(*script: Any, is_native: bool) -> ScriptedModel:
    return ScriptedModel(*script, native_tools=is_native)


async def answered(folder: Path, model: ScriptedModel, chat: str | None = None) -> str:
    """Send a message to a server, stop it after the answer, and return the path of the chat."""
    async with serve_agent(folder, Agent(model, [note], tool_mode="auto")) as client:
        chat = chat or await new_chat(client)
        accepted = await say(client, chat, "Hi!")
        assert (await finished(client, chat, accepted["runId"]))["stopReason"] == "completed"
    return chat


@settings(max_examples=effort(12), deadline=None)
@given(pieces=written_replies(), is_native=st.booleans())
def test_a_chat_is_in_the_order_of_writing_and_continues_after_a_restart(
    pieces: list[Piece], is_native: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(asyncio.wait_for(goes_on(Path(folder), pieces, is_native=is_native), 60))


async def goes_on(folder: Path, pieces: list[Piece], *, is_native: bool) -> None:
    reply: list[Piece] = [("text", "So: "), *pieces]
    has_calls = any(kind == "call" for kind, _ in pieces)
    answer: list[Piece] = [("text", "Fine.")] if has_calls else []
    expected = order([*reply, *answer])
    written = script(reply, is_native=is_native)
    chat = await answered(folder, model_of(written, "Fine.", is_native=is_native))
    chat_id = chat.removeprefix("/chats/")
    async with MessageStore(f"sqlite:///{folder / 'chats.db'}") as store:
        history = await store.load(chat_id)
        events = await store.events(chat_id, limit=10_000)
    assert history.problems == ()
    kept = [message for message in history.messages if message.role is tw.Role.ASSISTANT]
    assert order(of_messages(kept)) == expected
    check_results(kept)
    check_neighbours(kept)
    numbers = [each.sequence_number for each in history.stored]
    assert numbers == list(range(1, len(numbers) + 1))

    reducer = StreamReducer()
    for event in events:
        reducer.push(event)
    snapshot = reducer.snapshot()
    assert snapshot["problems"] == []
    assert order(of_snapshot(snapshot)) == expected
    shown = [each["messageId"] for each in snapshot["messages"] if each["role"] == "assistant"]
    assert shown == [message.id for message in kept]
    assert all(message["done"] for message in snapshot["messages"])

    model = model_of("Good.", is_native=is_native)
    await answered(folder, model, chat)
    if is_native:
        [request] = model.requests
        sent = [message for message in request.messages if message.role is tw.Role.ASSISTANT]
        assert order(of_messages(sent)) == expected


def shown_by_ag_ui(payloads: list[str]) -> list[Piece]:
    """Return what a client shows of the first reply, with messages in the order of appearance."""
    messages: dict[str, dict[str, Piece]] = {}
    parents: dict[str, str] = {}
    for chunk in chunks(payloads):
        match chunk["type"]:
            case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
                kind = "text" if chunk["type"].startswith("TEXT") else "reasoning"
                pieces = messages.setdefault(chunk["messageId"], {})
                before = pieces[kind][1] if kind in pieces else ""
                pieces[kind] = (kind, before + chunk["delta"])  # type: ignore[assignment]
            case "TOOL_CALL_START":
                parents[chunk["toolCallId"]] = chunk["parentMessageId"]
                messages.setdefault(chunk["parentMessageId"], {})[chunk["toolCallId"]] = (
                    "call",
                    "",
                )
            case "TOOL_CALL_ARGS":
                call = chunk["toolCallId"]
                pieces = messages[parents[call]]
                pieces[call] = ("call", pieces[call][1] + chunk["delta"])
            case _:
                pass
    return [
        (kind, str(json.loads(text)["n"]) if kind == "call" else text)
        for message, pieces in messages.items()
        if message.startswith("g.")
        for kind, text in pieces.values()
    ]


def shown_by_ai_sdk(payloads: list[str]) -> list[Piece]:
    """Return what a client shows of the first reply, with parts in the order of appearance."""
    parts: dict[str, Piece] = {}
    for chunk in chunks(payloads):
        match chunk["type"]:
            case "text-delta" | "reasoning-delta":
                kind = chunk["type"].removesuffix("-delta")
                before = parts.get(chunk["id"], (kind, ""))[1]
                parts[chunk["id"]] = (kind, before + chunk["delta"])
            case "tool-input-start":
                parts[chunk["toolCallId"]] = ("call", "")
            case "tool-input-available":
                parts[chunk["toolCallId"]] = ("call", str(chunk["input"]["n"]))
            case _:
                pass
    return [part for id_, part in parts.items() if id_.startswith("g.")]


@settings(max_examples=effort(60))
@given(pieces=written_replies(), is_native=st.booleans())
def test_clients_of_ag_ui_show_the_order_of_writing(pieces: list[Piece], is_native: bool) -> None:
    events = virtual_time.run(events_of(pieces, is_native=is_native))
    payloads = encode(AgUiEncoder(history=[]), events)
    stream = AgUiStream()
    stream.check(payloads)
    assert order(shown_by_ag_ui(payloads)) == order(pieces)
    assert len(stream.results) == sum(kind == "call" for kind, _ in pieces)


@pytest.mark.parametrize("version", [5, 6, 7])
@settings(max_examples=effort(30))
@given(pieces=written_replies(), is_native=st.booleans())
def test_clients_of_the_ai_sdk_show_the_order_of_writing(
    pieces: list[Piece], is_native: bool, version: AiSdkVersion
) -> None:
    events = virtual_time.run(events_of(pieces, is_native=is_native))
    payloads = encode(AiSdkEncoder(version=version), events)
    stream = UiMessageStream(version)
    stream.check(payloads)
    assert order(shown_by_ai_sdk(payloads)) == order(pieces)
    assert len(stream.results) == sum(kind == "call" for kind, _ in pieces)


def test_the_snapshot_for_ag_ui_is_in_the_order_of_writing() -> None:
    pieces: list[Piece] = [("text", "A"), ("call", "1"), ("text", "B"), ("call", "2")]
    events = virtual_time.run(events_of(pieces, is_native=False))
    failed = [
        {**event, "isError": True} if event["kind"] == "tool_result" else event for event in events
    ]
    payloads = encode(AgUiEncoder(history=[]), failed)
    [snapshot] = [e["messages"] for e in chunks(payloads) if e["type"] == "MESSAGES_SNAPSHOT"]
    contents = [message.get("content", message["role"]) for message in snapshot]
    assert contents == ["A", "assistant", "noted 1", "B", "assistant", "noted 2", "Fine."]


@on_a_server
async def test_late_results_are_published_with_their_calls(tmp_path: Path) -> None:
    async def book(table: int) -> Deferred:
        """Book a table."""
        return Deferred(f"booking/{table}")

    booked = 'One: <book>{"table": 1}</book> two: <book>{"table": 2}</book> I ask.'
    model = ScriptedModel(booked, "Both are booked.")
    async with serve_agent(tmp_path, Agent(model, [book])) as client:
        chat = await new_chat(client)
        accepted = await say(client, chat, "Book!")
        end = await finished(client, chat, accepted["runId"])
        assert end["stopReason"] == "deferred"
        for table in (2, 1):
            answer = {"result": f"table {table}"}
            answered = await client.post(f"{chat}/answers/booking/{table}", json=answer)
            assert answered.status_code == 200
        started = await until(client, chat, "run", end["sequenceNumber"], status="started")
        await finished(client, chat, started["runId"])
        events = await all_events(client, chat)
    reducer = StreamReducer()
    for event in events:
        reducer.push(event)
    snapshot = reducer.snapshot()
    assert snapshot["problems"] == []
    shown = [
        [call["result"] for call in each["toolCalls"]] if "toolCalls" in each else each["text"]
        for each in snapshot["messages"]
    ]
    asked = ["Book!", "One: ", ["table 1"], " two: ", ["table 2"], " I ask."]
    assert shown == [*asked, "Both are booked."]
    async with MessageStore(f"sqlite:///{tmp_path / 'chats.db'}") as store:
        history = await store.load(chat.removeprefix("/chats/"))
    assert history.problems == ()
    stored = [
        [result.result for result in each.tool_results]
        if isinstance(each, tw.ToolAggregateMessage)
        else getattr(each, "text", None)
        for each in history.messages
    ]
    assert stored == shown
