"""A run of an agent, from the input to the answer."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import uuid
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast

from .. import tracing
from .._aio.loops import running_loop
from .._aio.runs import ResultRun
from .._core import TextMessage, UsageMessage, UsageUpdate
from ..exceptions import MaxIterationsError
from ..executor import ToolDeferred
from ..kinds import Role, StopReason
from ..models import as_messages
from ..natural._reader import CUT_OFF
from ..tools import RunContext
from ..tools._run_context import Deps
from ._loop import ReplyLoop, merge_late_results, pending_calls
from ._options import Output

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator
    from types import TracebackType

    from .._messages import Message
    from ..executor import DeferredResults
    from ..natural import NaturalToolUse, ReplyRun, ToolUseEvent
    from ..protocols import Messages
    from ._options import AgentSettings, RunOptions

_log = logging.getLogger("toolweave.agent")


@dataclass(frozen=True)
class AgentResult(Generic[Output]):
    """The result of a run."""

    text: str
    """The last text of the model, without surrounding white space."""
    output: Output
    """The output of the run: the text, unless the agent has another type of output."""
    messages: tuple[Message, ...]
    """All messages of the conversation including the history, without the instructions: the
    `history` of the next run."""
    new_messages: tuple[Message, ...] = field(repr=False)
    """The messages that this run added: the input and all replies."""
    usage: UsageMessage
    """The usage of all requests of the run, as far as the provider reports it."""
    stop_reason: StopReason
    """The reason why the run ended."""
    iterations: int
    """Number of requests to the model."""
    deferred: tuple[ToolDeferred, ...] = ()
    """The calls with deferred results, each with the key to resolve."""


AgentEvent: TypeAlias = "ToolUseEvent | AgentResult[Output]"
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
        use: NaturalToolUse,
        settings: AgentSettings,
        input: Messages | None,  # noqa: A002 - it is what goes in
        options: RunOptions[Deps],
    ) -> None:
        self._use = use
        self._settings = settings
        self._options = options
        self._messages = as_messages(options.history)
        self._start = len(self._messages)
        self._messages += [] if input is None else as_messages(input)
        if not self._messages:
            raise ValueError("input or history must have a message, got neither")
        self._changed: list[Message] = []
        self._resumed = input is None
        self._chat_id = options.chat_id
        self._usage = (0, 0, 0)
        self._loop = ReplyLoop(settings.max_iterations, settings.max_repeats)
        self._reply: ReplyRun | None = None
        self._context = contextvars.copy_context()
        self._cancelled = False
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
        so_far = () if self._reply is None else self._reply.messages
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
        inputs, outputs, cached = self._usage
        current = None if self._reply is None else self._reply.usage
        if current is None:
            return self._usage
        return (
            inputs + current.input_tokens,
            outputs + current.output_tokens,
            cached + current.cached_input_tokens,
        )

    async def __anext__(self) -> AgentEvent[Output]:
        return await anext(self._generator)

    async def wait(self) -> AgentResult[Output]:
        """Wait for the result. Cancellation stops the model and the tools.

        Raises:
            MaxIterationsError: The model still calls tools in the last iteration, in strict mode.
            ModelError: A request failed, or a reply broke off.
            ToolUseParsingError: A call is invalid, in strict mode.
        """
        return await self._read_result()

    async def cancel(self) -> None:
        """Stop the model and the tools, and wait until they have stopped.

        Calls without a result get one that says they were interrupted. The reader of the run
        receives these, then a result with the stop reason ``cancelled``.
        """
        self._cancelled = True
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
            merge = self._use.executor.merge_results
            for aggregate, late in await merge_late_results(
                self._messages, merge, self._options.journal, self._changed
            ):
                self.generation_id = aggregate.generation_id
                for _, result in late:
                    yield result
                yield aggregate
            if self._resumed and self._deferred():
                yield self._finish(StopReason.DEFERRED, "")
                return
            if self._cancelled:
                yield self._finish(StopReason.CANCELLED, "")
                return
            empty: ReplyRun | None = None
            with_tools = True
            while True:
                reply = self._open_reply(empty, with_tools=with_tools)
                async with self._consume(reply):
                    async for event in reply:
                        yield event
                stop = await self._stop_reason_of(reply, with_tools=with_tools)
                if stop is StopReason.CANCELLED:
                    break
                empty = reply if self._loop.should_retry(reply) else None
                if stop is None or empty is not None:
                    continue
                answers = with_tools and self._settings.answer_at_limit
                if stop is not StopReason.MAX_ITERATIONS or not answers:
                    break
                # A request without tools, and another one if its reply is empty.
                with_tools = False
                self._loop.extend(2)
            outcome = self._finish(stop, reply.text)
            if stop is StopReason.MAX_ITERATIONS and self._settings.strict:
                limit = self._settings.max_iterations
                raise MaxIterationsError(f"Maximum tool call iterations ({limit}) reached", limit)
            yield outcome

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

    def _open_reply(self, empty: ReplyRun | None = None, *, with_tools: bool = True) -> ReplyRun:
        """Open the next reply; `empty` is the last one if it was empty and is requested again."""
        self._loop.iterations += 1
        instructions = self._settings.instructions
        system = [] if instructions is None else [TextMessage(instructions, role=Role.SYSTEM)]
        messages = self._messages
        if empty is not None:
            _log.info("an empty reply is requested once more", extra={"run_id": self.run_id})
            # Providers reject turns that have only reasoning.
            before = len(messages) - len(empty.messages)
            messages = [*messages[:before], empty.reminder]
        return self._use.open(
            [*system, *messages],
            options=self._settings.options,
            run_id=self.run_id,
            chat_id=self._chat_id,
            with_tools=with_tools,
            context=self._context,
            journal=self._options.journal,
            run_context=self._run_context(),
        )

    def _run_context(self) -> RunContext[Any]:
        """Return the context of the next request."""
        return RunContext(
            self._options.deps,
            run_id=self.run_id,
            chat_id=self._chat_id,
            messages=tuple(self._messages),
            usage=self.usage,
            iterations=self._loop.iterations,
        )

    @asynccontextmanager
    async def _consume(self, reply: ReplyRun) -> AsyncGenerator[None, None]:
        """Add the messages and usage of a reply to the run, however the block ends."""
        self._reply = reply
        self.generation_id = reply.generation_id
        try:
            async with reply:
                yield
        finally:
            self._usage = self._total_usage()
            self._messages += reply.messages
            self._reply = None

    async def _stop_reason_of(self, reply: ReplyRun, *, with_tools: bool) -> StopReason | None:
        """Return the reason why the run ends with this reply, or None if it continues."""
        stop: StopReason | None = StopReason.MAX_ITERATIONS
        if with_tools and reply.aggregate is not None:
            stop = await self._loop.stop_reason(reply.aggregate)
        elif with_tools and reply.finish_reason in CUT_OFF:
            stop = StopReason(reply.finish_reason.value)
        elif with_tools:
            stop = StopReason.COMPLETED if reply.text.strip() else StopReason.EMPTY
        return StopReason.CANCELLED if self._cancelled else stop

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
        self.result = AgentResult(
            text=text.strip(),
            output=cast("Output", text.strip()),
            messages=tuple(self._messages),
            new_messages=tuple(self._messages[self._start :]),
            usage=self.usage,
            stop_reason=stop,
            iterations=self._loop.iterations,
            deferred=self._deferred(),
        )
        return self.result
