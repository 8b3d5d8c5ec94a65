"""`ToolExecutor`: tools, their limits, and the state that all replies share."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Literal

from .._checks import check_type
from .._core import InvalidToolCall, ToolAggregateMessage, ToolCall, ToolCallMessage
from ..tools import RunContext, Toolset
from ..tools._search import search_tool
from ._defaults import (
    MAX_CONCURRENCY,
    MAX_CONCURRENCY_PER_CHAT,
    MAX_RESULT_CHARS,
    TIMEOUT,
    Defaults,
)
from ._deferred import DeferredResults
from ._journal import check_journal
from ._plan import Plans
from ._run import ToolRun
from ._state import ExecutorState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from concurrent.futures import Executor

    from .._core import FunctionContract
    from ..kinds import Outcome
    from ..protocols import Approver, Journal
    from ..tools import RateLimit, RetryPolicy
    from ..tools._toolset import Handlers, ToolLike
    from ._events import ToolEvent
    from ._failure import ErrorDetail
    from ._observers import AnyObserver


class ToolExecutor:
    """Executor of the calls of replies, with exactly one result for each call.

    An executor can serve many replies concurrently on one event loop, and several event loops one
    after another. Most options are defaults that a tool can override.

    If a tool raises `KeyboardInterrupt` or `SystemExit`, the other calls of its reply are
    interrupted. The exception is raised once every call has a result.

    Args:
        tools: The tools, in any form that a `Toolset` takes; or a `Toolset`, which may change
            between replies.
        handlers: Functions for contracts among the tools, by tool name.
        max_concurrency: Maximum number of calls that run at once, over all replies; None for no
            limit.
        max_concurrency_per_chat: Maximum number of calls of one chat that run at once; None for
            no limit. A reply without a chat counts as a chat of its own.
        timeout: Time limit of a call from its start, retries included, in seconds; None for no
            limit. Time in which the call, or a call that it makes, waits for approval, an answer,
            a limit or a deferred result does not count.
        idle_timeout: Maximum time between progress reports of a call, in seconds.
        retries: Number of retries after transient errors.
        cache: Time for which results are reused for calls with the same arguments, in seconds;
            True for no expiry.
        rate_limit: Rate limit of each tool.
        max_result_chars: Maximum length of a result's text, in characters; None for no limit.
        error_detail: Part of an exception that the model reads: its first line (``message``),
            nothing (``none``), or all of it with the traceback (``full``).
        pool: Pool for blocking tools; None for threads that the whole process shares.
        approver: Approver of calls of tools that require approval.
        approval_timeout: Time limit of the approver, in seconds; None for no limit.
        observer: Observers of every call: objects with methods of `Observer`, or callables.
        deferred: Deferred results; pass restored ones to continue after a restart.
        metadata: Metadata for the context of tools.
        max_call_depth: Maximum depth of tools that call tools.
        cancel_grace: Time that a cancelled tool gets to end, in seconds. After that, its call gets
            a result and the executor no longer waits for the tool.
        clock: Function that returns the time in seconds, from any origin, for durations, the cache
            and rate limits.
        id_factory: Function that returns an id for a call without one, given its position in the
            reply.

    Raises:
        ValueError: An option has an invalid value.
    """

    def __init__(
        self,
        tools: Iterable[ToolLike] | Toolset = (),
        *,
        handlers: Handlers | None = None,
        max_concurrency: int | None = MAX_CONCURRENCY,
        max_concurrency_per_chat: int | None = MAX_CONCURRENCY_PER_CHAT,
        timeout: float | None = TIMEOUT,
        idle_timeout: float | None = None,
        retries: int | RetryPolicy = 0,
        cache: bool | float | None = None,
        rate_limit: RateLimit | None = None,
        max_result_chars: int | None = MAX_RESULT_CHARS,
        error_detail: ErrorDetail = "message",
        pool: Executor | Literal["inline"] | None = None,
        approver: Approver | None = None,
        approval_timeout: float | None = 300.0,
        observer: AnyObserver | None = None,
        deferred: DeferredResults | None = None,
        metadata: Mapping[str, Any] | None = None,
        max_call_depth: int = 8,
        cancel_grace: float = 5.0,
        clock: Callable[[], float] | None = None,
        id_factory: Callable[[int], str] | None = None,
    ) -> None:
        check_type("deferred", deferred, DeferredResults, "a DeferredResults", none=True)
        if not isinstance(tools, Toolset):
            tools = Toolset(tools, handlers=handlers)
        elif handlers:
            raise ValueError("handlers must be passed to the Toolset, got them with a Toolset")
        self.toolset = tools
        """The tools. Changes apply from the next reply on."""
        defaults = Defaults(
            max_concurrency=max_concurrency,
            max_concurrency_per_chat=max_concurrency_per_chat,
            timeout=timeout,
            idle_timeout=idle_timeout,
            retries=retries,
            cache=cache,
            rate_limit=rate_limit,
            max_result_chars=max_result_chars,
            error_detail=error_detail,
            pool=pool,
            approver=approver,
            approval_timeout=approval_timeout,
            metadata={} if metadata is None else metadata,
            max_call_depth=max_call_depth,
            cancel_grace=cancel_grace,
            clock=time.monotonic if clock is None else clock,
            id_factory=id_factory,
        )
        self._state = ExecutorState(
            defaults, observer, DeferredResults() if deferred is None else deferred
        )
        self._plans = Plans((), defaults)
        self._version: int | None = None

    @property
    def contracts(self) -> tuple[FunctionContract, ...]:
        """Contracts of all tools, including those that the model has to search for."""
        return tuple(self.toolset.contracts)

    @property
    def max_call_depth(self) -> int:
        """Maximum depth of tools that call tools."""
        return self._state.defaults.max_call_depth

    @property
    def deferred(self) -> DeferredResults:
        """Deferred results and open questions."""
        return self._state.deferred

    async def execute(
        self,
        calls: Iterable[ToolCall | InvalidToolCall] | ToolCallMessage,
        *,
        chat_id: str | None = None,
        deps: Any = None,
        journal: Journal | None = None,
    ) -> ToolAggregateMessage:
        """Run the calls of a reply and wait for their results.

        On cancellation, the tools are cancelled, and this waits until they have stopped.

        Args:
            calls: The calls, or the message that contains them.
            chat_id: The chat that the calls belong to, for `max_concurrency_per_chat`.
            deps: Dependencies for the contexts of tools.
            journal: Journal of starts and results; see `Journal`.

        Returns:
            The calls with their results, in the order of the calls. A deferred call has no result
            yet.

        Raises:
            Exception: The journal raised. No call starts after that.
        """
        async with self._open(
            RunContext(deps, chat_id=chat_id), keep_events=False, journal=journal
        ) as run:
            await _submit(run, calls)
            return await run.wait()

    async def stream(
        self,
        calls: Iterable[ToolCall | InvalidToolCall] | ToolCallMessage,
        *,
        chat_id: str | None = None,
        deps: Any = None,
        journal: Journal | None = None,
    ) -> AsyncIterator[ToolEvent]:
        """Run the calls of a reply and yield their events.

        Leaving the iteration early cancels the tools.

        Args:
            calls: The calls, or the message that contains them.
            chat_id: The chat that the calls belong to, for `max_concurrency_per_chat`.
            deps: Dependencies for the contexts of tools.
            journal: Journal of starts and results; see `Journal`.

        Yields:
            Events in the order in which they happen; the aggregate is the last.

        Raises:
            Exception: The journal raised. It is raised after the results of all calls.
        """
        async with self.open(chat_id=chat_id, deps=deps, journal=journal) as run:
            await _submit(run, calls)
            async for event in run:
                yield event

    def open(
        self,
        *,
        chat_id: str | None = None,
        deps: Any = None,
        context: RunContext[Any] | None = None,
        tools: Toolset | None = None,
        journal: Journal | None = None,
    ) -> ToolRun:
        """Open a run whose calls are submitted one by one. An event loop must be running.

        Args:
            chat_id: The chat that the calls belong to, for `max_concurrency_per_chat`.
            deps: Dependencies for the contexts of tools.
            context: Context of the run that the calls belong to, instead of `chat_id` and `deps`.
            tools: The tools that the model was offered, if not all. Calls of others are refused.
            journal: Journal of starts and results; see `Journal`.

        Raises:
            TypeError: The journal lacks a required method.
        """
        if context is None:
            context = RunContext(deps, chat_id=chat_id)
        return self._open(context, keep_events=True, journal=journal, tools=tools)

    def resolve(self, key: str, result: object, *, is_error: bool = False) -> Outcome:
        """Deliver a deferred result, or answer a question. Thread-safe.

        Args:
            key: Key of the pending result or question.
            result: JSON values.
            is_error: True if the call failed, or the question will not be answered.

        Raises:
            ValidationError: The answer does not match the question's schema. The question stays
                pending.
            ResultError: The result cannot be converted to JSON.
        """
        return self._state.deferred.resolve(key, result, is_error=is_error)

    def merge_results(self, aggregate: ToolAggregateMessage) -> ToolAggregateMessage:
        """Return the aggregate with delivered results filled in for its pending calls.

        Args:
            aggregate: Calls, some of them without a result.
        """
        return self._state.deferred.merge_results(
            aggregate, max_result_chars=self._state.defaults.max_result_chars
        )

    def _open(
        self,
        context: RunContext[Any],
        *,
        keep_events: bool,
        journal: Journal | None,
        tools: Toolset | None = None,
    ) -> ToolRun:
        check_journal(journal)
        version = self.toolset.version
        if self._version != version:
            self._plans = self._plans_of(self.toolset.snapshot())
            # Changes made meanwhile apply to the next reply.
            self._version = version
        plans = self._plans
        if tools is not None and tools is not self.toolset:
            plans = self._plans_of(tools)
        return ToolRun(
            self._state, plans, keep_events=keep_events, context=context, journal=journal
        )

    def _plans_of(self, tools: Toolset) -> Plans:
        finder = search_tool(tools.contracts, tools.searchable)
        served = tools if finder is None else (*tools, finder)
        return Plans(served, self._state.defaults, self._plans.values())


# Calls submitted before the event loop gets a turn.
_SUBMIT_BATCH = 128


async def _submit(
    run: ToolRun, calls: Iterable[ToolCall | InvalidToolCall] | ToolCallMessage
) -> None:
    for count, call in enumerate(_calls(calls), 1):
        run.submit(call)
        if count % _SUBMIT_BATCH == 0:
            # A long reply must not block the event loop.
            await asyncio.sleep(0)
    run.close()


def _calls(
    calls: Iterable[ToolCall | InvalidToolCall] | ToolCallMessage,
) -> Iterable[ToolCall | InvalidToolCall]:
    if isinstance(calls, ToolCallMessage):
        return calls.tool_calls
    try:
        return iter(calls)
    except TypeError:
        raise TypeError(
            f"calls must be an iterable of calls or a ToolCallMessage, got {type(calls).__name__}"
        ) from None
