"""Validation of requests, common to all protocols."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ...exceptions import MessageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_ID_LENGTH = 200
# A client sends the whole conversation each time; real conversations have fewer items.
_MAX_ITEMS = 20_000


@dataclass(frozen=True)
class SubmittedAnswer:
    """An answer of the user that a call waits for."""

    key: str
    """Key of the approval or question, from the stream."""
    approved: bool | None = None
    """True if the call is approved, False if it is denied; None if the answer is not a decision."""
    reason: str | None = None
    """Reason for the decision."""
    value: object = None
    """The answer as JSON, for questions other than approvals."""


def invalid_request(problem: str, path: str) -> MessageError:
    """Return the error for an invalid request."""
    return MessageError(f"{problem}, at {path!r}" if path else problem, path=path)


def object_at(value: object, path: str) -> Mapping[str, object]:
    """Return a value if it is an object.

    Raises:
        MessageError: The value is not an object.
    """
    if not isinstance(value, dict):
        raise invalid_request(f"expected an object, found {_json_type(value)}", path)
    return cast("dict[str, object]", value)


def items_at(fields: Mapping[str, object], name: str, path: str) -> list[object]:
    """Return an array field.

    Raises:
        MessageError: The field is not an array, or is too long.
    """
    value = fields.get(name)
    if not isinstance(value, list):
        raise invalid_request(f"expected an array, found {_json_type(value)}", f"{path}/{name}")
    items = cast("list[object]", value)
    if len(items) > _MAX_ITEMS:
        raise invalid_request(
            f"expected at most {_MAX_ITEMS} items, found {len(items)}", f"{path}/{name}"
        )
    return items


def text_at(fields: Mapping[str, object], name: str, path: str) -> str:
    """Return a string field.

    Raises:
        MessageError: The field is not a string.
    """
    value = fields.get(name)
    if not isinstance(value, str):
        raise invalid_request(f"expected a string, found {_json_type(value)}", f"{path}/{name}")
    return value


def id_at(fields: Mapping[str, object], name: str, path: str) -> str:
    """Return a field with an id.

    Raises:
        MessageError: The field is not a string, or is empty or too long.
    """
    value = text_at(fields, name, path)
    if not 1 <= len(value) <= _MAX_ID_LENGTH:
        raise invalid_request(
            f"expected 1 to {_MAX_ID_LENGTH} characters, found {len(value)}", f"{path}/{name}"
        )
    return value


def message_text(parts: list[object], path: str, *, known: tuple[str, ...] = ()) -> str:
    """Return the text parts of a message, separated by empty lines.

    Args:
        parts: The parts of the message.
        path: JSON pointer of the parts.
        known: Types of parts to ignore, or prefixes of types.

    Raises:
        MessageError: A part is not text, or the message has no text.
    """
    texts: list[str] = []
    for index, each in enumerate(parts):
        part = object_at(each, f"{path}/{index}")
        type_ = text_at(part, "type", f"{path}/{index}")
        if type_ == "text":
            texts.append(text_at(part, "text", f"{path}/{index}"))
        elif not type_.startswith(known or ("\0",)):
            # Ignoring the part would suggest to the user that the model has seen it.
            raise invalid_request(
                f"only text parts are supported, got {type_[:50]!r}", f"{path}/{index}/type"
            )
    text = "\n\n".join(each for each in texts if each.strip())
    if not text:
        raise invalid_request("expected some text, found none", path)
    return text


def _json_type(value: object) -> str:
    """Return the JSON type of a value, with its article."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
