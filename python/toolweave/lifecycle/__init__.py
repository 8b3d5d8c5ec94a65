"""Stream events of a chat, as they are stored and sent.

A `StreamEventMapper` maps the events of an agent or scene run to plain dicts: the rows of an event
log and the messages of a stream. A `StreamReducer` computes the state of the chat from them, even
if they arrive out of order, with gaps or twice; see `docs/explanation/lifecycle.md`.

    >>> import asyncio
    >>> from toolweave.agent import Agent
    >>> from toolweave.testing import ScriptedModel
    >>> async def main() -> list[StreamEvent]:
    ...     mapper = StreamEventMapper("chat", "run")
    ...     events = mapper.run_started()
    ...     async with Agent(ScriptedModel("Hello.")).open("Hi!") as run:
    ...         async for event in run:
    ...             events += mapper.map(event, generation_id=run.generation_id)
    ...     return events + mapper.run_finished()
    >>> [(event["kind"], event.get("delta")) for event in asyncio.run(main())]
    [('run', None), ('text', 'Hello.'), ('text', ''), ('run', None)]
"""

from __future__ import annotations

from .._core import StreamReducer, check_stream_event
from .._public import claim_exports
from ._events import (
    ErrorStreamEvent,
    RawStreamEvent,
    ReasoningStreamEvent,
    RunStreamEvent,
    SceneStreamEvent,
    SelectionStreamEvent,
    StreamEvent,
    TextStreamEvent,
    ToolResultStreamEvent,
    ToolsAggregateEvent,
    ToolsCallStreamEvent,
    ToolsCallUpdateStreamEvent,
    ToolStateStreamEvent,
    UsageStreamEvent,
)
from ._mapper import RawText, StreamEventMapper, TurnEvent

__all__ = [
    "ErrorStreamEvent",
    "RawStreamEvent",
    "RawText",
    "ReasoningStreamEvent",
    "RunStreamEvent",
    "SceneStreamEvent",
    "SelectionStreamEvent",
    "StreamEvent",
    "StreamEventMapper",
    "StreamReducer",
    "TextStreamEvent",
    "ToolResultStreamEvent",
    "ToolStateStreamEvent",
    "ToolsAggregateEvent",
    "ToolsCallStreamEvent",
    "ToolsCallUpdateStreamEvent",
    "TurnEvent",
    "UsageStreamEvent",
    "check_stream_event",
]

claim_exports(globals())
