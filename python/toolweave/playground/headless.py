"""The playground without a browser: one conversation over HTTP, checked against what was stored."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from .._core import StreamReducer, TextMessage, ToolAggregateMessage
from ..play.screens import LineKind, PlainScreen
from .client import ClientError, PlaygroundClient
from .model import pace
from .scenarios import scenarios
from .server import serving
from .view import View

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from ..protocols import ChatModel
    from ..store import MessageStore
    from .server import Settings

SPEED = 30.0
"""How many times the recorded pace: fast, but slow enough that a run goes on while a client
is away."""

SCENARIOS_PLAYED = ("stations", "repairs", "approval", "question", "selection", "scenes")
"""The scenarios that are received."""

DROPPED_AFTER = 5
"""After how many events of the first run the connection is dropped."""

EVENTS_PER_PAGE = 2_000
"""How many events of the store are read at a time."""

Event: TypeAlias = "dict[str, Any]"


async def play(settings: Settings, model: ChatModel | None, out: TextIO) -> int:
    """Plays a conversation, and prints it.

    Returns:
        The exit code: 1 if something was not as it has to be; a line says what.

    Raises:
        ServerError: There can be no server.
    """
    settings = replace(settings, speed=SPEED if model is None else None)
    with PlainScreen(out) as screen:
        view = View(screen)
        async with serving(settings, model) as server:
            played = "" if model is not None else f", replies {pace(settings.speed)}"
            view.write(LineKind.TITLE, f"one conversation over {server.url}{played}")
            conversation = Conversation(PlaygroundClient(server.url), view)
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
                f"{len(conversation.events)} events came over the wire, each once and in order, "
                "and are what the store has",
            )
    return 1 if found else 0


class Conversation:
    """A conversation of somebody who drops a connection, approves what is asked, and answers.

    Args:
        client: Speaks to the server.
        view: Is received what happens.
    """

    def __init__(self, client: PlaygroundClient, view: View) -> None:
        self._client = client
        self._view = view
        self.chat_id = ""
        """The chat, once there is one."""
        self.events: list[Event] = []
        """What has come over the wire."""

    def run(self) -> None:
        """Says one thing after another; blocks.

        Raises:
            ClientError: The server refused something.
            OSError: It cannot be reached.
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
        """Reads some events and drops the connection, in the middle of the run."""
        with contextlib.closing(self._read()) as events:
            for count, _ in enumerate(events, 1):
                if count == DROPPED_AFTER:
                    break
        last = self.events[-1]["sequenceNumber"]
        self._view.write(
            LineKind.NOTE, f"the connection is dropped; the next one goes on after event {last}"
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
        """Answers where somebody is waited for."""
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
    """What is not as it has to be: in the events that came, against what is stored.

    Args:
        store: Where the chat is.
        chat_id: The chat.
        events: What came over the wire.
    """
    stored: list[Event] = []
    while part := await store.events(chat_id, after=len(stored), limit=EVENTS_PER_PAGE):
        stored += [dict(event) for event in part]
    found: list[str] = []
    numbers = [event["sequenceNumber"] for event in events]
    if numbers != list(range(1, len(events) + 1)):
        found.append(f"the numbers of the events are not 1, 2, 3 and so on: {numbers}")
    if stored != list(events):
        found.append(f"{len(events)} events came, which are not the {len(stored)} in the store")
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
            found.append(f"the text {message.id} is not what came: {seen}")
        # How scenes were chosen is received as steps, without messages.
        if isinstance(message, ToolAggregateMessage) and seen is not None:
            calls: list[Event] = seen.get("toolCalls", [])
            results = {call["toolCallId"]: call.get("result") for call in calls}
            if results != {each.tool_call_id: each.result for each in message.tool_results}:
                found.append(f"the results of {message.id} are not what came: {results}")
    return found
