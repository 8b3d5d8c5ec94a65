"""Runs as stream events, and what these come to, for tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from toolweave.agent import AgentRun
from toolweave.lifecycle import StreamEvent, StreamReducer, Transcriber, check_stream_event
from toolweave.scenes import SceneRun

FINAL = {"success", "error", "denied", "interrupted", "timeout"}


async def told_by(run: AgentRun | SceneRun, transcriber: Transcriber) -> list[StreamEvent]:
    """All that a run tells."""
    told: list[StreamEvent] = []
    async for event in run:
        told += transcriber.tell(event, generation_id=run.generation_id)
    return told


def reduced(events: Iterable[StreamEvent]) -> dict[str, Any]:
    """What events come to, once each was found to be one."""
    reducer = StreamReducer()
    for number, event in enumerate(events, 1):
        check_stream_event(event)
        assert None not in event.values(), event
        assert reducer.push({**event, "sequenceNumber": number})
    return reducer.snapshot()


def texts_of(snapshot: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Texts and thoughts by the ids of their messages, all of them whole."""
    found = {}
    for message in snapshot["messages"]:
        if message["kind"] in ("text", "reasoning"):
            assert message["done"], message
            assert message["messageId"] not in found, message
            found[message["messageId"]] = (message["kind"], message["text"])
    return found


def calls_of(snapshot: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Calls by the ids of their messages and their own."""
    return {
        (message["messageId"], call["toolCallId"]): call
        for message in snapshot["messages"]
        for call in message.get("toolCalls", ())
    }
