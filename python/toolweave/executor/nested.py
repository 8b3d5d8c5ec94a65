"""Tools that call tools."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .._core import ToolCall
from ..exceptions import ToolFailed, ValidationError
from . import failure
from .call import Execution
from .deferred import Deferred
from .results import to_text
from .stop import Stop

if TYPE_CHECKING:
    from collections.abc import Mapping


async def call_for(parent: Execution, name: str, arguments: Mapping[str, Any]) -> Any:
    """Runs a tool for the tool of another call; see `ToolContext.call`.

    The call has a task of its own and the same limits as any other. The one that waits for it
    steps aside: so it holds no place that the call could need.
    """
    run = parent.run
    child = _child(parent, name, arguments)
    answer = child.answer = run.loop.create_future()
    parent.children = (*(each for each in parent.children if not each.settled), child)
    run.turns.step_aside(parent)
    child.hold_time()
    run.start(child)
    try:
        await asyncio.wait((answer,))
    except asyncio.CancelledError:
        child.stop(Stop.INTERRUPTED)
        # No longer than a tool may take to end.
        await asyncio.wait((answer,))
        raise
    finally:
        child.let_time_pass()
    outcome = answer.result()
    if isinstance(outcome, Deferred):
        # Somebody waits for this one here and now.
        try:
            async with parent.away():
                late = await run.deferred.wait(child.key)
        finally:
            run.deferred.discard(child.key)
        failed = ToolFailed(to_text(late.value)) if late.is_error else None
        value = late.value
    else:
        failed = failure.NestedFailure(outcome) if outcome.is_error else None
        value = outcome.value
    async with parent.untimed():
        await run.turns.come_back(parent)
    if failed is not None:
        raise failed
    return value


def _child(parent: Execution, name: str, arguments: Mapping[str, Any]) -> Execution:
    run = parent.run
    if parent.depth >= run.defaults.max_call_depth:
        raise ToolFailed(
            f"Tool '{name}' was not called: tools call tools at most "
            f"{run.defaults.max_call_depth} deep."
        )
    plan = run.plans.get(name)
    if plan is None:
        raise ToolFailed(failure.unknown_tool(name, run.plans).text)
    if parent.settled or parent.stopped is not None:
        raise ToolFailed(failure.interrupted(name, started=False).text)
    parent.nested += 1
    call = ToolCall(f"{parent.call.id}/{parent.nested}", name, arguments)
    try:
        fitting = plan.fit(call.arguments)
    except ValidationError as error:
        found = failure.invalid_arguments(name, error.violations)
        raise ToolFailed(found.text) from error
    child = Execution(run, plan, call, fitting, -1)
    child.parent = parent
    child.depth = parent.depth + 1
    return child
