"""Asking whether a call may run, and taking nothing but a clear yes for one.

Example:
    >>> async def main() -> None:
    ...     contract = FunctionContract("delete", parameters={"type": "object"})
    ...     call = ToolCall("call_0", "delete", {"path": "notes.txt"})
    ...     record = await decide(lambda call, contract: False, call, contract)
    ...     assert record.outcome == "denied"
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._core import ToolCall
from .._single_flight import ResultCache
from ..protocols import Approval
from . import threads
from .events import ToolApproval
from .pools import run_blocking

if TYPE_CHECKING:
    from .._core import FunctionContract
    from ..protocols import Approver

ApprovalOutcome: TypeAlias = Literal["allowed", "denied", "timeout", "error", "missing_approver"]
"""How an approver was asked, and what came of it."""

# What the model reads where the approver is at fault; the log says more.
_FAILED = "the approver failed"

# How long an approver that is no longer needed may take to leave, in seconds.
_LEAVING = 0.1

_log = logging.getLogger("toolweave.executor")


@dataclass(frozen=True)
class ApprovalRecord:
    """What was decided, and on what."""

    outcome: ApprovalOutcome
    """What was decided, or why nothing was."""
    reason: str | None
    """Why; for the model to read where the call must not run."""
    call: ToolCall
    """The call as it was when the approver was asked: this one is to be run, and no other."""
    decided_by: str | None = None
    """The person or the rule that decided, where the approver names one."""

    @property
    def allowed(self) -> bool:
        """Whether the call may run."""
        return self.outcome == "allowed"

    def event(self) -> ToolApproval:
        """The record as an event."""
        return ToolApproval(self.call.id, self.outcome, self.reason, self.decided_by)


async def decide(
    approver: Approver | None,
    call: ToolCall,
    contract: FunctionContract,
    timeout: float | None = None,
) -> ApprovalRecord:
    """Asks an approver about a call.

    An approver that is no coroutine function is called in a thread: most of them ask a person,
    and the event loop must not wait with them. What it returns may be an awaitable all the same.

    The approver is given a copy of the call. One that changes the arguments may believe that it
    has edited the call, so that counts as an error.

    Args:
        approver: Who decides; without one the call is not allowed.
        call: The call.
        contract: The tool's contract.
        timeout: How long the approver may take, in seconds; None for as long as it likes.
    """
    kept, shown = _copy(call), _copy(call)
    if approver is None:
        record = ApprovalRecord("missing_approver", "there is nobody to approve it", kept)
    else:
        outcome, reason, decided_by = await _ask(approver, shown, contract, timeout)
        if outcome == "allowed" and _arguments(shown) != _arguments(kept):
            _log.warning("an approver changed the arguments of a call", extra=_log_fields(call))
            outcome, reason = "error", _FAILED
        record = ApprovalRecord(outcome, reason, kept, decided_by)
    _log.info(
        "approval of a call: %s",
        record.outcome,
        extra={**_log_fields(call), "outcome": record.outcome},
    )
    return record


async def _ask(
    approver: Approver, shown: ToolCall, contract: FunctionContract, timeout: float | None
) -> tuple[ApprovalOutcome, str | None, str | None]:
    asked = asyncio.ensure_future(_answer(approver, shown, contract))
    try:
        await asyncio.wait((asked,), timeout=timeout)
    finally:
        if late := not asked.done():
            # It is given a moment to leave; whatever it still says does not count.
            asked.cancel()
            await asyncio.wait((asked,), timeout=_LEAVING)
            asked.add_done_callback(_forget)
    if late:
        return "timeout", f"nobody decided within {timeout:g} seconds", None
    if asked.cancelled() or asked.exception() is not None:
        error = None if asked.cancelled() else asked.exception()
        _log.warning("an approver raised", exc_info=error, extra=_log_fields(shown))
        return "error", _FAILED, None
    answer = asked.result()
    allowed, reason, decided_by = answer, None, None
    if isinstance(answer, Approval):
        allowed, reason, decided_by = answer.allowed, answer.reason, answer.decided_by
    if allowed is True:
        return "allowed", reason, decided_by
    if allowed is False:
        return "denied", reason, decided_by
    _log.warning(
        "an approver answered neither with an Approval nor with a bool",
        extra={**_log_fields(shown), "answer": type(answer).__name__},
    )
    return "error", _FAILED, None


async def _answer(approver: Approver, call: ToolCall, contract: FunctionContract) -> object:
    if _is_async(approver):
        answer: object = approver(call, contract)
    else:
        answer = await run_blocking(threads.APPROVERS.get(), lambda: approver(call, contract))
    return await answer if inspect.isawaitable(answer) else answer


def _is_async(approver: Approver) -> bool:
    return inspect.iscoroutinefunction(approver) or inspect.iscoroutinefunction(
        getattr(approver, "__call__", None)  # noqa: B004 - its code is asked, not whether it is there
    )


def _copy(call: ToolCall) -> ToolCall:
    # The constructor copies the arguments deeply.
    return ToolCall(call.id, call.name, call.arguments, call.raw, call.index, call.repairs)


def _arguments(call: ToolCall) -> str | None:
    try:
        return ResultCache.key("", call.arguments)
    except (TypeError, ValueError):
        return None


def _forget(asked: asyncio.Future[object]) -> None:
    if not asked.cancelled():
        asked.exception()


def _log_fields(call: ToolCall) -> dict[str, object]:
    return {"tool": call.name, "tool_call_id": call.id}
