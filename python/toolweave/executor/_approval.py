"""Approval of calls before they run. Only an explicit yes allows a call.

Example:
    >>> async def main() -> None:
    ...     contract = FunctionContract("delete", parameters={"type": "object"})
    ...     call = ToolCall("call_0", "delete", {"path": "notes.txt"})
    ...     record = await decide(lambda call, contract: False, call, contract)
    ...     assert record.outcome == "denied"
"""

from __future__ import annotations

import asyncio
import functools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from .._aio.single_flight import ResultCache
from .._aio.tasks import cancel_within
from .._core import ToolCall
from ..protocols import Approval
from . import _threads as threads
from ._events import ToolApproval
from ._invocation import call as invoke

if TYPE_CHECKING:
    from .._core import FunctionContract
    from ..protocols import Approver

ApprovalOutcome: TypeAlias = Literal["allowed", "denied", "timeout", "error", "missing_approver"]
"""Outcome of asking an approver."""

# Shown to the model if the approver failed; the log has the details.
_FAILED = "the approver failed"

# How long to wait for a cancelled approver to end, in seconds.
_CANCEL_GRACE = 0.1

_log = logging.getLogger("toolweave.executor")


@dataclass(frozen=True)
class ApprovalRecord:
    """Decision on one call."""

    outcome: ApprovalOutcome
    """The decision, or the reason why there is none."""
    reason: str | None
    """Reason for the decision. The model reads it if the call is not allowed."""
    call: ToolCall
    """Copy of the call from before the approver was asked. Only this copy may be run."""
    decided_by: str | None = None
    """Person or rule that decided, if the approver names one."""

    @property
    def allowed(self) -> bool:
        """True if the call may run."""
        return self.outcome == "allowed"

    def event(self) -> ToolApproval:
        """Return the record as an event."""
        return ToolApproval(self.call.id, self.outcome, self.reason, self.decided_by)


async def decide(
    approver: Approver | None,
    call: ToolCall,
    contract: FunctionContract,
    timeout: float | None = None,
) -> ApprovalRecord:
    """Ask an approver whether a call may run.

    An approver that is not a coroutine function is called in a thread, since it usually asks a
    person and must not block the event loop. It may still return an awaitable.

    The approver gets a copy of the call. If it changes the arguments of that copy, it probably
    meant to edit the call, which is not supported, so this counts as an error.

    Args:
        approver: The approver. Without one, the call is not allowed.
        call: The call.
        contract: The tool's contract.
        timeout: Time limit for the approver, in seconds; None for no limit.
    """
    original, shown = _copy(call), _copy(call)
    if approver is None:
        record = ApprovalRecord("missing_approver", "there is nobody to approve it", original)
    else:
        outcome, reason, decided_by = await _ask(approver, shown, contract, timeout)
        if outcome == "allowed" and _arguments(shown) != _arguments(original):
            _log.warning("an approver changed the arguments of a call", extra=_log_fields(call))
            outcome, reason = "error", _FAILED
        record = ApprovalRecord(outcome, reason, original, decided_by)
    _log.info(
        "approval of a call: %s",
        record.outcome,
        extra={**_log_fields(call), "outcome": record.outcome},
    )
    return record


async def _ask(
    approver: Approver, shown: ToolCall, contract: FunctionContract, timeout: float | None
) -> tuple[ApprovalOutcome, str | None, str | None]:
    answering = invoke(functools.partial(approver, shown, contract), threads.APPROVERS.get())
    asked = asyncio.ensure_future(answering)
    try:
        await asyncio.wait((asked,), timeout=timeout)
    finally:
        if late := not asked.done():
            # It gets a moment to end. Its answer no longer counts.
            await cancel_within(asked, _CANCEL_GRACE)
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
        "an approver returned neither an Approval nor a bool",
        extra={**_log_fields(shown), "answer": type(answer).__name__},
    )
    return "error", _FAILED, None


def _copy(call: ToolCall) -> ToolCall:
    # The constructor makes a deep copy of the arguments.
    return ToolCall(call.id, call.name, call.arguments, call.raw, call.index, call.repairs)


def _arguments(call: ToolCall) -> str | None:
    try:
        return ResultCache.key("", call.arguments)
    except (TypeError, ValueError):
        return None


def _log_fields(call: ToolCall) -> dict[str, object]:
    return {"tool": call.name, "tool_call_id": call.id}
