"""Runs of an agent on recorded or live models, with printed events."""

from __future__ import annotations

import asyncio
import datetime
import itertools
import re
from typing import TYPE_CHECKING

from .._core import (
    FinishUpdate,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    ToolCallStart,
    UsageMessage,
    consolidate,
    system_prompt,
)
from .._streams import Event
from ..agent import Agent, AgentResult, HandoffEvent
from ..kinds import FinishReason, StopReason
from ..models import closing
from ..models._identity import identify
from .recordings import RECORDED_ON
from .screens import LineKind
from .toolbox import ToolBox

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..natural import ToolUseEvent
    from ..protocols import ChatModel, ModelOptions
    from .printer import EventPrinter
    from .recordings import Recording

MAX_REQUESTS = 4
"""Maximum number of requests to a live model for one prompt; small models may loop."""

CUT_OFF = {
    FinishReason.LENGTH: "the model was cut off here (finish reason: length)",
    FinishReason.CONTENT_FILTER: "the provider withheld the rest (finish reason: content_filter)",
    FinishReason.MISSING: "the stream ended without a finish reason; taken as cut off",
}

STEP = 0.5
"""Seconds per step of a slow tool: long enough to see that calls run concurrently."""

FAST_STEP = 0.02
"""Seconds per step without pacing."""


class Player:
    """A runner of agents whose events a printer shows."""

    def __init__(self, printer: EventPrinter) -> None:
        self._printer = printer

    def show_prompt(self) -> None:
        """Show the system prompt, to the end of the first contract."""
        printer = self._printer
        contracts = [tool.contract for tool in ToolBox(RECORDED_ON).tools]
        lines = system_prompt(contracts, _instructions(RECORDED_ON)).rstrip("\n").split("\n")
        second = [number for number, line in enumerate(lines) if line.startswith("## ")][1]
        printer.write(LineKind.TITLE, "the system prompt")
        printer.write(LineKind.PROMPT, "\n".join(lines[:second]).rstrip())
        printer.write(
            LineKind.NOTE, f"and {len(lines) - second} more lines: a section for each tool"
        )
        printer.write(LineKind.NOTE, "the recorded models had the same prompt in other words")

    async def play(self, recording: Recording, speed: float | None) -> None:
        """Run an agent on a recording, from the question to the consolidated text."""
        printer = self._printer
        printer.write(LineKind.TITLE, f"{recording.name}: {recording.shows}")
        printer.write(LineKind.NOTE, recording.facts)
        tools = ToolBox(RECORDED_ON, step=FAST_STEP if speed is None else STEP / speed)
        result = await self._run(recording.replay(speed), tools, recording.prompt, requests=1)
        if result.stop_reason is StopReason.MAX_ITERATIONS:
            printer.write(LineKind.NOTE, "the reply to the results was not recorded")
        self._show_history(result.new_messages[1:], tools)

    async def ask(self, model: ChatModel, where: str, prompt: str) -> None:
        """Run an agent on a live model."""
        printer = self._printer
        printer.write(LineKind.TITLE, f"live: {where}")
        tools = ToolBox(datetime.date.today(), step=STEP)  # noqa: DTZ011 - where the user is
        result = await self._run(model, tools, prompt, requests=MAX_REQUESTS)
        if result.stop_reason is StopReason.MAX_ITERATIONS:
            printer.write(LineKind.NOTE, f"stopped after {MAX_REQUESTS} requests")
        elif result.stop_reason is not StopReason.COMPLETED:
            printer.write(LineKind.NOTE, f"stopped: {result.stop_reason}")
        self._show_history(result.new_messages[1:], tools)

    async def _run(
        self, model: ChatModel, tools: ToolBox, prompt: str, *, requests: int
    ) -> AgentResult:
        printer = self._printer
        printer.write(LineKind.USER, prompt)
        observed = ObservedModel(model, printer)
        agent = Agent(
            observed,
            tools.tools,
            instructions=_instructions(tools.today),
            max_iterations=requests,
            # Short ids for the screen: `call_2_0` is the first call of reply 2.
            generation_ids=map(str, itertools.count(1)).__next__,
        )
        async with agent.open(prompt) as run:
            async for event in run:
                if isinstance(event, AgentResult):
                    return event
                # Its agent has no handoffs.
                if not isinstance(event, HandoffEvent):
                    self._print_event(event, observed.held)
        raise RuntimeError("the run ended without a result")

    def _print_event(self, event: ToolUseEvent, held: HeldText) -> None:
        printer = self._printer
        if isinstance(event, Event):
            held.take(event)
            printer.event(event)
        elif isinstance(event, UsageMessage):
            read, written = event.input_tokens, event.output_tokens
            printer.write(LineKind.NOTE, f"tokens: {read:,} read, {written:,} written")
        elif isinstance(event, FinishUpdate):
            printer.end_line()
        else:
            printer.tool(event)

    def _show_history(self, messages: Sequence[Message], tools: ToolBox) -> None:
        contracts = [tool.contract for tool in tools.tools]
        for message in consolidate(messages, tools=contracts, tag="name"):
            # The line breaks between calls are all moved behind the text.
            text = re.sub(r"\n{3,}", "\n\n", message.text.strip("\n"))
            self._printer.write(LineKind.HISTORY, text)


class ObservedModel:
    """A wrapper of a model that tracks the held-back text.

    Args:
        model: The model.
        printer: Shows the held-back text after each delta.
    """

    native_tools = False

    def __init__(self, model: ChatModel, printer: EventPrinter) -> None:
        self._model = model
        self._printer = printer
        self._requests = 0
        self.name = identify(model).name
        """Name of the model."""
        self.held = HeldText()
        """Held-back text of the current reply."""

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Stream the reply of the model."""
        printer = self._printer
        if self._requests:
            printer.write(LineKind.NOTE, "the results go back to the model")
        self._requests += 1
        self.held = HeldText()
        async with closing(self._model.stream(messages, tools=tools, options=options)) as updates:
            async for update in updates:
                if isinstance(update, (TextDelta, ReasoningDelta)):
                    self.held.feed(update.text)
                elif isinstance(update, FinishUpdate) and update.reason in CUT_OFF:
                    printer.write(LineKind.NOTE, CUT_OFF[update.reason])
                yield update
                # Let the reader of the agent's events handle those of this delta.
                await asyncio.sleep(0)
                printer.held(self.held.text)


def _instructions(today: datetime.date) -> str:
    return f"You are a helpful assistant. Today is {today}."


class HeldText:
    """A tracker of the input that the parser has received but not emitted.

    It relies on two guarantees of the parser: text and the `raw` of all other events, in
    order, are the whole input, and the fragments of a call are its payload.
    """

    def __init__(self) -> None:
        self.text = ""
        """Input that no event contains yet."""
        # Numbers of characters in complete events, and in these or fragments.
        self._released = 0
        self._seen = 0
        self._in_payload = False

    def feed(self, chunk: str) -> None:
        """Record the next input of the parser."""
        self.text += chunk

    def take(self, event: Event) -> None:
        """Record an event of the parser."""
        match event:
            case ToolCallStart():
                self._in_payload = False
            case ToolCallDelta(fragment=fragment):
                # The payload follows the tag, and possibly a fence.
                start = 0 if self._in_payload else max(self.text.find(fragment), 0)
                self._in_payload = True
                self._see(self._seen + start + len(fragment))
            case TextDelta(text=span) | ReasoningDelta(text=span):
                self._release(span)
            case _:
                self._release(event.raw)

    def _release(self, span: str) -> None:
        self._released += len(span)
        self._see(self._released)

    def _see(self, position: int) -> None:
        if position > self._seen:
            self.text = self.text[position - self._seen :]
            self._seen = position
