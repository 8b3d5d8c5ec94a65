"""Takes replies through parser, tools and consolidation, and tells how it went."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any, Literal, cast

from .. import (
    FunctionContract,
    InvalidToolCall,
    Joiner,
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
from .held import HeldBack
from .screens import Kind
from .tools import ToolBox

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .. import Event, Message
    from .endpoint import Endpoint, LiveReply
    from .narrator import Narrator
    from .recordings import Recording

RECORDED_ON = datetime.date(2025, 5, 12)
"""What the recorded models were told that today is."""

TAG: Literal["name"] = "name"
"""How calls are written: `<Add>...</Add>`, in the prompt as in the history."""

MAX_TURNS = 4
"""Requests to a live model for one prompt; a small model may call tools for ever."""


class Player:
    """Plays replies with one set of tools."""

    def __init__(self, contracts: Sequence[FunctionContract], narrator: Narrator) -> None:
        self._contracts = contracts
        self._narrator = narrator

    def show_prompt(self) -> None:
        """Show what the recorded models were told, to the end of the first contract."""
        tell = self._narrator
        lines = self._prompt(RECORDED_ON).rstrip("\n").split("\n")
        headings = [number for number, line in enumerate(lines) if line.startswith("## ")]
        shown = headings[1] if len(headings) > 1 else len(lines)
        tell.say(Kind.TITLE, "what the model is told")
        tell.say(Kind.PROMPT, "\n".join(lines[:shown]).rstrip())
        if shown < len(lines):
            tell.say(Kind.NOTE, f"and {len(lines) - shown} more lines: a section for each tool")
        tell.say(Kind.NOTE, "the models of the recordings were told the same in other words")

    def play(self, recording: Recording, speed: float | None) -> None:
        """Play one recording, from the question to the consolidated text."""
        tell = self._narrator
        tell.say(Kind.TITLE, f"{recording.name}: {recording.shows}")
        tell.say(Kind.NOTE, recording.facts)
        tell.say(Kind.USER, recording.prompt)
        reply = Reply(self._contracts, ToolBox(RECORDED_ON), tell)
        for chunk in recording.chunks(speed):
            reply.push(chunk)
        truncated = recording.finish_reason == "length"
        if truncated:
            tell.say(Kind.NOTE, "the model was cut off here (finish_reason: length)")
        reply.finish(truncated=truncated)
        self._show_history(reply.messages)

    def ask(self, endpoint: Endpoint, prompt: str) -> None:
        """Ask a live model, run what it calls and hand it the results, until it calls nothing."""
        tell = self._narrator
        today = datetime.date.today()  # noqa: DTZ011 - the day where the user is
        system = {"role": "system", "content": self._prompt(today)}
        tools = ToolBox(today)
        messages: list[Message] = [TextMessage(prompt, role="user")]
        tell.say(Kind.TITLE, f"live: {endpoint.model} at {endpoint.url}")
        tell.say(Kind.USER, prompt)
        for _ in range(MAX_TURNS):
            history = self._consolidated(messages, "split")
            answer = endpoint.ask([system, *map(_as_request, history)])
            reply = Reply(self._contracts, tools, tell)
            self._stream(answer, reply)
            # Text first, even what stood after a call: a request ends with what is to be answered.
            messages += sorted(reply.messages, key=_has_results)
            if not _has_results(messages[-1]):
                break
            tell.say(Kind.NOTE, "the results go back to the model")
        else:
            tell.say(Kind.NOTE, f"stopped after {MAX_TURNS} requests")
        self._show_history(messages[1:])

    def _stream(self, answer: LiveReply, reply: Reply) -> None:
        for piece in answer:
            if piece.reasoning:
                reply.think(piece.text)
            else:
                reply.push(piece.text)
        for remark in answer.remarks:
            self._narrator.say(Kind.NOTE, remark)
        if answer.finish_reason not in (None, "stop"):
            self._narrator.say(Kind.NOTE, f"finish_reason: {answer.finish_reason}")
        reply.finish(truncated=answer.truncated)

    def _show_history(self, messages: Sequence[Message]) -> None:
        for message in self._consolidated(messages, "single"):
            self._narrator.say(Kind.HISTORY, message.text.rstrip("\n"))

    def _prompt(self, today: datetime.date) -> str:
        return system_prompt(
            self._contracts, f"You are a helpful assistant. Today is {today}.", tag=TAG
        )

    def _consolidated(
        self, messages: Sequence[Message], form: Literal["single", "split"]
    ) -> list[TextMessage]:
        """The conversation as text; calls look as the prompt asks for them."""
        return consolidate(messages, tools=self._contracts, form=form, tag=TAG, fenced=True)


class Reply:
    """One reply while it streams: its calls are run as they complete."""

    def __init__(
        self, contracts: Sequence[FunctionContract], tools: ToolBox, narrator: Narrator
    ) -> None:
        self._parser = Parser(contracts)
        self._tools = tools
        self._narrator = narrator
        self._held = HeldBack()
        self._joiner = Joiner()
        self._known = [contract.name for contract in contracts]
        self._payload: list[str] = []

    @property
    def messages(self) -> tuple[Message, ...]:
        """Text, and the calls with their results."""
        return self._joiner.finish().messages

    def push(self, chunk: str) -> None:
        """Take some more of the reply."""
        self._held.feed(chunk)
        self._take(self._parser.push(chunk))
        self._narrator.held(self._held.text)

    def think(self, text: str) -> None:
        """Take thinking that the server keeps apart from the reply."""
        self._narrator.think(text)

    def finish(self, *, truncated: bool) -> None:
        """Take the end of the reply."""
        self._take(self._parser.finish(truncated=truncated))
        self._narrator.rest()

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            self._held.take(event)
            self._narrator.event(event)
            match event:
                case TextDelta():
                    self._joiner.push(event)
                case ToolCallDelta(fragment=fragment):
                    self._payload.append(fragment)
                case ToolCall():
                    result = self._tools.run(event)
                    self._narrator.result(result)
                    self._answer(event, result)
                case InvalidToolCall():
                    self._answer(*rejected(event, "".join(self._payload), self._known))
                case _:
                    pass

    def _answer(self, call: ToolCall, result: ToolResult) -> None:
        self._payload.clear()
        self._joiner.push(call)
        self._joiner.push(result)


def rejected(
    event: InvalidToolCall, payload: str, known: Sequence[str]
) -> tuple[ToolCall, ToolResult]:
    """What the model is to read about a call that did not run."""
    if event.kind == "unknown_tool":
        code = "unknown_tool"
        reason = f"Tool {event.name!r} not found. Available tools: {', '.join(known)}"
    else:
        code = "invalid_arguments"
        reason = f"Invalid call: {'; '.join(found.message for found in event.violations)}"
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
    )
    return call, ToolResult(event.id, event.name, reason, error_code=code)


def _has_results(message: Message) -> bool:
    return isinstance(message, ToolAggregateMessage)


def _as_request(message: TextMessage) -> dict[str, str]:
    return {"role": message.role.value, "content": message.text}
