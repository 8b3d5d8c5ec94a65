"""Conditions of a call before its tool starts: approval, a cached result, the rate limit."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from .._aio.single_flight import Follower, Hit
from .._core import ToolResult
from . import _failure as failure
from ._approval import decide
from ._events import ToolApprovalRequested
from ._journal import truncate_for_journal
from ._plan import has_long_arguments

if TYPE_CHECKING:
    from .._aio.single_flight import Leader
    from ._failure import CallFailure
    from ._scheduler import ScheduledCall
    from ._state import ToolRunState

_log = logging.getLogger("toolweave.executor")


class DepsKey:
    """Dependencies as part of a cache key: equal to equal ones, or only to itself if unhashable."""

    __slots__ = ("_deps", "_hash")

    def __init__(self, deps: object) -> None:
        self._deps = deps
        self._hash: int | None = None
        with suppress(Exception):  # the class of the dependencies may raise anything
            self._hash = hash(deps)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DepsKey):
            return NotImplemented
        if self._deps is other._deps:
            return True
        return None not in (self._hash, other._hash) and bool(self._deps == other._deps)

    def __hash__(self) -> int:
        return id(self._deps) if self._hash is None else self._hash


class Refused(Exception):  # noqa: N818 - an outcome
    """The call was refused and does not run."""

    def __init__(self, failure: CallFailure) -> None:
        super().__init__(failure.text)
        self.failure = failure


async def approve(call: ScheduledCall, run: ToolRunState) -> None:
    """Wait for the approval of a call, if it needs one.

    Raises:
        Refused: The call was not approved.
    """
    if not _needs_approval(call):
        return
    defaults, shown = run.defaults, call.call
    if defaults.approver is not None:
        run.publish(ToolApprovalRequested(shown.id, shown.name, shown.arguments), shown)
    record = await decide(defaults.approver, shown, call.plan.contract, defaults.approval_timeout)
    run.record_approval(record.event(), shown)
    if not record.allowed:
        raise Refused(failure.denied(shown.name, record.reason))


def _needs_approval(call: ScheduledCall) -> bool:
    needed = call.plan.needs_approval
    if not callable(needed):
        return needed
    try:
        return bool(needed(call.call))
    except Exception as error:  # noqa: BLE001 - in doubt, approval is required
        _log.warning(
            "approval is required, since requires_approval raised an exception",
            exc_info=error,
            extra=call.log_fields(),
        )
        return True


async def look_up(call: ScheduledCall, run: ToolRunState) -> ToolResult | Leader[ToolResult] | None:
    """Look for an identical call that has finished or is running.

    Returns:
        Its result, or the task to run the call for all identical ones. None if this call runs for
        itself only.
    """
    identity, arguments = call.plan.identity, call.call.arguments
    if has_long_arguments(call.call):
        key = await asyncio.to_thread(run.cache.key, identity, arguments)
    else:
        key = run.cache.key(identity, arguments)
    takes_context = call.plan.context_parameter is not None
    # A tool with a context may return something else for other dependencies.
    found = run.cache.begin((key, DepsKey(run.context.deps)) if takes_context else key)
    if isinstance(found, Follower):
        if call.parent is not None:
            # The running call may be the one whose tool waits for this call.
            found.leave()
            return None
        # The running call may need a limit that this one holds.
        was_queued = call.permit is not None
        run.scheduler.release(call)
        found = await found.outcome()
        if was_queued and not isinstance(found, Hit):
            run.scheduler.enqueue(call)
    if not isinstance(found, Hit):
        return found
    known = found.value
    own = ToolResult(call.call.id, call.call.name, known.result, value=known.value)
    return own if call.parent is not None else truncate_for_journal(run.journal, call.call, own)


async def take_token(call: ScheduledCall, run: ToolRunState) -> None:
    """Wait for the rate limit of the tool, if it has one.

    Raises:
        Refused: The call exceeds the limit.
    """
    bucket = call.plan.bucket
    wait = 0.0 if bucket is None else bucket.take()
    if bucket is None or wait == 0:
        return
    if call.plan.refuses:
        raise Refused(failure.rate_limited(call.call.name, wait))
    _log.info("a call waits for its rate limit", extra=call.log_fields(wait=wait))
    run.scheduler.suspend(call)
    try:
        await asyncio.sleep(wait)
    except BaseException:
        bucket.refund()
        raise
    await run.scheduler.resume(call)
