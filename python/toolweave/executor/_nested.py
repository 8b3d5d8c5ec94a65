"""Nested calls: tools that call tools."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .._core import ToolCall
from ..exceptions import ToolFailed, ValidationError
from . import _failure as failure
from ._call import Execution
from ._deferred import Deferred
from ._results import to_text
from ._stop import Stop

if TYPE_CHECKING:
    from collections.abc import Mapping


async def call_nested(parent: Execution, name: str, arguments: Mapping[str, Any]) -> Any:
    """Run a tool on behalf of the tool of another call; see `ToolContext.call`.

    The nested call has its own task and the same limits as any other call. The parent releases its
    slot while it waits, so that the nested call can use it.
    """
    run = parent.run
    child = _nested_execution(parent, name, arguments)
    outcome_future = child.outcome_future = run.loop.create_future()
    parent.children = (*(each for each in parent.children if not each.finished), child)
    run.scheduler.suspend(parent)
    child.pause_callers()
    run.schedule(child)
    try:
        await asyncio.wait((outcome_future,))
    except asyncio.CancelledError:
        child.stop(Stop.INTERRUPTED)
        # Bounded by the grace period of a tool.
        await asyncio.wait((outcome_future,))
        raise
    finally:
        child.resume_callers()
    outcome = outcome_future.result()
    if isinstance(outcome, Deferred):
        # The parent waits for the deferred result here.
        try:
            async with parent.suspended():
                late = await run.deferred.wait(child.deferred_key)
        finally:
            run.deferred.discard(child.deferred_key)
        failed = ToolFailed(to_text(late.value)) if late.is_error else None
        value = late.value
    else:
        failed = failure.NestedFailure(outcome) if outcome.is_error else None
        value = outcome.value
    async with parent.timeouts_paused():
        await run.scheduler.resume(parent)
    if failed is not None:
        raise failed
    return value


def _nested_execution(parent: Execution, name: str, arguments: Mapping[str, Any]) -> Execution:
    run = parent.run
    if parent.depth >= run.defaults.max_call_depth:
        raise ToolFailed(
            f"Tool '{name}' was not called: tools call tools at most "
            f"{run.defaults.max_call_depth} deep."
        )
    plan = run.plans.get(name)
    if plan is None:
        raise ToolFailed(failure.unknown_tool(name, run.plans).text)
    if parent.finished or parent.stopped is not None:
        raise ToolFailed(failure.interrupted(name, started=False).text)
    parent.nested += 1
    call = ToolCall(f"{parent.call.id}/{parent.nested}", name, arguments)
    try:
        bound = plan.prepare_arguments(call.arguments)
    except ValidationError as error:
        found = failure.invalid_arguments(name, error.violations)
        raise ToolFailed(found.text) from error
    child = Execution(run, plan, call, bound, -1)
    child.parent = parent
    child.depth = parent.depth + 1
    return child
