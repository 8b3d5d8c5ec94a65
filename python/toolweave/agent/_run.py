"""A run of an agent, from the input to the answer."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import uuid
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from .. import tracing
from .._aio.loops import running_loop
from .._aio.runs import ResultRun
from .._aio.tasks import cancel_and_wait
from .._core import TextDelta, TextMessage, UsageMessage, UsageUpdate
from ..costs._spending import current_meter
from ..exceptions import MaxIterationsError, ToolFailed
from ..executor import ToolDeferred
from ..kinds import Role, StopReason
from ..models import as_messages
from ..natural._output import RunOutput
from ..natural._partial_output import partial_values
from ..natural._reader import CUT_OFF
from ..output._schema import Output
from ..tools import RunContext
from ..tools._run_context import Deps
from ._handoff import HandoffEvent, current_transfer
from ._held_reply import HeldReply
from ._history import SentHistory
from ._limits import LimitReached, RequestUsage, RunUsage
from ._loop import ReplyLoop, merge_late_results, pending_calls
from ._result import AgentResult
from ._stored import StoredConversation

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine, Generator
    from types import TracebackType

    from .._messages import Message
    from ..executor import DeferredResults
    from ..natural import NaturalToolUse, ReplyRun, ToolUseEvent
    from ..natural._partial_output import PartialOutput
    from ..protocols import Messages
    from ..summary import Summarizer
    from ._handoff import Target
    from ._options import AgentSettings, RunOptions
    from ._result import RunnableAgent

_log = logging.getLogger("toolweave.agent")

T = TypeVar("T")


AgentEvent: TypeAlias = "ToolUseEvent | HandoffEvent | AgentResult[Output]"
"""Any event of a run; the `AgentResult` is the last one."""


class AgentRun(ResultRun["AgentEvent[Output]", "AgentResult[Output]"], Generic[Deps, Output]):
    """A run of an agent, created by `Agent.open`.

    As an iterator it yields events in order, and the `AgentResult` last. As a context manager it
    stops the model and the tools when the block ends, and waits for them. However a run ends, its
    `messages` are valid history for the next one: every call in them has a result, unless the
    result is deferred.

    Example:
        >>> async def main(agent: Agent, save: Callable[[Sequence[Message]], None]) -> None:
        ...     async with agent.open("Clean up, please.") as run:
        ...         try:
        ...             print((await run.wait()).text)
        ...         finally:
        ...             save(run.messages)
    """

    def __init__(
        self,
        agent: RunnableAgent,
        use: NaturalToolUse[Any],
        settings: AgentSettings,
        input: Messages | None,  # noqa: A002 - it is what goes in
        options: RunOptions[Deps],
    ) -> None:
        self._agent = agent
        self._use = use
        self._settings = settings
        self._options = options
        self._messages = as_messages(options.history)
        self._start = len(self._messages)
        self._messages += [] if input is None else as_messages(input)
        self._stored: StoredConversation | None = None
        if options.conversation is not None:
            store = settings.conversations
            self._stored = StoredConversation(store, options.conversation, options.user)
        elif not self._messages:
            raise ValueError("input or history must have a message, got neither")
        self._sent = SentHistory(settings.history_processors)
        self._summary: str | None = None
        self._changed: list[Message] = []
        self._resumed = input is None
        self._chat_id = options.chat_id
        limits = settings.usage_limits if options.usage_limits is None else options.usage_limits
        self._usage = RunUsage(limits, prices=settings.prices, budget=settings.budget)
        self._output = RunOutput(settings.output.for_run(options.output_type), use)
        # The request of the current reply, and the limit that ends the run.
        self._request: RequestUsage | None = None
        self._limit: LimitReached | None = None
        self._transfer: tuple[Target, str] | None = None
        self._loop = ReplyLoop(settings.max_iterations, settings.max_repeats)
        self._holds_text = True
        self._reply: ReplyRun | None = None
        self._answer: HeldReply | None = None
        self._stop, self._text = StopReason.CANCELLED, ""
        self._context = contextvars.copy_context()
        self._context.run(current_meter.set, self._usage)
        self._context.run(current_transfer.set, self._request_transfer)
        self._cancelled = asyncio.Event()
        # A function of the application that runs now.
        self._callback: asyncio.Task[Any] | None = None
        # The cancellation of a run that has timed out.
        self._timeout_task: asyncio.Task[None] | None = None
        self._generator = self._events()
        self.run_id = uuid.uuid4().hex if options.run_id is None else options.run_id
        """The id of the run in its messages."""
        self.generation_id: str | None = None
        """The id of the reply that the last event belongs to; None before the first reply."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far. The calls of a reply are included when all have a result."""
        so_far = () if self._answer is None else self._answer.messages
        return (*self._messages, *so_far)

    @property
    def finished_messages(self) -> tuple[Message, ...]:
        """The messages that the run has added so far: the input and complete replies."""
        return tuple(self._messages[self._start :])

    @property
    def deferred(self) -> DeferredResults:
        """The deferred results that the tools wait for."""
        return self._use.executor.deferred

    @property
    def changed_messages(self) -> tuple[Message, ...]:
        """The messages of the history that changed because results of their calls arrived."""
        return tuple(self._changed)

    @property
    def usage(self) -> UsageMessage:
        """The usage of the run so far, as far as the provider reports it."""
        return UsageMessage(
            *self._total_usage(),
            from_agent=self._use.name,
            run_id=self.run_id,
            chat_id=self._chat_id,
        )

    def _total_usage(self) -> tuple[int, int, int]:
        """Return the input, output and cached input tokens of all requests."""
        ended = self._usage.reported
        is_open = self._request is not None and self._request.is_open
        current = self._reply.usage if is_open and self._reply is not None else None
        current = current or UsageMessage()
        return (
            ended.input_tokens + current.input_tokens,
            ended.output_tokens + current.output_tokens,
            ended.cached_input_tokens + current.cached_input_tokens,
        )

    async def __anext__(self) -> AgentEvent[Output]:
        return await anext(self._generator)

    async def wait(self) -> AgentResult[Output]:
        """Wait for the result. Cancellation stops the model and the tools.

        Raises:
            MaxIterationsError: The model still calls tools in the last iteration, in strict mode.
            ModelError: A request failed, or a reply broke off.
            PermissionError: The stored conversation belongs to another user.
            ToolUseParsingError: A call is invalid, in strict mode.
        """
        return await self._read_result()

    async def stream_output(self) -> AsyncGenerator[Any, None]:
        """Run, and yield the output as far as it is written, as a JSON value.

        Each value has more than the one before: objects and lists get more members and items, and
        the last string gets longer. Numbers, literals and keys appear when they are complete, and
        values that are repaired when that is certain. If the model is asked again, the values
        begin again. A long value does not come with each token: the next one is due when there is
        a little more of it, which bounds the cost of all values by the length of the reply.

        Leaving the iteration early stops the run if the run is also left as a context manager.

        Yields:
            Plain JSON values that do not change any more. The last one is the value that `output`
            of the result was made from; if there is no output type, each is the text so far.

        Raises:
            OutputError: The run ended without an output.
            Exception: Any exception of `wait`.
        """
        values = partial_values(self._output_texts(), lambda: self._output.final(self.result))
        async with aclosing(values):
            async for value in values:
                yield value

    async def _output_texts(self) -> AsyncGenerator[tuple[PartialOutput, str], None]:
        # What is yielded are values, and not texts of replies.
        self._holds_text = False
        partial = self._output.partial()
        generation_id: str | None = None
        async for event in self:
            if isinstance(event, TextDelta):
                if self.generation_id != generation_id:
                    generation_id, partial = self.generation_id, self._output.partial()
                yield partial, event.text

    async def cancel(self) -> None:
        """Stop the model and the tools, and wait until they have stopped.

        Calls without a result get one that says they were interrupted. The reader of the run
        receives these, then a result with the stop reason ``cancelled``.
        """
        self._cancelled.set()
        if self._callback is not None:
            self._callback.cancel()
        if self._reply is not None:
            await self._reply.cancel()

    async def caught_up(self) -> None:
        """Wait until the reader of the run has processed all events so far."""
        if self._reply is not None:
            await self._reply.caught_up()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await super().__aexit__(kind, error, traceback)
        finally:
            await self._generator.aclose()
            if self._timeout_task is not None:
                await asyncio.wait((self._timeout_task,))

    @contextmanager
    def _enforce_timeout(self) -> Generator[None, None, None]:
        """Cancel the run when it exceeds `run_timeout`."""
        seconds = self._settings.run_timeout
        if seconds is None:
            yield
            return
        loop = running_loop()

        def expire() -> None:
            self._timeout_task = loop.create_task(self.cancel())

        timer = loop.call_later(seconds, expire)
        try:
            yield
        finally:
            timer.cancel()

    async def _events(self) -> AsyncGenerator[AgentEvent[Output], None]:
        with self._enforce_timeout(), self._span():
            async with self._open_conversation() as is_open:
                if is_open:
                    async with aclosing(self._steps()) as steps:
                        async for event in steps:
                            yield event
            outcome = self._finish(self._stop, self._text)
            if outcome.stop_reason is StopReason.MAX_ITERATIONS and self._settings.strict:
                limit = self._settings.max_iterations
                raise MaxIterationsError(f"Maximum tool call iterations ({limit}) reached", limit)
            yield outcome

    @asynccontextmanager
    async def _open_conversation(self) -> AsyncGenerator[bool, None]:
        """Load the stored conversation, if there is one, and save it at the end.

        The value is False if the run is cancelled before that.
        """
        stored = self._stored
        if stored is None:
            yield True
            return
        async with stored.lock(self._cancelled) as is_locked:
            if not is_locked or not await self._call_back(self._load(stored)):
                yield False
                return
            try:
                yield True
            except BaseException:
                try:
                    await stored.save(self._messages, self._usage.cost, self._summary)
                except Exception:  # noqa: BLE001 - the first error is raised
                    _log.exception("a conversation could not be saved")
                raise
            await stored.save(self._messages, self._usage.cost, self._summary)

    async def _load(self, stored: StoredConversation) -> bool:
        messages = await stored.load()
        self._usage.spending.previous = stored.cost_in(self._usage.cost.currency)
        if messages is not None:
            self._messages[: self._start] = messages
            self._start = len(messages)
        if not self._messages:
            raise ValueError("input or the conversation must have a message, got neither")
        return True

    async def _call_back(self, call: Coroutine[Any, Any, T]) -> T | None:
        """Await a function of the application in the context of the run; None if cancelled."""
        task = self._callback = self._context.copy().run(running_loop().create_task, call)
        if self._cancelled.is_set():
            task.cancel()
        try:
            await asyncio.wait((task,))
        finally:
            self._callback = None
            if not task.done():
                await cancel_and_wait(task)
        return None if task.cancelled() and self._cancelled.is_set() else task.result()

    async def _steps(self) -> AsyncGenerator[AgentEvent[Output], None]:
        """Yield the events of all replies, and set the stop reason and the text."""
        merge = self._use.executor.merge_results
        for aggregate, late in await merge_late_results(
            self._messages, merge, self._options.journal, self._changed
        ):
            self.generation_id = aggregate.generation_id
            for _, result in late:
                yield result
            yield aggregate
        if self._resumed and self._deferred():
            self._stop = StopReason.DEFERRED
            return
        if self._settings.summarizer is not None:
            await self._call_back(self._shorten(self._settings.summarizer))
        empty: ReplyRun | None = None
        with_tools = True
        stop: StopReason | None = None
        while True:
            reply = await self._open_reply(empty, with_tools=with_tools)
            if reply is None:
                self._stop = StopReason.CANCELLED if self._limit is None else self._limit.reason
                return
            question: TextMessage | None = None
            async with self._consume(reply) as answer:
                async for event in reply:
                    for each in answer.push(event):
                        yield each
                self._text = reply.text
                stop = await self._stop_reason_of(reply, with_tools=with_tools)
                empty = reply if self._loop.should_retry(reply) else None
                answers = with_tools and self._settings.answer_at_limit
                continues = stop in {None, StopReason.CANCELLED} or empty is not None
                is_last = not continues and (stop is not StopReason.MAX_ITERATIONS or not answers)
                try:
                    question = await self._check_output(reply) if is_last else None
                except Exception:
                    for each in answer.refuse():
                        yield each
                    raise
                is_output = is_last and question is None
                for each in answer.accept() if is_output else answer.refuse():
                    yield each
            self._stop = stop or self._stop
            if stop is StopReason.CANCELLED:
                return
            if question is not None:
                self._messages.append(question)
            if self._transfer is not None and stop is not StopReason.DEFERRED:
                yield await self._hand_over(*self._transfer)
            if is_output:
                return
            if is_last or continues:
                continue
            # A request without tools, and another one if its reply is empty.
            with_tools = False
            self._loop.extend(2)

    async def _shorten(self, summarizer: Summarizer) -> None:
        """Replace old messages of the history with a summary, if it is long."""
        shortened = await summarizer.shorten(self._messages[: self._start])
        if shortened is not None and shortened.error is None:
            self._messages[: self._start] = shortened.messages
            self._start = len(shortened.messages)
            self._summary = shortened.summary

    @contextmanager
    def _span(self) -> Generator[None, None, None]:
        """Trace the run in a span that is current for the model and the tools only.

        It must not be current for the reader: a generator shares the context of its caller.
        """
        context = self._context
        span = context.run(tracing.invoke_agent, self._use.name, conversation_id=self._chat_id)
        context.run(span.__enter__)
        failed: BaseException | None = None
        try:
            yield
        except BaseException as error:
            failed = error
            raise
        finally:
            span.usage(UsageUpdate(*self._total_usage()))
            where = None if failed is None else failed.__traceback__
            context.run(span.__exit__, None if failed is None else type(failed), failed, where)

    async def _open_reply(
        self, empty: ReplyRun | None = None, *, with_tools: bool = True
    ) -> ReplyRun | None:
        """Open the next reply, unless the run is cancelled or a limit refuses it.

        Args:
            empty: The last reply if it was empty and is requested again.
            with_tools: True if the model is shown the tools.
        """
        self._loop.iterations += 1
        messages = self._messages
        if empty is not None:
            _log.info("an empty reply is requested once more", extra={"run_id": self.run_id})
            # Providers reject turns that have only reasoning.
            messages = messages[: len(messages) - len(empty.messages)]
        context = self._run_context()
        sent = await self._call_back(self._sent.prepare(messages, context))
        if sent is None:
            self._loop.iterations -= 1
            return None
        options, form = self._output.request(self._settings.options, with_tools=with_tools)
        instructions = (*self._settings.instructions, form)
        texts = [part for part in instructions if isinstance(part, str) and part]
        sent = [*sent, *([] if empty is None else [empty.reminder])]
        # What functions will return is not known yet.
        known = [*(TextMessage(text, role=Role.SYSTEM) for text in texts), *sent]
        started = await self._usage.start_request(self._use.parser.model, known)
        if isinstance(started, LimitReached):
            self._loop.iterations -= 1
            self._limit = started
            return None
        if self._cancelled.is_set():
            self._loop.iterations -= 1
            started.abandon()
            return None
        self._request, self._transfer = started, None
        return self._use.open(
            sent,
            options=options,
            run_id=self.run_id,
            chat_id=self._chat_id,
            with_tools=with_tools,
            context=self._context,
            admit=self._admit if self._usage.holds_calls else None,
            journal=self._options.journal,
            run_context=context,
            instructions=instructions,
        )

    async def _admit(self, reply: ReplyRun) -> bool:
        """Count the usage and the calls of a reply; False if a limit refuses the calls."""
        await self._close_request(reply)
        self._limit = self._usage.start_calls(len(reply.calls))
        return self._limit is None

    async def _close_request(self, reply: ReplyRun) -> None:
        if self._request is not None:
            await self._request.close_with(reply)

    def _request_transfer(self, target: Target, call_id: str) -> None:
        """Hand the run over to another agent after the current reply.

        Raises:
            ToolFailed: The reply has handed it over already.
        """
        if self._transfer is not None:
            name = self._transfer[0].name
            raise ToolFailed(f"The conversation is being transferred to {name} already.")
        self._transfer = target, call_id

    async def _hand_over(self, target: Target, call_id: str) -> HandoffEvent:
        event = HandoffEvent(self._use.name, target.name, call_id)
        processors = target.settings.history_processors
        history = self._sent.hand_over(
            target.input_filter, processors, self._messages, self._run_context()
        )
        self._sent = await self._call_back(history) or self._sent
        self._agent, self._use = target.agent, target.use
        self._settings = target.settings.of_run(self._settings)
        self._output.use = target.use
        self._transfer = None
        return event

    def _run_context(self) -> RunContext[Any]:
        """Return the context of the next request."""
        return RunContext(
            self._options.deps,
            run_id=self.run_id,
            chat_id=self._chat_id,
            messages=self.messages,
            usage=self.usage,
            iterations=self._loop.iterations,
        )

    @asynccontextmanager
    async def _consume(self, reply: ReplyRun) -> AsyncGenerator[HeldReply, None]:
        """Add the messages and usage of a reply to the run, however the block ends."""
        self._reply = reply
        answer = HeldReply(reply, checked=self._output.is_checked, hold=self._holds_text)
        self._answer = answer
        self.generation_id = reply.generation_id
        try:
            async with reply:
                yield answer
        finally:
            try:
                await self._close_request(reply)
            finally:
                if not self._usage.holds_calls:
                    self._usage.start_calls(len(reply.calls))
                self._messages += answer.messages
                self._reply = self._answer = None

    async def _stop_reason_of(self, reply: ReplyRun, *, with_tools: bool) -> StopReason | None:
        """Return the reason why the run ends with this reply, or None if it continues."""
        stop: StopReason | None = StopReason.MAX_ITERATIONS
        if with_tools and reply.aggregate is not None:
            stop = await self._loop.stop_reason(reply.aggregate)
        elif with_tools and reply.finish_reason in CUT_OFF:
            stop = StopReason(reply.finish_reason.value)
        elif with_tools:
            stop = StopReason.COMPLETED if reply.text.strip() else StopReason.EMPTY
        if self._limit is not None:
            stop = self._limit.reason
        return StopReason.CANCELLED if self._cancelled.is_set() else stop

    async def _check_output(self, reply: ReplyRun) -> TextMessage | None:
        """Read the last reply as the output; return the message that asks again, if it is none."""
        if reply.aggregate is not None:
            return None
        return await self._output.check(
            reply.text,
            self._run_context(),
            truncated=reply.finish_reason in CUT_OFF,
            may_retry=self._loop.may_continue and self._limit is None,
        )

    def _deferred(self) -> tuple[ToolDeferred, ...]:
        """Return the calls of the conversation with deferred results."""
        return tuple(
            ToolDeferred(call.id, call.name, key)
            for message in self._messages
            for call, key in pending_calls(message)
        )

    def _finish(self, stop: StopReason, text: str) -> AgentResult[Output]:
        if stop is StopReason.CANCELLED and self._timeout_task is not None:
            stop = StopReason.TIMEOUT
        _log.info(
            "a run has ended",
            extra={
                "agent": self._use.name,
                "run_id": self.run_id,
                "stop_reason": stop.value,
                "iterations": self._loop.iterations,
            },
        )
        limit = self._limit
        self.result = AgentResult(
            text=text.strip(),
            messages=tuple(self._messages),
            new_messages=tuple(self._messages[self._start :]),
            usage=self.usage,
            stop_reason=stop,
            iterations=self._loop.iterations,
            deferred=self._deferred(),
            cost=self._usage.cost,
            tool_calls=self._usage.tool_calls,
            error=None if limit is None or limit.reason is not stop else limit.message,
            _last_agent=self._agent,
            _output=self._output.result(stop.value, text, tuple(self._messages)),
        )
        return self.result
