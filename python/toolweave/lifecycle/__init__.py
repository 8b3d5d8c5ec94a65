"""From what happens to what is stored and sent: the stream events of a chat.

A `StreamEventMapper` says what a run tells, an agent's or that of scenes, as plain dicts: the rows of an
event log and the messages of a stream. Whoever reads them in any order, with gaps or twice, puts
them together with a `StreamReducer`; see `docs/lifecycle.md`.

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
from .events import (
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
from .mapper import RawText, StreamEventMapper, TurnEvent

__all__ = [
    "ErrorStreamEvent",
    "RawStreamEvent",
    "RawText",
    "ReasoningStreamEvent",
    "RunStreamEvent",
    "SceneStreamEvent",
    "SelectionStreamEvent",
    "StreamEvent",
    "StreamReducer",
    "TextStreamEvent",
    "ToolResultStreamEvent",
    "ToolStateStreamEvent",
    "ToolsAggregateEvent",
    "ToolsCallStreamEvent",
    "ToolsCallUpdateStreamEvent",
    "StreamEventMapper",
    "TurnEvent",
    "UsageStreamEvent",
    "check_stream_event",
]
