"""What a client says with a request, whatever the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ...exceptions import MessageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_MAX_ID_LENGTH = 200
# A client sends the whole conversation each time; no conversation has that many.
_MAX_ITEMS = 20_000


@dataclass(frozen=True)
class SubmittedAnswer:
    """What somebody has decided, or replied, that a call waits for."""

    key: str
    """What is answered, as the stream named it."""
    approved: bool | None = None
    """Whether it is approved; None where the answer is no yes or no."""
    reason: str | None = None
    """Why it is approved, or not."""
    value: object = None
    """The answer as it was given, as JSON; of use where something else than approval was asked."""


def invalid_request(problem: str, path: str) -> MessageError:
    """The error for a request that cannot be taken."""
    return MessageError(f"{problem}, at {path!r}" if path else problem, path=path)


def object_at(value: object, path: str) -> Mapping[str, object]:
    """The object at a place.

    Raises:
        MessageError: There is something else.
    """
    if not isinstance(value, dict):
        raise invalid_request(f"expected an object, found {_json_type(value)}", path)
    return cast("dict[str, object]", value)


def items_at(fields: Mapping[str, object], name: str, path: str) -> list[object]:
    """The list in a field.

    Raises:
        MessageError: There is something else, or it is too long.
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
    """The text in a field.

    Raises:
        MessageError: There is something else.
    """
    value = fields.get(name)
    if not isinstance(value, str):
        raise invalid_request(f"expected a string, found {_json_type(value)}", f"{path}/{name}")
    return value


def id_at(fields: Mapping[str, object], name: str, path: str) -> str:
    """The id in a field.

    Raises:
        MessageError: There is something else, or it is empty or too long.
    """
    value = text_at(fields, name, path)
    if not 1 <= len(value) <= _MAX_ID_LENGTH:
        raise invalid_request(
            f"expected 1 to {_MAX_ID_LENGTH} characters, found {len(value)}", f"{path}/{name}"
        )
    return value


def message_text(parts: list[object], path: str, *, known: tuple[str, ...] = ()) -> str:
    """What the parts of a message say, with an empty line between them.

    Args:
        parts: The parts.
        place: Where they are.
        known: Types of parts that say nothing to the model.

    Raises:
        MessageError: A part is no text, or there is none.
    """
    texts: list[str] = []
    for index, each in enumerate(parts):
        part = object_at(each, f"{path}/{index}")
        type_ = text_at(part, "type", f"{path}/{index}")
        if type_ == "text":
            texts.append(text_at(part, "text", f"{path}/{index}"))
        elif not type_.startswith(known or ("\0",)):
            # Better than to leave out what somebody thinks that the model has seen.
            raise invalid_request(
                f"only text can be said here, no {type_[:50]!r}", f"{path}/{index}/type"
            )
    text = "\n\n".join(each for each in texts if each.strip())
    if not text:
        raise invalid_request("expected some text, found none", path)
    return text


def _json_type(value: object) -> str:
    """What JSON calls it, with its article."""
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
