"""Reading of rows that may be damaged, and descriptions of the damage.

SQLite stores any value in any column, and files and backups break. A damaged row is named in
`problem`, or in the problems of a history, and in the log. Neither contains its contents, which may
be private messages.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, cast

from .._core import ToolCall, ToolResult, ToolResultMessage
from ..exceptions import MessageError
from ..executor._deferred import Resolution
from ..executor._failure import REFERENCES

if TYPE_CHECKING:
    from sqlalchemy import Row

_log = logging.getLogger("toolweave.store")


class DamagedError(ValueError):
    """A column cannot be read.

    Args:
        column: Name of the column.
        reason: Reason as a part of a sentence, without the contents of the column.
    """

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(f"{column} {reason}")


def object_of(text: object, column: str) -> dict[str, Any]:
    """Parse the JSON object in the text of a column.

    Raises:
        DamagedError: The text is not a JSON object.
    """
    try:
        found: object = json.loads(cast("str", text))
    except json.JSONDecodeError as error:
        raise DamagedError(column, f"is not JSON: {error}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise DamagedError(column, f"is not JSON: {type(error).__name__}") from None
    if not isinstance(found, dict):
        raise DamagedError(column, "is not a JSON object")
    return cast("dict[str, Any]", found)


def text_of(value: object) -> str:
    """Convert the value of a text column to a string, even if it is damaged."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else str(value)


def optional_text(value: object) -> str | None:
    """Convert the value of a nullable text column as `text_of` does."""
    return None if value is None else text_of(value)


def call_id_of(row: Row[Any]) -> str:
    """Return the id of a started call; the id of its row if the call id is empty."""
    return text_of(row.call_id) or text_of(row.id)


def pending_call(row: Row[Any]) -> ToolCall:
    """Return the call of a pending input.

    Raises:
        DamagedError: The call cannot be read.
    """
    fields = object_of(row.call_json, "call_json")
    try:
        return ToolCall(fields["id"], fields["name"], fields["arguments"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedError("call_json", f"is not a call: {type(error).__name__}") from None


def started_call(row: Row[Any]) -> ToolCall:
    """Return a started call, without its arguments if they cannot be read."""
    call_id, name = call_id_of(row), text_of(row.name)
    try:
        return ToolCall(call_id, name, object_of(row.arguments_json, "arguments_json"))
    except (TypeError, ValueError, RecursionError) as error:
        extra = {"chat_id": row.chat_id, "run_id": row.run_id, "call_id": call_id}
        _log.error("a call cannot be read", extra={**extra, "error": _shown(error)})
        return ToolCall(call_id, name, {})


def stored_result(row: Row[Any]) -> ToolResult:
    """Return the result of a call.

    Raises:
        DamagedError: The result cannot be read.
    """
    try:
        message = ToolResultMessage.from_json(row.result_json)
        result = message.tool_results[0]
    except (MessageError, TypeError, ValueError, IndexError, RecursionError) as error:
        raise DamagedError("result_json", f"is not a result: {type(error).__name__}") from None
    references: object = message.metadata.get(REFERENCES)
    if not isinstance(references, dict):
        return result
    reference: object = cast("dict[str, object]", references).get(result.tool_call_id)
    return result.__replace__(reference=reference if isinstance(reference, str) else None)


def stored_resolution(row: Row[Any]) -> tuple[Resolution, str | None]:
    """Return the delivered result of a pending input, and a description of its damage, if any.

    A damaged result is replaced by an error result: it was delivered, so no run may wait for it.
    """
    try:
        fields = object_of(row.result_json, "result_json")
        if "value" not in fields:
            raise DamagedError("result_json", "has no value")
    except DamagedError as error:
        extra = {"chat_id": row.chat_id, "key": row.key, "error": str(error)}
        _log.error("a delivered result cannot be read", extra=extra)
        return Resolution("Error: the result has come, but cannot be read.", True), str(error)
    return Resolution(fields["value"], bool(fields.get("isError"))), None


def _shown(error: BaseException) -> str:
    return str(error) if isinstance(error, DamagedError) else type(error).__name__
