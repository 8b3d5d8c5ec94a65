"""Execution of calls, with what their tools can request: questions to the user, nested calls."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .._core import ToolCall
from ..exceptions import ToolFailed, ValidationError
from ..tools._context import ToolContext
from ..tracing import execute_tool
from . import _failure as failure
from ._call import RunningCall
from ._deferred import Deferred
from ._events import ToolQuestion
from ._results import to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from typing_extensions import Self


class Execution(RunningCall):
    """Execution of a call, which implements the `ToolContext` of its tool."""

    # How many calls of tools led to this one, and how many its own tool has made.
    depth = 0
    nested = 0

    def context(self) -> ToolContext[Any]:
        """Return the context for the tool."""
        return ToolContext(
            self,
            self.call,
            self.run.context,
            attempt=self.attempt,
            metadata=self.run.defaults.metadata,
        )

    def progress(self, value: Any) -> None:
        """Report progress. Thread-safe."""
        self.run.report(self.report, value)

    async def ask(self, question: str, schema: Mapping[str, Any] | None) -> Any:
        """Ask the user. The tool's timeouts are paused until the answer."""
        run, call = self.run, self.call
        key = run.deferred.add(call, question=question, schema=schema)
        try:
            run.publish(ToolQuestion(call.id, key, question, schema), call)
            async with self.suspended():
                answer = await run.deferred.wait(key)
        finally:
            run.deferred.discard(key)
        if answer.is_error:
            raise ToolFailed(to_text(answer.value))
        return answer.value

    async def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Run another tool on behalf of the tool.

        The nested call has its own task and the same limits as any other call. This call releases
        its slot while it waits, so that the nested call can use it.
        """
        run = self.run
        child = self._nested_call(name, arguments)
        future = child.outcome_future = run.loop.create_future()
        run.scheduler.suspend(self)
        child.pause_callers()
        run.start(child)
        try:
            await asyncio.wait((future,))
        except asyncio.CancelledError:
            child.interrupt()
            # Bounded by the grace period of a tool.
            await asyncio.wait((future,))
            raise
        finally:
            child.resume_callers()
        outcome = future.result()
        if isinstance(outcome, Deferred):
            # This call waits for the deferred result here.
            key = child.deferred_key or ""
            try:
                async with self.suspended():
                    late = await run.deferred.wait(key)
            finally:
                run.deferred.discard(key)
            failed = ToolFailed(to_text(late.value)) if late.is_error else None
            value = late.value
        else:
            failed = failure.NestedFailure(outcome) if outcome.is_error else None
            value = outcome.value
        async with self.timeouts_paused():
            await run.scheduler.resume(self)
        if failed is not None:
            raise failed
        return value

    def _nested_call(self, name: str, arguments: Mapping[str, Any]) -> Self:
        run = self.run
        if self.depth >= run.defaults.max_call_depth:
            raise ToolFailed(
                f"Tool '{name}' was not called: tools call tools at most "
                f"{run.defaults.max_call_depth} deep."
            )
        plan = run.plans.get(name)
        if plan is None:
            raise ToolFailed(failure.unknown_tool(name, run.plans).text)
        if self.cancelled:
            raise ToolFailed(failure.interrupted(name, started=False).text)
        self.nested += 1
        call = ToolCall(f"{self.call.id}/{self.nested}", name, arguments)
        try:
            bound = plan.prepare_arguments(call.arguments)
        except ValidationError as error:
            found = failure.invalid_arguments(name, error.violations)
            raise ToolFailed(found.text) from error
        child = type(self)(run, plan, call, bound)
        child.parent = self
        self.children = (*(each for each in self.children if not each.finished), child)
        child.depth = self.depth + 1
        return child


class TracedExecution(Execution):
    """Execution in a trace span."""

    async def serve(self) -> None:
        """Run the call in a span."""
        with execute_tool(self.call, description=self.plan.contract.description) as self.span:
            await super().serve()
