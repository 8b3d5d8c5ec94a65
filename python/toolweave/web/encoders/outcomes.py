"""How a run ended, in what clients tell apart."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from .json_fields import fields_of, text_of

if TYPE_CHECKING:
    from collections.abc import Mapping

CUT_OFF = "The stream ended before the run did."


class RunOutcome(Enum):
    """What a client makes of the end of a run."""

    ANSWERED = "answered"
    """There is an answer, or what there is of one."""
    WAITING = "waiting"
    """The run goes on when somebody has said something."""
    STOPPED = "stopped"
    """Somebody has stopped it."""
    FAILED = "failed"
    """It could not go on."""


_OUTCOMES = {
    "deferred": RunOutcome.WAITING,
    "cancelled": RunOutcome.STOPPED,
    "error": RunOutcome.FAILED,
    "interrupted": RunOutcome.FAILED,
    "rate_limited": RunOutcome.FAILED,
    "unauthorized": RunOutcome.FAILED,
}


def outcome_of(event: Mapping[str, object]) -> RunOutcome:
    """What the end of a run is for a client. Reasons of later versions count as answers."""
    stop_reason = text_of(event, "stopReason") or ""
    if stop_reason not in _OUTCOMES and event.get("error") is not None:
        return RunOutcome.FAILED
    return _OUTCOMES.get(stop_reason, RunOutcome.ANSWERED)


def failure_message(event: Mapping[str, object], last_error: str | None) -> str:
    """Why a run failed, as a sentence.

    Args:
        event: The end of the run.
        last_error: What was said last of things that went wrong in it.
    """
    details = fields_of(event, "error") or {}
    message = text_of(event, "error") or text_of(details, "message") or last_error
    if message:
        return message
    if text_of(event, "stopReason") == "interrupted":
        return "The run was interrupted."
    return "The run failed."


def is_error(event: Mapping[str, object]) -> bool:
    """Whether a result tells of a failure."""
    return event.get("isError") is True or event.get("errorCode") is not None


def is_progress(event: Mapping[str, object]) -> bool:
    """Whether a result is not the result yet."""
    return event.get("kind") == "tool_result" and event.get("done") is False
