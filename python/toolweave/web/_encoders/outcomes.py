"""Outcomes of runs, as clients distinguish them."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from .json_fields import fields_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

CUT_OFF = "The stream ended before the run did."


class RunOutcome(Enum):
    """Outcome of a run, as clients show it."""

    ANSWERED = "answered"
    """The run has an answer, possibly an incomplete one."""
    WAITING = "waiting"
    """The run waits for deferred results or for the user."""
    STOPPED = "stopped"
    """The run was cancelled."""
    FAILED = "failed"
    """The run failed."""


_OUTCOMES = {
    "deferred": RunOutcome.WAITING,
    "cancelled": RunOutcome.STOPPED,
    "error": RunOutcome.FAILED,
    "interrupted": RunOutcome.FAILED,
    "rate_limited": RunOutcome.FAILED,
    "unauthorized": RunOutcome.FAILED,
}


def outcome_of(event: Mapping[str, object]) -> RunOutcome:
    """Return the outcome of a finished run. Unknown stop reasons count as answered."""
    stop_reason = text_of(event, "stopReason") or ""
    if stop_reason not in _OUTCOMES and event.get("error") is not None:
        return RunOutcome.FAILED
    return _OUTCOMES.get(stop_reason, RunOutcome.ANSWERED)


def failure_message(event: Mapping[str, object], last_error: str | None) -> str:
    """Return the reason why a run failed, as a sentence.

    Args:
        event: The terminal event of the run.
        last_error: Message of the run's last error event.
    """
    details = fields_of(event, "error") or {}
    message = text_of(event, "error") or text_of(details, "message") or last_error
    if message:
        return message
    if text_of(event, "stopReason") == "interrupted":
        return "The run was interrupted."
    return "The run failed."


def is_error(event: Mapping[str, object]) -> bool:
    """Return True if a result is an error."""
    return event.get("isError") is True or event.get("errorCode") is not None


def is_progress(event: Mapping[str, object]) -> bool:
    """Return True if a result is only progress."""
    return event.get("kind") == "tool_result" and event.get("done") is False
