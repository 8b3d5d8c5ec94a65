"""Rows that may be damaged: what can be read of them, and what is wrong with the rest.

SQLite keeps anything in any column, and files and backups break. A damaged row is named, in
`problem` or in the problems of a history, and in the log; what stood in it may be what somebody
said, and is in neither.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any, cast

from .._core import ToolCall, ToolResult, ToolResultMessage
from ..exceptions import MessageError
from ..executor.deferred import Resolution
from ..executor.failure import REFERENCES

if TYPE_CHECKING:
    from sqlalchemy import Row

_log = logging.getLogger("toolweave.store")


class DamagedError(ValueError):
    """A column cannot be read.

    Args:
        column: Its name.
        reason: A part of a sentence that names nothing that was in it.
    """

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(f"{column} {reason}")


def object_of(text: object, column: str) -> dict[str, Any]:
    """The JSON object in the text of a column.

    Raises:
        DamagedError: There is none.
    """
    try:
        found: object = json.loads(cast("str", text))
    except json.JSONDecodeError as error:
        raise DamagedError(column, f"is no JSON: {error}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise DamagedError(column, f"is no JSON: {type(error).__name__}") from None
    if not isinstance(found, dict):
        raise DamagedError(column, "is no JSON object")
    return cast("dict[str, Any]", found)


def text_of(value: object) -> str:
    """A text as far as it is one."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return value if isinstance(value, str) else str(value)


def optional_text(value: object) -> str | None:
    """A text as far as it is one, where there may be none."""
    return None if value is None else text_of(value)


def call_id_of(row: Row[Any]) -> str:
    """The id of a call whose tool was entered; that of its row where none is left."""
    return text_of(row.call_id) or text_of(row.id)


def pending_call(row: Row[Any]) -> ToolCall:
    """The call of something that is awaited.

    Raises:
        DamagedError: It cannot be read.
    """
    fields = object_of(row.call_json, "call_json")
    try:
        return ToolCall(fields["id"], fields["name"], fields["arguments"])
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedError("call_json", f"is no call: {type(error).__name__}") from None


def started_call(row: Row[Any]) -> ToolCall:
    """A call whose tool was entered, without its arguments where they cannot be read."""
    call_id, name = call_id_of(row), text_of(row.name)
    try:
        return ToolCall(call_id, name, object_of(row.arguments_json, "arguments_json"))
    except (TypeError, ValueError, RecursionError) as error:
        extra = {"chat_id": row.chat_id, "run_id": row.run_id, "call_id": call_id}
        _log.error("a call cannot be read", extra={**extra, "error": _shown(error)})
        return ToolCall(call_id, name, {})


def stored_result(row: Row[Any]) -> ToolResult:
    """The result of a call.

    Raises:
        DamagedError: It cannot be read.
    """
    try:
        message = ToolResultMessage.from_json(row.result_json)
        result = message.tool_results[0]
    except (MessageError, TypeError, ValueError, IndexError, RecursionError) as error:
        raise DamagedError("result_json", f"is no result: {type(error).__name__}") from None
    references: object = message.metadata.get(REFERENCES)
    if not isinstance(references, dict):
        return result
    reference: object = cast("dict[str, object]", references).get(result.tool_call_id)
    return result.__replace__(reference=reference if isinstance(reference, str) else None)


def stored_resolution(row: Row[Any]) -> tuple[Resolution, str | None]:
    """What has come for a key, and what is wrong with it.

    What cannot be read is an error: it came, and nobody who waits for it may wait for ever.
    """
    try:
        fields = object_of(row.result_json, "result_json")
        if "value" not in fields:
            raise DamagedError("result_json", "has no value")
    except DamagedError as error:
        extra = {"chat_id": row.chat_id, "key": row.key, "error": str(error)}
        _log.error("a result that has come cannot be read", extra=extra)
        return Resolution("Error: the result has come, but cannot be read.", True), str(error)
    return Resolution(fields["value"], bool(fields.get("isError"))), None


def _shown(error: BaseException) -> str:
    return str(error) if isinstance(error, DamagedError) else type(error).__name__
