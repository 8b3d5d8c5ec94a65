"""The stream events of runs, and the snapshots that they are reduced to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from toolweave.agent import AgentRun
from toolweave.lifecycle import StreamEvent, StreamEventMapper, StreamReducer, check_stream_event
from toolweave.scenes import SceneRun

FINAL = {"success", "error", "denied", "interrupted", "timeout"}


async def events_of_run(run: AgentRun | SceneRun, mapper: StreamEventMapper) -> list[StreamEvent]:
    """Return all stream events of a run."""
    mapped: list[StreamEvent] = []
    async for event in run:
        mapped += mapper.map(event, generation_id=run.generation_id)
    return mapped


def repeated_in(events: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return what occurs twice in a complete list of events; it must be empty."""
    seen: set[tuple[object, ...]] = set()
    found = []
    for event in events:
        kind, done = event["kind"], event.get("done")
        whose = (kind, event.get("messageId"))
        if kind in ("text", "reasoning", "tool_result"):
            # Nothing may follow the final event either.
            things = [whose] if done or whose in seen else []
        elif kind in ("tools_aggregate", "usage"):
            # A run that receives a late result emits the whole message again.
            things = [(*whose, event.get("runId"))]
        elif kind == "tools_call":
            things = [(*whose, call["toolCallId"]) for call in event["toolCalls"]]
        elif kind == "tool_state":
            things = [(*whose, event["toolCallId"], event["state"], event.get("key"))]
        elif kind == "run":
            things = [(kind, event["runId"], event["status"])]
        else:
            things = []
        found += [str(each) for each in things if each in seen]
        seen.update(things)
    return found


def snapshot_of(events: Iterable[StreamEvent]) -> dict[str, Any]:
    """Return the snapshot of events, after checking that each is valid and unique."""
    events = list(events)
    assert repeated_in(cast("list[dict[str, Any]]", events)) == []
    reducer = StreamReducer()
    for number, event in enumerate(events, 1):
        check_stream_event(event)
        assert None not in event.values(), event
        assert reducer.push({**event, "sequenceNumber": number})
    return reducer.snapshot()


def texts_of(snapshot: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """Return texts and reasoning by message id; all must be complete."""
    found = {}
    for message in snapshot["messages"]:
        if message["kind"] in ("text", "reasoning"):
            assert message["done"], message
            assert message["messageId"] not in found, message
            found[message["messageId"]] = (message["kind"], message["text"])
    return found


def calls_of(snapshot: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return calls by message id and call id."""
    return {
        (message["messageId"], call["toolCallId"]): call
        for message in snapshot["messages"]
        for call in message.get("toolCalls", ())
    }
