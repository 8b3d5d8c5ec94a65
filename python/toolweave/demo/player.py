"""Takes replies through parser, tools and consolidation, and tells how it went."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any, cast

from .. import (
    FunctionContract,
    InvalidToolCall,
    Parser,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    consolidate,
    system_prompt,
)
from .ledger import Ledger
from .tools import ToolBox

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .. import Event, Message
    from .endpoint import Endpoint, LiveReply
    from .narrator import Narrator
    from .recordings import Recording

RECORDED_ON = datetime.date(2025, 5, 12)
"""What the recorded models were told that today is."""

MAX_TURNS = 4
"""Requests to a live model for one prompt; a small model may call tools for ever."""


class Player:
    """Plays replies with one set of tools."""

    def __init__(self, contracts: Sequence[FunctionContract], narrator: Narrator) -> None:
        self._contracts = contracts
        self._narrator = narrator

    def prompt(self, today: datetime.date) -> str:
        """The system prompt that a model needs to make calls."""
        existing = f"You are a helpful assistant. Today is {today}."
        return system_prompt(self._contracts, existing)

    def play(self, recording: Recording, speed: float | None) -> None:
        """Play one recording, from the question to the consolidated text."""
        tell = self._narrator
        tell.say("title", f"{recording.name}: {recording.shows}")
        tell.say("note", recording.facts)
        tell.say("user", recording.prompt)
        reply = Reply(self._contracts, ToolBox(RECORDED_ON), tell)
        for chunk in recording.chunks(speed):
            reply.push(chunk)
        truncated = recording.finish_reason == "length"
        if truncated:
            tell.say("note", "the model was cut off here (finish_reason: length)")
        reply.finish(truncated=truncated)
        self._history([TextMessage(recording.prompt, role="user"), *reply.messages])

    def ask(self, endpoint: Endpoint, prompt: str) -> None:
        """Ask a live model, run what it calls and hand it the results, until it calls nothing."""
        tell = self._narrator
        today = datetime.date.today()  # noqa: DTZ011 - the day where the user is
        system = {"role": "system", "content": self.prompt(today)}
        tools = ToolBox(today)
        messages: list[Message] = [TextMessage(prompt, role="user")]
        tell.say("title", f"live: {endpoint.model} at {endpoint.url}")
        tell.say("user", prompt)
        for _ in range(MAX_TURNS):
            history = consolidate(messages, tools=self._contracts, form="split")
            answer = endpoint.ask([system, *map(_as_request, history)])
            reply = Reply(self._contracts, tools, tell)
            self._stream(answer, reply)
            messages += reply.messages
            if not any(isinstance(message, ToolAggregateMessage) for message in reply.messages):
                break
            tell.say("note", "the results go back to the model")
        else:
            tell.say("note", f"stopped after {MAX_TURNS} requests")
        self._history(messages)

    def _stream(self, answer: LiveReply, reply: Reply) -> None:
        for piece in answer:
            if piece.reasoning:
                reply.think(piece.text)
            else:
                reply.push(piece.text)
        for remark in answer.remarks:
            self._narrator.say("note", remark)
        if answer.finish_reason not in (None, "stop"):
            self._narrator.say("note", f"finish_reason: {answer.finish_reason}")
        reply.finish(truncated=answer.truncated)

    def _history(self, messages: Sequence[Message]) -> None:
        self._narrator.say("note", "the conversation, consolidated into text:")
        for message in consolidate(messages, tools=self._contracts):
            if isinstance(message, TextMessage):
                self._narrator.say("history", message.text.rstrip("\n"))


class Reply:
    """One reply while it streams: its calls are run as they complete."""

    def __init__(
        self, contracts: Sequence[FunctionContract], tools: ToolBox, narrator: Narrator
    ) -> None:
        self.messages: list[Message] = []
        """The reply as messages, complete after `finish`."""
        self._parser = Parser(contracts)
        self._tools = tools
        self._narrator = narrator
        self._ledger = Ledger()
        self._known = [contract.name for contract in contracts]
        self._text: list[str] = []
        self._payload: list[str] = []
        self._calls: list[ToolCall] = []
        self._results: list[ToolResult] = []

    def push(self, chunk: str) -> None:
        """Take some more of the reply."""
        self._ledger.feed(chunk)
        self._take(self._parser.push(chunk))
        self._narrator.held(self._ledger.held)

    def think(self, text: str) -> None:
        """Take thinking that the server keeps apart from the reply."""
        self._narrator.think(text)

    def finish(self, *, truncated: bool) -> None:
        """Take the end of the reply."""
        self._take(self._parser.finish(truncated=truncated))
        self._narrator.rest()
        self._end_text()
        self._end_calls()

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            self._ledger.take(event)
            self._narrator.event(event)
            match event:
                case TextDelta(text=text):
                    self._text.append(text)
                case ToolCallDelta(fragment=fragment):
                    self._payload.append(fragment)
                case ToolCall():
                    self._answer(event, self._tools.run(event))
                case InvalidToolCall():
                    call, result = rejected(event, "".join(self._payload), self._known)
                    self._answer(call, result)
                case _:
                    pass

    def _answer(self, call: ToolCall, result: ToolResult) -> None:
        self._narrator.result(result)
        self._end_text()
        self._payload.clear()
        self._calls.append(call)
        self._results.append(result)

    def _end_text(self) -> None:
        text = "".join(self._text)
        self._text.clear()
        # The line breaks between two calls are not worth a message of their own.
        if text.strip():
            self._end_calls()
            self.messages.append(TextMessage(text, role="assistant"))

    def _end_calls(self) -> None:
        if self._calls:
            self.messages.append(
                ToolAggregateMessage(
                    tool_calls=self._calls.copy(), tool_results=self._results.copy()
                )
            )
            self._calls.clear()
            self._results.clear()


def rejected(
    event: InvalidToolCall, payload: str, known: Sequence[str]
) -> tuple[ToolCall, ToolResult]:
    """What the model is to read about a call that did not run."""
    if event.kind == "unknown_tool":
        code, reason = (
            "unknown_tool",
            f"Tool {event.name!r} not found. Available tools: {', '.join(known)}",
        )
    else:
        details = "; ".join(violation.message for violation in event.violations)
        code, reason = "invalid_arguments", f"Invalid call ({event.kind}). {details}".strip()
    try:
        arguments = json.loads(payload)
    except (ValueError, RecursionError):
        arguments = None
    call = ToolCall(
        id=event.id,
        name=event.name,
        arguments=cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {},
        raw=event.raw,
        index=event.index,
        repairs=(),
    )
    result = ToolResult(
        tool_call_id=event.id, name=event.name, result=reason, is_error=True, error_code=code
    )
    return call, result


def _as_request(message: Message) -> dict[str, str]:
    text = message.text if isinstance(message, TextMessage) else ""
    return {"role": str(message.role), "content": text}
