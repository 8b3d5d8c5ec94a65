"""The playground without a browser: one conversation over HTTP, checked against the store."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from .._core import StreamReducer, TextMessage, ToolAggregateMessage
from .client import ClientError, PlaygroundClient
from .model import pace
from .scenarios import scenarios
from .screens import LineKind, PlainScreen
from .server import serving
from .view import View

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from ..protocols import ChatModel
    from ..store import MessageStore
    from .server import Settings

SPEED = 30.0
"""Multiple of the recorded pace: fast, but slow enough for a run to continue while its client
is disconnected."""

SCENARIOS_PLAYED = ("stations", "repairs", "approval", "question", "selection", "scenes")
"""Names of the scenarios to play."""

DROPPED_AFTER = 5
"""Number of events of the first run after which the connection is dropped."""

EVENTS_PER_PAGE = 2_000
"""Number of events that are read from the store at a time."""

Event: TypeAlias = "dict[str, Any]"


async def play(settings: Settings, model: ChatModel | None, out: TextIO) -> int:
    """Run a conversation and print it.

    Returns:
        The exit code: 1 if a check failed, with a printed line for each problem.

    Raises:
        ServerError: The server cannot start.
    """
    settings = replace(settings, speed=SPEED if model is None else None)
    with PlainScreen(out) as screen:
        view = View(screen)
        async with serving(settings, model) as server:
            played = "" if model is not None else f", replies {pace(settings.speed)}"
            view.write(LineKind.TITLE, f"one conversation over {server.url}{played}")
            conversation = HeadlessConversation(PlaygroundClient(server.url), view)
            try:
                await asyncio.to_thread(conversation.run)
                found = await check(server.store, conversation.chat_id, conversation.events)
            except (ClientError, OSError, http.client.HTTPException) as err:
                found = [str(err) or type(err).__name__]
        for problem in found:
            view.write(LineKind.FAILED, problem)
        if not found:
            view.write(
                LineKind.END,
                f"received {len(conversation.events)} events over HTTP, each once and in order, "
                "as stored",
            )
    return 1 if found else 0


class HeadlessConversation:
    """A conversation with a dropped connection, an approval and an answer.

    Args:
        client: Client of the server.
        view: Shows the events.
    """

    def __init__(self, client: PlaygroundClient, view: View) -> None:
        self._client = client
        self._view = view
        self.chat_id = ""
        """Id of the chat, once created."""
        self.events: list[Event] = []
        """Events received so far."""

    def run(self) -> None:
        """Run the conversation; blocks.

        Raises:
            ClientError: The server rejected a request.
            OSError: The server cannot be reached.
        """
        self.chat_id = self._client.ask("POST", "/chats", {})["chatId"]
        by_name = {scenario.name: scenario for scenario in scenarios()}
        for number, name in enumerate(SCENARIOS_PLAYED):
            self._view.write(LineKind.TITLE, f"{by_name[name].label}: {by_name[name].source}")
            path = f"/chats/{self.chat_id}/messages"
            self._client.ask("POST", path, {"text": by_name[name].prompt})
            if number == 0:
                self._drop()
            for event in self._read():
                self._answer(event)

    def _drop(self) -> None:
        """Read some events and drop the connection, in the middle of the run."""
        with contextlib.closing(self._read()) as events:
            for count, _ in enumerate(events, 1):
                if count == DROPPED_AFTER:
                    break
        last = self.events[-1]["sequenceNumber"]
        self._view.write(
            LineKind.NOTE, f"the connection is dropped; the next resumes after event {last}"
        )

    def _read(self) -> Generator[Event, None, None]:
        last = self.events[-1]["sequenceNumber"] if self.events else 0
        with contextlib.closing(self._client.events(self.chat_id, last)) as stream:
            for received in stream:
                if received.id != received.event.get("sequenceNumber"):
                    raise ClientError(f"an event has the id {received.id}: {received.event}")
                self.events.append(received.event)
                self._view.show_event(received.event)
                yield received.event

    def _answer(self, event: Mapping[str, Any]) -> None:
        """Answer an event that asks for an approval or an answer."""
        if event["kind"] != "tool_state" or "key" not in event:
            return
        answer: dict[str, Any] | None = None
        if event["state"] == "awaiting_approval":
            answer = {"approved": True}
        elif event["state"] == "awaiting_answer":
            answer = {"result": event.get("schema", {}).get("enum", ["yes"])[0]}
        if answer is not None:
            path = f"/chats/{self.chat_id}/answers/{event['key']}"
            outcome = self._client.ask("POST", path, answer)["outcome"]
            self._view.write(LineKind.NOTE, f"answered over HTTP: {answer} ({outcome})")


async def check(store: MessageStore, chat_id: str, events: Sequence[Event]) -> list[str]:
    """Return the differences between the received events and the store.

    Args:
        store: Store of the chat.
        chat_id: Id of the chat.
        events: The received events.
    """
    stored: list[Event] = []
    while part := await store.events(chat_id, after=len(stored), limit=EVENTS_PER_PAGE):
        stored += [dict(event) for event in part]
    found: list[str] = []
    numbers = [event["sequenceNumber"] for event in events]
    if numbers != list(range(1, len(events) + 1)):
        found.append(f"the sequence numbers must be 1, 2, 3, ..., got {numbers}")
    if stored != list(events):
        found.append(
            f"the {len(events)} received events differ from the {len(stored)} in the store"
        )
    reducer = StreamReducer()
    for event in events:
        reducer.push(event)
    snapshot = reducer.snapshot()
    found += [
        f"a run did not complete: {run}"
        for run in snapshot["runs"]
        if run["status"] != "finished" or run.get("stopReason") != "completed"
    ]
    shown: dict[str, Event] = {each["messageId"]: each for each in snapshot["messages"]}
    for message in (await store.load(chat_id)).messages:
        seen = shown.get(message.id or "")
        if isinstance(message, TextMessage) and (seen or {}).get("text") != message.text:
            found.append(f"the text {message.id} differs from the received one: {seen}")
        # The selection of scenes is reported as steps, without messages.
        if isinstance(message, ToolAggregateMessage) and seen is not None:
            calls: list[Event] = seen.get("toolCalls", [])
            results = {call["toolCallId"]: call.get("result") for call in calls}
            if results != {each.tool_call_id: each.result for each in message.tool_results}:
                found.append(
                    f"the results of {message.id} differ from the received ones: {results}"
                )
    return found
