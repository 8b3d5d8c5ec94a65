"""Replies held against the types that the clients of OpenAI and Anthropic have for them."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import anthropic.types
import openai.types.chat
import openai.types.responses
from anthropic.types.shared import ErrorResponse
from openai.types.shared import ErrorObject
from pydantic import BaseModel, Field, TypeAdapter

if TYPE_CHECKING:
    from collections.abc import Iterator

TYPE = Field(discriminator="type")
APIS = ("chat", "messages", "responses")
EVENTS: dict[str, Any] = {
    "chat": openai.types.chat.ChatCompletionChunk,
    "messages": Annotated[anthropic.types.RawMessageStreamEvent, TYPE],
    "responses": Annotated[openai.types.responses.ResponseStreamEvent, TYPE],
}
DOCUMENTS: dict[str, Any] = {
    "chat": openai.types.chat.ChatCompletion,
    "messages": anthropic.types.Message,
    "responses": openai.types.responses.Response,
}
EXTENSIONS = {
    "toolweave",  # notices
    "reasoning_content",  # the field of most servers for the reasoning in chat completions
    "ResponseFunctionCallArgumentsDoneEvent.name",  # required by clients before openai 3
    "ResponseError.type",  # known to clients from openai 3 on
}
"""Fields that are not in the types, by themselves or with the name of their type."""


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the validator of a type."""
    return TypeAdapter(kind)


def unknown(value: object) -> Iterator[str]:
    """Yield the fields, at any depth, that the types do not have."""
    if isinstance(value, BaseModel):
        for name in value.model_extra or ():
            full = f"{type(value).__name__}.{name}"
            if EXTENSIONS.isdisjoint((name, full)):
                yield full
        for name in value.model_fields_set:
            yield from unknown(getattr(value, name))
    elif isinstance(value, list):
        for item in value:
            yield from unknown(item)


def check_type(kind: Any, value: object) -> Any:
    """Check that a value has all fields of a type, no others, and return the instance."""
    checked = adapter(kind).validate_python(value, strict=True)
    assert not list(unknown(checked)), checked
    return checked


def check_error(api: str, value: Any) -> None:
    """Check the body of an error, or the event of one."""
    if api == "messages":
        check_type(ErrorResponse, value)
    else:
        check_type(ErrorObject, value["error"])


def event_data(api: str, events: list[str]) -> list[Any]:
    """Return the data of a stream's events, whose names must be the types of the data."""
    if api == "chat":
        found = [event.removeprefix("data: ") for event in events]
        if found[-1] == "[DONE]":
            found.pop()
        return [json.loads(data) for data in found]
    pairs = [event.removeprefix("event: ").split("\ndata: ") for event in events]
    checked = [(name, json.loads(data)) for name, data in pairs]
    assert all(name == data["type"] for name, data in checked)
    return [data for _, data in checked]


def check_events(api: str, events: list[str], *, streamed: bool = False) -> None:
    """Check each event of a stream and the order of all.

    Args:
        api: The name of the API.
        events: The text of each event.
        streamed: True if arguments are streamed as they are written; several calls may be open.
    """
    found = event_data(api, events)
    *before, last = found
    for data in before:
        check_type(EVENTS[api], data)
    failed = "error" in last
    if failed:
        check_error(api, last)
    else:
        check_type(EVENTS[api], last)
    if api == "chat":
        assert failed == (events[-1] != "data: [DONE]")
    elif api == "messages":
        check_blocks(found, failed, 1 if not streamed else len(found))
    else:
        check_items(found)


def check_blocks(events: list[Any], failed: bool, most: int) -> None:
    """Check the order of a message's events, of whose blocks so many are open at once at most."""
    if failed:
        events = events[:-1]
    else:
        *events, delta, stop = events
        assert (delta["type"], stop["type"]) == ("message_delta", "message_stop")
    started = 0
    blocks: set[int] = set()
    for at, event in enumerate(events):
        kind = event["type"]
        assert (kind == "message_start") == (at == 0)
        if kind == "content_block_start":
            assert event["index"] == started
            blocks.add(started)
            started += 1
            assert len(blocks) <= most
        elif kind != "message_start":
            assert event["index"] in blocks
            if kind == "content_block_stop":
                blocks.remove(event["index"])
    assert failed or not blocks


def check_items(events: list[Any]) -> None:
    """Check the order of a response's events, and that each repeats what came before it."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    kinds = [event["type"].removeprefix("response.") for event in events]
    assert kinds[:2] == ["created", "in_progress"]
    assert kinds[-1] in ("completed", "incomplete", "failed")
    assert events[-1]["response"]["status"] == kinds[-1]
    items: dict[int, Any] = {}
    texts: dict[int, str] = {}
    ended: dict[int, Any] = {}
    for kind, event in zip(kinds[2:-1], events[2:-1], strict=True):
        index = event["output_index"]
        assert index not in ended
        if kind == "output_item.added":
            assert index == len(items)
            items[index], texts[index] = event["item"], ""
        elif kind == "output_item.done":
            item = ended[index] = event["item"]
            assert item["status"] in ("completed", "incomplete")
            content = item["content"][0]["text"] if "content" in item else item["arguments"]
            assert content == texts[index]
        else:
            assert event["item_id"] == items[index]["id"]
            if kind.endswith(".delta"):
                texts[index] += event["delta"]
            elif kind == "content_part.added":
                assert texts[index] == ""
            else:
                part = event.get("part", event)
                assert part.get("text", part.get("arguments")) == texts[index]
    assert events[-1]["response"]["output"] == [ended[index] for index in sorted(ended)]
    assert kinds[-1] == "failed" or len(ended) == len(items)
