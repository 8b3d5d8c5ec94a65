"""Replies with text, reasoning and calls in any order, and the order that clients see."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from hypothesis import strategies as st

import toolweave as tw
from toolweave import Agent
from toolweave.lifecycle import StreamEventMapper
from toolweave.testing import ScriptedModel
from toolweave.tools import tool

Kind = Literal["text", "reasoning", "call"]
Piece = tuple[Kind, str]
"""A piece of a reply: text, or the number that a call of `Note` has."""

_words = st.sampled_from(["A", "b c ", "\nD.", " ", "\n\n", "\x1f", "é "])


@st.composite
def written_replies(draw: st.DrawFn) -> list[Piece]:
    """Draw a reply with a distinct number in each call."""
    kinds: list[Kind] = ["text", "text", "call", "call", "reasoning"]
    pieces: list[Piece] = []
    for number in range(draw(st.integers(0, 9))):
        kind = draw(st.sampled_from(kinds))
        pieces.append((kind, str(number) if kind == "call" else draw(_words)))
    return pieces


@tool
async def note(n: int) -> str:
    """Note a number, after a while.

    Args:
        n: The number.
    """
    await asyncio.sleep(n * 7 % 3 / 1000)
    return f"noted {n}"


def script(pieces: Sequence[Piece], *, is_native: bool) -> list[Any]:
    """Return the reply as a model yields it."""
    made: list[Any] = []
    for kind, text in pieces:
        if kind == "reasoning":
            made.append(tw.ReasoningDelta(text))
        elif kind == "text":
            made.append(text)
        elif is_native:
            made.append(tw.ToolCall(f"id_{text}", "note", {"n": int(text)}))
        else:
            made.append(f'<note>{{"n": {text}}}</note>')
    return made


async def events_of(pieces: Sequence[Piece], *, is_native: bool) -> list[dict[str, Any]]:
    """Return the logged events of a run with this first reply, `g`."""
    model = ScriptedModel(script(pieces, is_native=is_native), "Fine.", native_tools=is_native)
    agent = Agent(model, [note], tool_mode="auto", generation_ids=iter(["g", "h", "i"]).__next__)
    mapper = StreamEventMapper("chat", "run")
    events = mapper.run_started()
    async with agent.open("Hi!", chat_id="chat", run_id="run") as run:
        async for event in run:
            events += mapper.map(event, generation_id=run.generation_id)
    numbered = enumerate([*events, *mapper.run_finished()], 1)
    return [{**event, "sequenceNumber": number} for number, event in numbered]


def order(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the pieces as single characters, without white space, to compare their order."""
    return [
        (kind, each)
        for kind, text in pieces
        for each in ([text] if kind == "call" else text)
        if not each.isspace()
    ]


def of_messages(messages: Iterable[tw.Message]) -> list[Piece]:
    """Return the pieces that messages of replies contain."""
    pieces: list[Piece] = []
    for message in messages:
        if isinstance(message, (tw.ToolCallMessage, tw.ToolAggregateMessage)):
            pieces += [("call", str(call.arguments["n"])) for call in message.tool_calls]
        elif isinstance(message, tw.ReasoningMessage):
            pieces.append(("reasoning", message.text))
        elif isinstance(message, tw.TextMessage):
            pieces.append(("text", message.text))
    return pieces


def of_snapshot(snapshot: Mapping[str, Any]) -> list[Piece]:
    """Return the pieces that the assistant's messages in a snapshot contain."""
    pieces: list[Piece] = []
    for message in snapshot["messages"]:
        if message["role"] != "assistant":
            continue
        if "toolCalls" in message:
            pieces += [("call", str(call["arguments"]["n"])) for call in message["toolCalls"]]
        elif "text" in message:
            pieces.append((message["kind"], message["text"]))
    return pieces


def check_results(messages: Iterable[tw.Message]) -> None:
    """Check that each call has exactly one result, in its own message."""
    for message in messages:
        if isinstance(message, tw.ToolAggregateMessage):
            reported = [(result.tool_call_id, result.result) for result in message.tool_results]
            calls = message.tool_calls
            assert reported == [(call.id, f"noted {call.arguments['n']}") for call in calls]


def check_neighbours(messages: Sequence[tw.Message]) -> None:
    """Check that calls share a message unless something is between them."""
    for one, other in itertools.pairwise(messages):
        calls = isinstance(one, tw.ToolAggregateMessage), isinstance(other, tw.ToolAggregateMessage)
        assert calls != (True, True) or one.generation_id != other.generation_id
