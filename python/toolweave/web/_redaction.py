"""Redaction of exception texts for clients: a reference to the log replaces the text.

The store keeps the full text, which the model reads in its next request. Everything that is sent to
clients passes through `redact`: events, messages and lines of exports, whenever they were stored.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from .._checks import check_choice
from ..executor._failure import FAILED, REFERENCES
from ..lifecycle._scene_steps import REFERENCE
from ._user_chats import with_public_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ErrorText: TypeAlias = Literal["reference", "message"]
"""The text that clients get for an exception: a reference to the log, or the model's text."""

Fields: TypeAlias = "Mapping[str, Any]"

_RUN_FAILURE_PREFIX = "Execution failed"

# The type of an exception, before its message.
_EXCEPTION_TEXT = re.compile(r"\A(\w+): .*", re.DOTALL)


def client_view(error_text: ErrorText) -> Callable[[Fields], Fields]:
    """Return the function that converts stored events and messages for clients.

    Args:
        error_text: The text that clients get for exceptions.
    """
    check_choice("error_text", error_text, ("reference", "message"))
    return redact if error_text == "reference" else with_public_id


def redact(fields: Fields) -> Fields:
    """Return an event or a message without the texts of exceptions, and with its public chat id.

    Example:
        >>> event = {"kind": "tool_result", "toolCallId": "c", "isError": True, "done": True}
        >>> event["result"] = "Error executing tool: no disk"
        >>> event["metadata"] = {"references": {"c": "3f9c"}}
        >>> redact(event)["result"]
        'Error executing tool (reference 3f9c)'
    """
    fields = with_public_id(fields)
    kind = fields["kind"]
    metadata = _as_object(fields.get("metadata"))
    if "toolResults" in fields:
        references = _as_object(metadata.get(REFERENCES))
        redacted = [_redact_result(each, references) for each in fields["toolResults"]]
        return {**fields, "toolResults": redacted}
    if kind == "tool_result":
        return _redact_result(fields, _as_object(metadata.get(REFERENCES)))
    if kind == "scene":
        return _redact_scene(fields)
    if kind == "selection":
        return _redact_selection(fields)
    if kind in ("error", "run") and REFERENCE in metadata:
        name = "message" if kind == "error" else "error"
        return {**fields, name: run_failure_text(metadata[REFERENCE])} if name in fields else fields
    return fields


def redact_line(line: str) -> str:
    """Return a line of an export without the texts of exceptions."""
    if FAILED not in line and f'"{REFERENCE}"' not in line:
        return line
    row: dict[str, Any] = json.loads(line)
    for name, value in row.items():
        if isinstance(value, dict) and "kind" in value:
            row[name] = redact(cast("dict[str, Any]", value))
        elif name.endswith("_json") and isinstance(value, str):
            # Damaged JSON may hold any text.
            row[name] = ""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def tool_failure_text(reference: str | None) -> str:
    """Return the text for a tool that failed unexpectedly."""
    return f"{FAILED}." if reference is None else f"{FAILED} (reference {reference})"


def run_failure_text(reference: str) -> str:
    """Return the text for an exception that ended a run of scenes."""
    return f"{_RUN_FAILURE_PREFIX} (reference {reference})"


def _redact_result(fields: Fields, references: Fields) -> Fields:
    text = fields.get("result")
    if not (fields.get("isError") or "errorCode" in fields) or not isinstance(text, str):
        return fields
    reference = references.get(fields.get("toolCallId", ""))
    # Without a reference, the text is recognized by its prefix.
    if reference is None and not text.startswith(FAILED):
        return fields
    return {**fields, "result": tool_failure_text(reference)}


def _redact_scene(fields: Fields) -> Fields:
    step: dict[str, Any] = fields["step"]
    reference = step.get("reference")
    result = step.get("result")
    if isinstance(result, str):
        is_failure = step.get("status") == "Error" and result.startswith(FAILED)
        text = tool_failure_text(reference) if reference is not None or is_failure else None
    else:
        text = None if reference is None else run_failure_text(reference)
    if text is None:
        return fields
    # The message of the last step is the answer, even if it is incomplete.
    names = ("error",) if step.get("status") == "Completed" else ("message", "error", "result")
    return {**fields, "step": {**step, **{name: text for name in names if name in step}}}


def _redact_selection(fields: Fields) -> Fields:
    """Return a selection with the types of exceptions instead of their messages."""
    ranking: list[dict[str, Any]] = fields["ranking"]
    redacted = [
        {**each, "error": _EXCEPTION_TEXT.sub(r"\1", each["error"])} if "error" in each else each
        for each in ranking
    ]
    return {**fields, "ranking": redacted}


def _as_object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
