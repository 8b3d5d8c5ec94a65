"""The executor: tools, their limits, and what all replies share."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Literal

from .._checks import check_type
from .._core import InvalidToolCall, ToolAggregateMessage, ToolCall, ToolCallMessage
from ..tools import Toolset
from ..tools.search import search_tool
from .defaults import (
    MAX_CONCURRENCY,
    MAX_CONCURRENCY_PER_CHAT,
    MAX_RESULT_CHARS,
    TIMEOUT,
    Defaults,
)
from .deferred import DeferredResults
from .journal import check_journal
from .plan import Plans
from .run import ToolRun
from .state import ExecutorState

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping
    from concurrent.futures import Executor

    from .._core import FunctionContract
    from ..kinds import Outcome
    from ..protocols import Approver, Journal
    from ..tools import RateLimit, RetryPolicy
    from ..tools.toolset import Handlers, ToolLike
    from .events import ToolEvent
    from .failure import ErrorDetail
    from .observers import AnyObserver


class ToolExecutor:
    """Runs the calls of replies, one result for each, whatever a tool does.

    An executor serves many replies at once on one event loop, and on several loops one after
    another. Each limit can also be set on a tool, and is then the tool's own.

    A tool that raises `KeyboardInterrupt` or `SystemExit` means the program: the other calls of
    its reply are interrupted, every call has its result, and then the exception is raised.

    Args:
        tools: The tools, in any form that a `Toolset` takes; or a `Toolset`, which may change
            between replies.
        handlers: The functions that serve contracts among the tools, by name.
        max_concurrency: How many calls may run at once, over all replies; None for any number.
        max_concurrency_per_chat: How many of these may be of one chat, or of one reply where that
            is of no chat; None for any number.
        timeout: How long a call may take from its start, retries included, in seconds; None for as
            long as it likes. The time that it, or a call that it makes, waits for approval, an
            answer, a limit or a deferred result does not count.
        idle_timeout: How long a call may go without reporting progress, in seconds.
        retries: How often a call that failed for a passing reason is tried again.
        cache: How long results are kept for calls with the same arguments, in seconds; True for
            ever.
        rate_limit: How often each tool may start.
        max_result_chars: How much of a result the model reads, in characters; None for all.
        error_detail: How much of an exception the model reads: its first line (``message``),
            nothing (``none``), or all with the traceback (``full``).
        pool: Where blocking tools run; None for threads that the whole process shares.
        approver: Who decides on calls of tools that need approval.
        approval_timeout: How long that may take, in seconds; None for as long as it likes.
        observer: Who hears of every call: objects with methods of `Observer`, or callables.
        deferred: The results that come later; give the one of before to go on after a restart.
        metadata: What tools find in their context.
        max_call_depth: How deep tools may call tools.
        cancel_grace: How long a tool may take to end once it is cancelled, in seconds. Then it is
            given up: its call has its result, and the executor goes on without it.
        clock: The time in seconds, from any origin, for durations, the cache and rate limits.
        id_factory: Gives the id of a call that has none, from its position in the reply.

    Raises:
        ValueError: An option has a value that it cannot have.
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
            raise ValueError("handlers are given to the Toolset, where there is one")
        self.toolset = tools
        """The tools. What is added or removed counts from the next reply on."""
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
        """What the model is told about the tools, once it has found all of them."""
        return tuple(self.toolset.contracts)

    @property
    def deferred(self) -> DeferredResults:
        """The results that come later, and the questions that are open."""
        return self._state.deferred

    async def execute(
        self,
        calls: Iterable[ToolCall | InvalidToolCall] | ToolCallMessage,
        *,
        chat_id: str | None = None,
        journal: Journal | None = None,
    ) -> ToolAggregateMessage:
        """Runs the calls of a reply.

        Cancelled, it cancels the tools and waits until they have stopped.

        Args:
            calls: The calls, or the message that has them.
            chat_id: The chat that they are of, for `max_concurrency_per_chat`.
            journal: Where starts and results are written down; see `Journal`.

        Returns:
            The calls with their results, in the order of the calls. One that was deferred has
            none yet.

        Raises:
            Exception: What the journal raised. No other call was begun after that.
        """
        async with self._open(keep_events=False, chat_id=chat_id, journal=journal) as run:
            await _submit(run, calls)
            return await run.wait()

    async def stream(
        self,
        calls: Iterable[ToolCall | InvalidToolCall] | ToolCallMessage,
        *,
        chat_id: str | None = None,
        journal: Journal | None = None,
    ) -> AsyncIterator[ToolEvent]:
        """Runs the calls of a reply, and tells of each event as it happens.

        Leaving the iteration early cancels the tools.

        Args:
            calls: The calls, or the message that has them.
            chat_id: The chat that they are of, for `max_concurrency_per_chat`.
            journal: Where starts and results are written down; see `Journal`.

        Yields:
            What happens, in that order; the aggregate is the last.

        Raises:
            Exception: What the journal raised, behind the results of all calls.
        """
        async with self.open(chat_id=chat_id, journal=journal) as run:
            await _submit(run, calls)
            while events := await run.next_events():
                for event in events:
                    yield event

    def open(self, *, chat_id: str | None = None, journal: Journal | None = None) -> ToolRun:
        """Begins a reply whose calls come one by one. To be called on a running event loop.

        Args:
            chat_id: The chat that the calls are of, for `max_concurrency_per_chat`.
            journal: Where starts and results are written down; see `Journal`.

        Raises:
            TypeError: The journal is none.
        """
        return self._open(keep_events=True, chat_id=chat_id, journal=journal)

    def resolve(self, key: str, result: object, *, is_error: bool = False) -> Outcome:
        """Says what a deferred result is, or answers a question. Any thread may.

        Args:
            key: What is awaited.
            result: JSON values.
            is_error: Whether the call failed, or the question will not be answered.

        Raises:
            ValidationError: An answer does not fit the question's schema; it is awaited still.
            ResultError: The result cannot be written as JSON.
        """
        return self._state.deferred.resolve(key, result, is_error=is_error)

    def merge_results(self, aggregate: ToolAggregateMessage) -> ToolAggregateMessage:
        """The aggregate with the results that have come for its pending calls.

        Args:
            aggregate: Calls, some of them without a result.
        """
        return self._state.deferred.merge_results(
            aggregate, max_result_chars=self._state.defaults.max_result_chars
        )

    def _open(self, *, keep_events: bool, chat_id: str | None, journal: Journal | None) -> ToolRun:
        check_journal(journal)
        version = self.toolset.version
        if self._version != version:
            tools = self.toolset.snapshot()
            finder = search_tool(tools.contracts, tools.searchable)
            served = tools if finder is None else (*tools, finder)
            self._plans = Plans(served, self._state.defaults, self._plans.values())
            # What changed meanwhile is for the next reply.
            self._version = version
        return ToolRun(
            self._state, self._plans, keep_events=keep_events, chat_id=chat_id, journal=journal
        )


_AT_ONCE = 128


async def _submit(
    run: ToolRun, calls: Iterable[ToolCall | InvalidToolCall] | ToolCallMessage
) -> None:
    for count, call in enumerate(_calls(calls), 1):
        run.submit(call)
        if count % _AT_ONCE == 0:
            # A long reply must not hold up what else the loop serves.
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
            f"calls are an iterable of calls or a ToolCallMessage, not a {type(calls).__name__}"
        ) from None
