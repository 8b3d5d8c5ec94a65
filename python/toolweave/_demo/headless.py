"""The playground without a browser: one conversation over HTTP, checked against the store."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

from .._core import StreamReducer, TextMessage, ToolAggregateMessage
from ..client import ChatClient
from ..exceptions import ChatRequestError
from .scenarios import pace, scenarios
from .screens import Line, LineKind, PlainScreen, Screen, shortened, visible
from .server import serving

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from ..protocols import ChatModel
    from ..store import MessageStore
    from .responder import Settings

SPEED = 30.0
"""Multiple of the recorded pace: fast, but slow enough for a run to continue while its client
is disconnected."""

SCENARIOS_PLAYED = (
    "stations",
    "repairs",
    "dialects",
    "approval",
    "question",
    "selection",
    "scenes",
)
"""Names of the scenarios to play."""

DROPPED_AFTER = 5
"""Number of events of the first run after which the connection is dropped."""

EVENTS_PER_PAGE = 2_000
"""Number of events that are read from the store at a time."""

BAR = 20
"""Width of the bar of a score of 100, in characters."""

MAX_SHOWN = 200
"""Maximum number of characters of a shown value."""

_STATES = {
    "awaiting_approval": "waits for approval",
    "approved": "is approved",
    "denied": "is denied",
    "awaiting_answer": "asks",
    "deferred": "is deferred",
}

Event: TypeAlias = "dict[str, Any]"


async def play(settings: Settings, model: ChatModel | None, out: TextIO) -> int:
    """Run a conversation and print it.

    Returns:
        The exit code: 1 if a check failed, with a printed line for each problem.

    Raises:
        ServerError: The server cannot start.
    """
    settings = replace(settings, speed=SPEED if model is None else None)
    view = View(PlainScreen(out))
    async with serving(settings, model) as server:
        played = "" if model is not None else f", replies {pace(settings.speed)}"
        view.write(LineKind.TITLE, f"one conversation over {server.url}{played}")
        conversation = HeadlessConversation(server.url, view)
        try:
            await asyncio.to_thread(conversation.run)
            found = await check(server.store, conversation.chat_id, conversation.events)
        except ChatRequestError as err:
            found = [str(err)]
    for problem in found:
        view.write(LineKind.FAILED, problem)
    if not found:
        count = len(conversation.events)
        text = f"received {count} events over HTTP, each once and in order, as stored"
        view.write(LineKind.END, text)
    return 1 if found else 0


class HeadlessConversation:
    """A conversation with a dropped connection, an approval and an answer.

    Args:
        url: URL of the server.
        view: Shows the events.
    """

    def __init__(self, url: str, view: View) -> None:
        self._url = url
        self._view = view
        self.chat_id = ""
        """Id of the chat, once created."""
        self.events: list[Event] = []
        """Events received so far."""

    def run(self) -> None:
        """Run the conversation; blocks.

        Raises:
            ChatRequestError: The server refused a request, or cannot be reached.
        """
        by_name = {scenario.name: scenario for scenario in scenarios()}
        with ChatClient(self._url) as client:
            self.chat_id = client.start()
            for number, name in enumerate(SCENARIOS_PLAYED):
                self._view.write(LineKind.TITLE, f"{by_name[name].label}: {by_name[name].source}")
                client.send(self.chat_id, by_name[name].prompt)
                if number == 0:
                    self._drop(client)
                for event in self._read(client):
                    self._answer(client, event)

    def _drop(self, client: ChatClient) -> None:
        """Read some events and drop the connection, in the middle of the run."""
        with contextlib.closing(self._read(client)) as events:
            for _ in range(DROPPED_AFTER):
                next(events)
        last = self.events[-1]["sequenceNumber"]
        self._view.write(
            LineKind.NOTE, f"the connection is dropped; the next resumes after event {last}"
        )

    def _read(self, client: ChatClient) -> Generator[Event, None, None]:
        last = self.events[-1]["sequenceNumber"] if self.events else 0
        with client.follow(self.chat_id, after=last) as stream:
            for event in stream:
                self.events.append(dict(event))
                self._view.show_event(event)
                yield self.events[-1]

    def _answer(self, client: ChatClient, event: Event) -> None:
        """Answer an event that asks for an approval or an answer."""
        if event["kind"] != "tool_state" or "key" not in event:
            return
        answer: dict[str, Any]
        if event["state"] == "awaiting_approval":
            answer = {"approved": True}
            outcome = client.approve(self.chat_id, event["key"])
        elif event["state"] == "awaiting_answer":
            answer = {"result": event.get("schema", {}).get("enum", ["yes"])[0]}
            outcome = client.answer(self.chat_id, event["key"], answer["result"])
        else:
            return
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


class View:
    """A view that shows the events of a chat on a screen.

    Args:
        screen: Screen for the lines.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._text = ""
        self._kind = LineKind.TEXT
        self._names: dict[str, str] = {}

    def write(self, kind: LineKind, text: str) -> None:
        """Show lines of text."""
        if kind in (LineKind.TITLE, LineKind.END):
            self._end_line()
        for line in text.split("\n"):
            self._screen.show(Line(kind, line))

    def show_event(self, event: Mapping[str, Any]) -> None:
        """Show an event; unknown kinds are ignored."""
        match event["kind"]:
            case "text" | "reasoning":
                self._show_text(event)
            case "tools_call":
                for call in event["toolCalls"]:
                    self._show_call(call)
            case "tool_state":
                self._show_state(event)
            case "tool_result":
                self._show_result(event)
            case "tools_aggregate":
                self._show_aggregate(event)
            case "selection":
                self._show_selection(event)
            case "scene":
                self._show_scene(event["step"])
            case "usage":
                tokens = f"{event['inputTokens']} tokens read, {event['outputTokens']} written"
                self.write(LineKind.NOTE, tokens)
            case "error":
                self.write(LineKind.FAILED, event["message"])
            case "run":
                self._show_run(event)
            case _:
                pass

    def _show_text(self, event: Mapping[str, Any]) -> None:
        kind = LineKind.THINKS if event["kind"] == "reasoning" else LineKind.TEXT
        kind = LineKind.USER if event.get("role") == "user" else kind
        if kind is not self._kind:
            self._end_line()
            self._kind = kind
        *lines, self._text = (self._text + event.get("delta", "")).split("\n")
        for line in lines:
            if line.strip():
                self._screen.show(Line(kind, line))
        if event.get("done"):
            self._end_line()

    def _end_line(self) -> None:
        text, self._text = self._text, ""
        if text.strip():
            self._screen.show(Line(self._kind, text))

    def _show_call(self, call: Mapping[str, Any]) -> None:
        self._end_line()
        name = self._names[call["toolCallId"]] = f"{call['name']} {len(self._names) + 1}"
        arguments = call.get("arguments", call.get("raw", ""))
        dialect = f"  in the dialect {call['dialect']}" if "dialect" in call else ""
        shown = _short(json.dumps(arguments, ensure_ascii=False))
        self.write(LineKind.CALL, f"{name}  {shown}{dialect}")
        for repair in call.get("repairs", ()):
            self.write(
                LineKind.REPAIRED, f"{name}  {repair['kind']} {repair.get('path', '')}".rstrip()
            )
        if "invalid" in call:
            self.write(LineKind.INVALID, f"{name}  {call['invalid']['message']}")

    def _show_state(self, event: Mapping[str, Any]) -> None:
        name = self._name(event)
        if event["state"] == "running":
            self.write(LineKind.STARTS, name)
            return
        if event["state"] == "awaiting_approval" and "key" not in event:
            # The event with the key of the approval follows.
            return
        parts: list[str] = [_STATES.get(event["state"]) or event["state"]]
        parts += [str(event[key]) for key in ("question", "reason") if key in event]
        self.write(LineKind.NOTE, f"{name} {': '.join(parts)}")

    def _show_result(self, event: Mapping[str, Any]) -> None:
        kind = LineKind.RESULT if event["done"] else LineKind.WORKS
        kind = LineKind.FAILED if event["isError"] else kind
        self.write(kind, f"{self._name(event)}  {_short(event['result'])}")

    def _show_aggregate(self, event: Mapping[str, Any]) -> None:
        done = {result["toolCallId"] for result in event["toolResults"]}
        names = [self._name(call) for call in event["toolCalls"]]
        self.write(LineKind.ALL, f"{len(done)} of {len(names)}  {', '.join(names)}")

    def _show_selection(self, event: Mapping[str, Any]) -> None:
        for one in event["ranking"]:
            score = one.get("score")
            bar = "" if score is None else "#" * round(score * BAR / 100)
            shown = one.get("error", "-") if score is None else f"{score:g}"
            self.write(LineKind.NOTE, f"{bar:>{BAR}} {shown:>5}  {one['tool']}")
        self.write(LineKind.NOTE, f"selected: {event.get('tool', 'no tool')}")

    def _show_scene(self, step: Mapping[str, Any]) -> None:
        if step["status"] == "Streaming":
            return
        cost = f"  {step['cost']} USD" if "cost" in step else ""
        self.write(LineKind.NOTE, f"{step['status']}: {_short(step.get('message', ''))}{cost}")

    def _show_run(self, event: Mapping[str, Any]) -> None:
        if event["status"] == "finished":
            self._end_line()
            why = f": {event['error']}" if "error" in event else ""
            self.write(
                LineKind.NOTE, f"the run has ended, {event.get('stopReason', 'completed')}{why}"
            )

    def _name(self, event: Mapping[str, Any]) -> str:
        call_id: str = event["toolCallId"]
        return self._names.get(call_id, call_id)


def _short(text: str) -> str:
    return shortened(visible(text), MAX_SHOWN)
