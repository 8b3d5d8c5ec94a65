"""Messages and events of a run whose owner ended without finishing it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeAlias

from .._core import StreamReducer, ToolAggregateMessage, ToolCall, ToolCallMessage, ToolResult
from .._messages import with_results
from ..exceptions import MessageError
from ..executor._deferred import METADATA as DEFERRED
from ..executor._failure import add_references
from ._damage import call_id_of, optional_text, started_call
from ._reading import UNREADABLE, find_row, outcome
from ._values import is_id, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from sqlalchemy import Row

    from .._messages import Message
    from ._records import StreamEvent

    _CallMessage: TypeAlias = ToolCallMessage | ToolAggregateMessage

_log = logging.getLogger("toolweave.store")


class InterruptedRun:
    """An interrupted run: the messages that its events amount to, with open texts and calls closed.

    Args:
        chat_id: Id of the chat.
        run_id: Id of the run.
        events: Its events, in order.
        rows: Rows of the calls whose tool was entered, by reply or run, and id.
        awaited: Keys of the deferred results, by the ids of the calls.
    """

    def __init__(
        self,
        chat_id: str,
        run_id: str,
        events: Iterable[StreamEvent],
        rows: Mapping[tuple[str | None, str], Row[Any]],
        awaited: Mapping[str, str],
    ) -> None:
        self._chat_id = chat_id
        self._run_id = run_id
        self._rows = rows
        self._awaited = awaited
        self._announced: set[str] = set()
        reducer = StreamReducer(pending_timeout=None)
        for event in events:
            self._take(reducer, event)
        self.messages: list[Message] = []
        """Messages of the run, in order; calls have a result, unless it is deferred."""
        self.changed: set[str | None] = set()
        """Ids of messages that differ from what was published."""
        self.events: list[StreamEvent] = [
            self._closed(entry)
            for entry in reducer.snapshot()["messages"]
            if entry["kind"] in ("text", "reasoning") and not entry["done"]
        ]
        """Events to publish for what was closed, in order."""
        self.count = 0
        """Number of calls that had no result."""
        found = list(reducer.messages(run_id))
        for message in [*found, *self._unreported(found)]:
            if isinstance(message, (ToolCallMessage, ToolAggregateMessage)):
                self._complete_calls(message)
            else:
                self.messages.append(message)

    def _take(self, reducer: StreamReducer, event: StreamEvent) -> None:
        if event["kind"] == UNREADABLE:
            return
        if event["kind"] == "tools_aggregate":
            self._announced.add(str(event.get("messageId")))
        try:
            reducer.push(event)
        except MessageError as error:
            # An invalid event must not keep the chat busy for ever.
            _log.warning(
                "an event of an interrupted run cannot be read",
                extra={
                    "chat_id": self._chat_id,
                    "sequence_number": event["sequenceNumber"],
                    "error": str(error),
                },
            )

    def _closed(self, entry: Mapping[str, Any]) -> StreamEvent:
        """Return the event that ends an unfinished text."""
        names = ("messageId", "role", "generationId", "fromAgent")
        known = {name: entry[name] for name in names if name in entry}
        return {"kind": entry["kind"], "runId": self._run_id, **known, "delta": "", "done": True}

    def _unreported(self, found: Iterable[Message]) -> list[_CallMessage]:
        """Return messages for calls whose tool was entered before they were published."""
        reported = {
            (message.generation_id, safe_text(call.id))
            for message in found
            if isinstance(message, (ToolCallMessage, ToolAggregateMessage))
            for call in message.tool_calls
        }
        ids = {call_id for _, call_id in reported}
        unreported: dict[str | None, list[ToolCall]] = {}
        for row in self._rows.values():
            generation = optional_text(row.generation_id)
            if generation is not None and not is_id(generation):
                generation = None  # damaged
            call_id = call_id_of(row)
            is_known = call_id in ids if generation is None else False
            if not is_known and (generation, call_id) not in reported:
                unreported.setdefault(generation, []).append(started_call(row))
        return [
            ToolCallMessage(
                calls,
                id=self._free_id(f"{generation or self._run_id}.calls", found),
                generation_id=generation,
                run_id=self._run_id,
                chat_id=self._chat_id,
            )
            for generation, calls in unreported.items()
        ]

    def _free_id(self, wanted: str, found: Iterable[Message]) -> str:
        taken = {message.id for message in found}
        while wanted in taken:
            wanted += "_unheard"
        return wanted

    def _complete_calls(self, message: _CallMessage) -> None:
        """Add a result to all calls except those whose result is deferred."""
        known: tuple[ToolResult, ...] = (
            message.tool_results if isinstance(message, ToolAggregateMessage) else ()
        )
        results = {result.tool_call_id: result for result in known}
        keys: dict[str, str] = {}
        for call in message.tool_calls:
            row = find_row(self._rows, call, message.generation_id, self._run_id)
            if call.id in results:
                if row is not None and row.result_json is not None:
                    # The row contains the reference of its exception as well.
                    stored = outcome(call, row)
                    if stored.problem is None:
                        results[call.id] = stored.result
                continue
            key = self._awaited.get(safe_text(call.id))
            if key is not None:
                keys[call.id] = key
                continue
            row = find_row(self._rows, call, message.generation_id, self._run_id)
            results[call.id] = outcome(call, row).result
            self.count += 1
            self.events.append(self._result(message, results[call.id]))
        metadata = add_references(message.metadata, results.values())
        if keys:
            metadata[DEFERRED] = {**keys, **metadata.get(DEFERRED, {})}
        ordered = [results[call.id] for call in message.tool_calls if call.id in results]
        whole = with_results(message, message.tool_calls, ordered, metadata)
        whole = whole.__replace__(run_id=self._run_id, chat_id=self._chat_id)
        self.messages.append(whole)
        if message.id not in self._announced or len(results) > len(known):
            self.changed.add(message.id)
            self.events.append({**whole.to_dict(), "done": True})

    def _result(self, message: _CallMessage, result: ToolResult) -> StreamEvent:
        answered = ToolCall(result.tool_call_id, result.name, {})
        fields = ToolAggregateMessage([answered], [result]).to_dict()["toolResults"][0]
        if metadata := add_references({}, [result]):
            fields["metadata"] = metadata
        named = {"generationId": message.generation_id, "fromAgent": message.from_agent}
        return {
            "kind": "tool_result",
            "runId": self._run_id,
            **{name: value for name, value in named.items() if value is not None},
            "role": "tool",
            "messageId": f"{message.id}_result_{result.tool_call_id}",
            **fields,
            "done": True,
        }
