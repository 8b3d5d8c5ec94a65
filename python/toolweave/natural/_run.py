"""Run of one reply: calls start while the model is still writing."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import itertools
import logging
from collections import deque
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import tracing
from .._aio.event_queue import EventQueue
from .._aio.loops import running_loop
from .._aio.runs import Run
from .._aio.tasks import wait_until_done
from .._core import (
    FinishUpdate,
    InvalidToolCall,
    Joiner,
    ReasoningDelta,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolCallMessage,
    ToolCallStart,
    UsageMessage,
    UsageUpdate,
)
from ..executor._events import ToolProgress
from ..kinds import FinishReason
from ..models import closing
from ..tools._search import describe
from ._parts import MAX_SEPARATE_CALLS, is_slow_to_parse, split_aggregate, with_envelope
from ._preparation import offered_tools, with_instructions
from ._reader import CUT_OFF

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .._messages import Message
    from .._options import Tools
    from .._streams import Event
    from ..executor import ToolEvent, ToolExecutor, ToolRun
    from ..protocols import Journal, Messages, ModelOptions
    from ..tools import RunContext
    from ._parser import NaturalToolUseParser
    from ._parts import ReplyEnvelope
    from ._preparation import Instruction, PrepareTools
    from ._reader import ReplyEvent
    from ._request import Request

_log = logging.getLogger("toolweave.natural")

ToolUseEvent: TypeAlias = "Event | ToolEvent | UsageMessage | FinishUpdate"
"""Any event of a reply or its calls; the `FinishUpdate` is the last."""

_CANCEL_GRACE = 5.0
_CALLS_PER_SLICE = 256
_REMINDER = "(Your last reply was empty. Reply now, in plain text.)"
_REMINDER_WITH_TOOLS = (
    "(Your last reply was empty. "
    "Reply now: call a tool if one is needed, otherwise answer in plain text.)"
)


class ReplyRun(Run["ToolUseEvent"]):
    """Run of one reply: each call starts when it is complete, while the model is still writing.

    When all calls have results, it emits them as a `ToolAggregateMessage` for each message with
    calls: one message, if the model wrote nothing between them.

    Created by `open` of `NaturalToolUse` and `FunctionCalling`. As an iterator it yields the events
    in order; as a context manager it cancels the model and the tools at the end of the block, and
    waits for them. However it ends, `messages` is valid input for the next request.

    Example:
        >>> async def main(use: NaturalToolUse) -> None:
        ...     async with use.open("How is the weather in Oslo?") as reply:
        ...         async for event in reply:
        ...             print(event)
        ...     print(reply.messages)
    """

    def __init__(
        self,
        parser: NaturalToolUseParser,
        executor: ToolExecutor,
        messages: Messages,
        *,
        envelope: ReplyEnvelope,
        options: ModelOptions | None = None,
        call_ids: Callable[[int], str] | None = None,
        with_tools: bool = True,
        context: contextvars.Context | None = None,
        admit: Callable[[ReplyRun], bool | Awaitable[bool]] | None = None,
        journal: Journal | None = None,
        run_context: RunContext[Any],
        instructions: Sequence[Instruction[Any]] = (),
        prepare_tools: PrepareTools[Any] | None = None,
    ) -> None:
        self._parser = parser
        self._executor = executor
        self._messages: Messages = messages
        self._options = options
        self._call_ids = call_ids
        self._with_tools = with_tools
        # Tools run in this context, so that they are not traced as part of the model request.
        self._context = contextvars.copy_context() if context is None else context
        self._envelope = envelope
        self._admit = admit
        self._journal = journal
        self.run_context, self._instructions = run_context, instructions
        """Context of the run that the reply belongs to."""
        self._prepare_tools, self._offered = prepare_tools, executor.toolset
        self._held: deque[ToolCall | InvalidToolCall] = deque()
        self._joiner = Joiner(
            from_agent=envelope.from_agent,
            generation_id=envelope.generation_id,
            run_id=envelope.run_id,
            chat_id=envelope.chat_id,
        )
        self._joined_messages: tuple[Message, ...] | None = None
        # Indices of the calls that the joiner has received.
        self._positioned: set[int] = set()
        self._aggregates: list[ToolAggregateMessage | None] = []
        self.finish_reason = FinishReason.MISSING
        """Reason for the end of the model's reply, once it has ended."""
        self.aggregate: ToolAggregateMessage | None = None
        """All calls with their results, once complete."""
        self._events: EventQueue[ToolUseEvent] = EventQueue()
        self._model: asyncio.Task[None] | None = None
        self._tools: asyncio.Task[None] | None = None
        self._run: ToolRun | None = None
        self._submitted: list[ToolCall | InvalidToolCall] = []
        self._error: BaseException | None = None
        self._cancelled = False

    @property
    def messages(self) -> tuple[Message, ...]:
        """Messages of the reply so far, in the order of writing; the usage is last.

        Calls and their results are one message, unless the model wrote text or reasoning between
        them. They appear when all calls of the reply have a result or are deferred. White space
        between calls is not a message; it is at the start of the following text.
        """
        kept: list[Message] = []
        aggregates = iter(self._aggregates)
        number = 0
        for message in self._joined():
            if isinstance(message, ToolCallMessage):
                aggregate = next(aggregates, None)
                if aggregate is not None:
                    kept.append(aggregate)
            elif isinstance(message, UsageMessage):
                kept.append(message)
            elif not (isinstance(message, TextMessage) and message.text.isspace()):
                kept.append(message.__replace__(id=self._envelope.id_of(number)))
                number += 1
        return tuple(kept)

    @property
    def generation_id(self) -> str:
        """Id of the reply; the ids of its messages begin with it."""
        return self._envelope.generation_id

    @property
    def usage(self) -> UsageMessage | None:
        """Usage of the request so far, if the provider reports it."""
        return next((m for m in self._joined() if isinstance(m, UsageMessage)), None)

    @property
    def text(self) -> str:
        """Text of the reply so far, without reasoning and calls."""
        return "".join(m.text for m in self._joined() if isinstance(m, TextMessage))

    @property
    def calls(self) -> tuple[ToolCall | InvalidToolCall, ...]:
        """Calls of the reply so far as the model wrote them, valid or not."""
        return (*self._submitted, *self._held)

    @property
    def is_empty(self) -> bool:
        """True if the reply ended without text and calls, and was not truncated.

        Reasoning and fabricated results do not count as text; a stop sequence may have left nothing
        else. `Agent`, scenes, and `stream` and `complete` of `NaturalToolUse` repeat the request
        once after such a reply.
        """
        # The reason is set only when the model has ended by itself.
        return not (self.finish_reason in CUT_OFF or self.calls or self.text.strip())

    @property
    def reminder(self) -> TextMessage:
        """User message for the next request after an empty reply.

        Without it, a model at temperature 0 would return the same reply again. It belongs to that
        request only, not to the conversation.
        """
        return TextMessage(_REMINDER_WITH_TOOLS if tuple(self._shown_tools) else _REMINDER)

    @property
    def conversation(self) -> Messages:
        """Messages of the request as they were given; with the instructions, once it is sent."""
        return self._messages

    @property
    def request(self) -> Request:
        """Request to the model."""
        return self._parser.request(self._messages, tools=self._shown_tools, options=self._options)

    @property
    def _shown_tools(self) -> Tools:
        return self._offered if self._with_tools else ()

    def _joined(self) -> tuple[Message, ...]:
        """Return the joined messages of the model so far."""
        # Read several times per reply, and rarely while it streams.
        if self._joined_messages is None:
            self._joined_messages = tuple(
                message.__replace__(id=self._envelope.id_of("usage"))
                if isinstance(message, UsageMessage)
                else message
                for message in self._joiner.finish().messages
            )
        return self._joined_messages

    def _join(self, update: TextDelta | ReasoningDelta | UsageUpdate | ToolCall) -> None:
        self._joiner.push(update)
        self._joined_messages = None

    def _record_position(self, index: int, name: str) -> None:
        """Record the position of a call, that of its first event, whether it is valid or not."""
        if index >= MAX_SEPARATE_CALLS and self._positioned:
            return
        if index not in self._positioned:
            self._positioned.add(index)
            self._join(ToolCall(str(index), name, {}))

    def _groups(self) -> list[list[int]]:
        """Return the positions of the submitted calls of each message; empty for one message."""
        written = [each for each in self._joined() if isinstance(each, ToolCallMessage)]
        if len(written) < 2:
            return []
        by_index: dict[str, list[int]] = {}
        for position, call in enumerate(self._submitted):
            by_index.setdefault(str(call.index), []).append(position)
        groups = [
            [each for call in message.tool_calls for each in by_index.pop(call.id, ())]
            for message in written
        ]
        groups[-1].extend(itertools.chain.from_iterable(by_index.values()))
        return groups

    async def __anext__(self) -> ToolUseEvent:
        if self._model is None and not self._events.is_closed:
            self._start()
        return await self._events.take()

    async def wait(self) -> tuple[Message, ...]:
        """Wait for the end of the run. Cancelling this cancels the model and the tools.

        Returns:
            The messages of the reply.

        Raises:
            ModelError: The request failed, or the reply was interrupted. Earlier calls have their
                results.
            ToolUseParsingError: A call is invalid, in strict mode.
        """
        async with self:
            async for _ in self:
                pass
        return self.messages

    async def cancel(self) -> None:
        """Cancel the model and the tools, and wait for their end.

        Calls without a result get one that says that they were interrupted.
        """
        self._cancelled = True
        # The caller may be the reader, which cannot read before this returns.
        self._events.release()
        if self._model is None:
            self._events.end()
        if self._events.is_closed:
            return
        for _ in self._release(admitted=False):
            pass
        for task in (self._model, self._tools):
            if task is not None:
                task.cancel()
        # It ends in bounded time, and a cancelled caller must wait for it, too.
        stopping = asyncio.ensure_future(self._stop())
        cancellation = await wait_until_done(stopping)
        self._events.end(self._error)
        stopping.result()
        if cancellation is not None:
            raise cancellation

    async def caught_up(self) -> None:
        """Wait until the reader of the run has processed all events so far.

        An event is processed when the reader asks for the next one. Return at once if the run is
        cancelled.
        """
        if self._run is not None:
            await self._run.caught_up()
        await self._events.caught_up()

    # The model.

    def _start(self) -> None:
        loop = running_loop()
        # One task reads the whole reply, since some clients fail if the task changes.
        self._model = self._context.copy().run(loop.create_task, self._run_model())
        self._model.add_done_callback(self._on_model_done)

    async def _run_model(self) -> None:
        """Read the reply, then submit the held calls in slices, since there may be any number."""
        try:
            await self._read_model()
        except Exception as error:  # noqa: BLE001 - raised for the reader
            self._store_error(error)
        if self._admit is None or self._cancelled:
            return
        admitted = self._error is None and await self._check_admission(self._admit)
        for number in self._release(admitted=admitted):
            if number % _CALLS_PER_SLICE == 0:
                await asyncio.sleep(0)

    async def _prepare_request(self) -> None:
        """Add the instructions to the messages, and select the tools that the model is offered."""
        context = self.run_context
        self._messages = await with_instructions(self._instructions, context, self._messages)
        if self._with_tools:
            tools = self._executor.toolset
            self._offered = await offered_tools(tools, self._prepare_tools, context)

    async def _read_model(self) -> None:
        parser = self._parser
        await self._prepare_request()
        stream = parser.stream(
            self._messages,
            tools=self._shown_tools,
            options=self._options,
            call_ids=self._call_ids,
        )
        with tracing.chat(parser.name, provider=parser.provider, options=self._options) as span:
            async with closing(stream) as events:
                async for event in events:
                    self._handle_event(event)
                    if isinstance(event, UsageUpdate):
                        span.usage(event)
            span.set(tracing.RESPONSE_FINISH_REASONS, [self.finish_reason.value])

    def _handle_event(self, event: ReplyEvent) -> None:
        if self._cancelled:
            return
        if isinstance(event, FinishUpdate):
            self.finish_reason = event.reason
        elif isinstance(event, UsageUpdate):
            self._join(event)
        else:
            if isinstance(event, (TextDelta, ReasoningDelta)):
                self._join(event)
            elif isinstance(event, (ToolCallStart, ToolCall, InvalidToolCall)):
                self._record_position(event.index, event.name)
            self._events.put(event)
            if isinstance(event, (ToolCall, InvalidToolCall)):
                if self._admit is None:
                    self._submit(event)
                else:
                    self._held.append(event)

    def _on_model_done(self, task: asyncio.Task[None]) -> None:
        self._store_task_error(task)
        if self._run is not None:
            self._run.close()
        if self._tools is None or self._tools.done():
            self._finish()

    # The tools.

    async def _check_admission(self, admit: Callable[[ReplyRun], bool | Awaitable[bool]]) -> bool:
        try:
            admitted = admit(self)
            return bool(await admitted if isinstance(admitted, Awaitable) else admitted)
        except Exception as error:  # noqa: BLE001 - raised for the reader
            self._error = error
            return False

    def _release(self, *, admitted: bool) -> Iterator[int]:
        """Submit the held calls, to be run or interrupted, and count them."""
        for number in itertools.count(1):
            if not self._held:
                return
            self._submit(self._held.popleft(), interrupt=number == 1 and not admitted)
            yield number

    def _submit(self, call: ToolCall | InvalidToolCall, *, interrupt: bool = False) -> None:
        if self._run is None:
            self._run = self._executor.open(
                context=self.run_context, tools=self._offered, journal=self._journal
            )
            describe_found = functools.partial(self._parser.describe, tools=self._shown_tools)
            self._context.run(describe.set, describe_found)
            loop = running_loop()
            self._tools = self._context.run(loop.create_task, self._read_tools(self._run))
            self._tools.add_done_callback(self._on_tools_done)
            if interrupt:
                self._run.interrupt()
        self._context.run(self._run.submit, call)
        self._submitted.append(call)

    async def _read_tools(self, run: ToolRun) -> None:
        try:
            is_broken_off = False
            async for event in run:
                await self._handle_tool_event(event)
                if run.error is not None and not is_broken_off:
                    # The rest of the reply will not be read.
                    is_broken_off = True
                    self._break_off(run.error)
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001 - from a task it would go to the loop
            self._break_off(error)

    def _break_off(self, error: BaseException) -> None:
        """Store an error for the reader, and stop the model."""
        exits_program = not isinstance(error, Exception)
        if exits_program or (self._error is None and not self._cancelled):
            self._error = error
        if self._model is not None:
            self._model.cancel()

    async def _handle_tool_event(self, event: ToolEvent) -> None:
        if isinstance(event, ToolAggregateMessage):
            if is_slow_to_parse(self._submitted):
                assembled = await asyncio.to_thread(self._assemble, event)
            else:
                assembled = self._assemble(event)
            self.aggregate, self._aggregates = assembled
            for message in self._aggregates:
                if message is not None:
                    self._events.put(message)
        elif isinstance(event, ToolProgress):
            self._events.offer(event)
        else:
            self._events.put(event)

    def _assemble(
        self, event: ToolAggregateMessage
    ) -> tuple[ToolAggregateMessage, list[ToolAggregateMessage | None]]:
        """Return all calls and results as one message, and split into the actual messages."""
        whole = with_envelope(event, self._submitted, self._envelope)
        return whole, split_aggregate(whole, self._groups(), self._envelope)

    def _on_tools_done(self, task: asyncio.Task[None]) -> None:
        self._store_task_error(task)
        if self._model is None or self._model.done():
            self._finish()

    async def _stop(self) -> None:
        """Wait for the cancelled tasks, and for the tools."""
        try:
            if self._run is not None and self._tools is not None:
                await asyncio.wait([self._tools])
                if self.aggregate is None:
                    await self._run.cancel()
                    try:
                        async for event in self._run:
                            await self._handle_tool_event(event)
                    except Exception as error:  # noqa: BLE001 - raised for the reader
                        self._error = self._error or error
                if self.aggregate is None and self._run.aggregate is not None:
                    # It was being assembled when the tasks were cancelled.
                    await self._handle_tool_event(self._run.aggregate)
        finally:
            if self._model is not None:
                _, running = await asyncio.wait([self._model], timeout=_CANCEL_GRACE)
                if running:
                    _log.error("a model ignores its cancellation and is abandoned")

    # The end.

    def _store_task_error(self, task: asyncio.Task[None]) -> None:
        """Store the error of a task; the first one is raised."""
        self._store_error(asyncio.CancelledError() if task.cancelled() else task.exception())

    def _store_error(self, error: BaseException | None) -> None:
        if error is not None and self._error is None and not self._cancelled:
            self._error = error

    def _finish(self) -> None:
        """End the run after both the model and the tools have ended by themselves."""
        if self._cancelled:
            return
        if self._error is None:
            usage = self.usage
            if usage is not None:
                self._events.put(usage)
            self._events.put(FinishUpdate(self.finish_reason))
        self._events.end(self._error)
