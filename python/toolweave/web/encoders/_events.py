"""Reading events, and writing payloads.

Events may come from a later version, so a field of an unexpected type counts as absent.
"""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, cast

from .._sse import to_json

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


def text_of(fields: Mapping[str, object], name: str) -> str | None:
    """Return a string field; None if it is absent or of another type."""
    value = fields.get(name)
    return value if isinstance(value, str) else None


def number_of(fields: Mapping[str, object], name: str) -> int:
    """Return an integer field; 0 if it is absent or of another type."""
    value = fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def fields_of(fields: Mapping[str, object], name: str) -> dict[str, object] | None:
    """Return an object field; None if it is absent or of another type."""
    value = fields.get(name)
    return cast("dict[str, object]", value) if isinstance(value, dict) else None


def items_of(fields: Mapping[str, object], name: str) -> list[dict[str, object]]:
    """Return the objects in an array field; empty if it is absent or of another type."""
    value = fields.get(name)
    if not isinstance(value, list):
        return []
    found = cast("list[object]", value)
    return [cast("dict[str, object]", item) for item in found if isinstance(item, dict)]


def pick(fields: Mapping[str, object], *names: str) -> dict[str, object]:
    """Return the named fields, without those that are absent or None."""
    return {name: fields[name] for name in names if fields.get(name) is not None}


def payload(type_: str, **fields: object) -> str:
    """Return a payload of a type, without fields that are None: clients reject null."""
    present = {name: value for name, value in fields.items() if value is not None}
    return to_json({"type": type_, **present})


def is_json_of(text: str, value: object) -> bool:
    """Return True if a text is the JSON of a value."""
    try:
        # Compared as text, since Python considers 1, 1.0 and True equal.
        return to_json(json.loads(text)) == to_json(value)
    except (ValueError, RecursionError):
        return False


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
