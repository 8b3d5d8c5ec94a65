"""What a client says with a request, whatever the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ...exceptions import MessageError

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_ID = 200
# A client sends the whole conversation each time; no conversation has that many.
_MOST_MESSAGES = 20_000


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


def wrong(what: str, place: str) -> MessageError:
    """The error for a request that cannot be taken."""
    return MessageError(f"{what}, at {place!r}" if place else what, path=place)


def object_at(value: object, place: str) -> Mapping[str, object]:
    """The object at a place.

    Raises:
        MessageError: There is something else.
    """
    if not isinstance(value, dict):
        raise wrong(f"expected an object, found {_kind(value)}", place)
    return cast("dict[str, object]", value)


def items_at(fields: Mapping[str, object], name: str, place: str) -> list[object]:
    """The list in a field.

    Raises:
        MessageError: There is something else, or it is too long.
    """
    value = fields.get(name)
    if not isinstance(value, list):
        raise wrong(f"expected an array, found {_kind(value)}", f"{place}/{name}")
    items = cast("list[object]", value)
    if len(items) > _MOST_MESSAGES:
        raise wrong(
            f"expected at most {_MOST_MESSAGES} items, found {len(items)}", f"{place}/{name}"
        )
    return items


def text_at(fields: Mapping[str, object], name: str, place: str) -> str:
    """The text in a field.

    Raises:
        MessageError: There is something else.
    """
    value = fields.get(name)
    if not isinstance(value, str):
        raise wrong(f"expected a string, found {_kind(value)}", f"{place}/{name}")
    return value


def id_at(fields: Mapping[str, object], name: str, place: str) -> str:
    """The id in a field.

    Raises:
        MessageError: There is something else, or it is empty or too long.
    """
    value = text_at(fields, name, place)
    if not 1 <= len(value) <= _LONGEST_ID:
        raise wrong(
            f"expected 1 to {_LONGEST_ID} characters, found {len(value)}", f"{place}/{name}"
        )
    return value


def said(parts: list[object], place: str, *, known: tuple[str, ...] = ()) -> str:
    """What the parts of a message say, with an empty line between them.

    Args:
        parts: The parts.
        place: Where they are.
        known: Types of parts that say nothing to the model.

    Raises:
        MessageError: A part is no text, or there is none.
    """
    texts: list[str] = []
    for position, each in enumerate(parts):
        part = object_at(each, f"{place}/{position}")
        type_ = text_at(part, "type", f"{place}/{position}")
        if type_ == "text":
            texts.append(text_at(part, "text", f"{place}/{position}"))
        elif not type_.startswith(known or ("\0",)):
            # Better than to leave out what somebody thinks that the model has seen.
            raise wrong(
                f"only text can be said here, no {type_[:50]!r}", f"{place}/{position}/type"
            )
    text = "\n\n".join(each for each in texts if each.strip())
    if not text:
        raise wrong("expected some text, found none", place)
    return text


def _kind(value: object) -> str:
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
