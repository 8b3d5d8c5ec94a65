"""Reading requests, which may be anything, of any length, at any pace."""

from __future__ import annotations

import asyncio
import json
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn, cast

from starlette.requests import ClientDisconnect

from .errors import Refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

    from .limits import WebLimits

# Deeper than anything that is meant, and far from what a recursion could not take.
_DEEPEST = 100
_LONGEST_ID = 200
_ID = re.compile(rf"[A-Za-z0-9._~:@+=-]{{1,{_LONGEST_ID}}}")
# A sequence number is no larger than what every database counts to.
_LARGEST = 2**53 - 1
_NUMBER = re.compile(r"[0-9]{1,16}")


async def read_json(
    request: Request, limits: WebLimits, *, most: int | None = None
) -> dict[str, Any]:
    """The body of a request: a JSON object.

    The content type has to be JSON: a form of another site cannot send that without asking first.

    Args:
        request: The request.
        limits: How slow it may be.
        most: How many bytes it may have; what the limits say if not given.

    Raises:
        Refused: It is too long, too slow, or something else.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "not_json", "The content type has to be application/json.")
    try:
        body = await asyncio.wait_for(
            _read(request, most or limits.max_body_bytes), limits.body_timeout
        )
    except asyncio.TimeoutError:
        raise Refused(
            408, "too_slow", f"The body has to arrive within {limits.body_timeout:g} seconds."
        ) from None
    except ClientDisconnect:
        raise Refused(400, "gone", "The client has left.") from None
    return parse_object(body)


async def _read(request: Request, limit: int) -> bytes:
    said = request.headers.get("content-length", "")
    # A client that is still sending does not hear the answer, so a little too much is listened to.
    patience = 2 * limit
    if _NUMBER.fullmatch(said) and int(said) > patience:
        raise _too_long(limit)
    pieces: list[bytes] = []
    length = 0
    async for piece in request.stream():
        length += len(piece)
        if length > patience:
            break
        if length <= limit:
            pieces.append(piece)
        else:
            pieces.clear()
    if length > limit:
        raise _too_long(limit)
    return b"".join(pieces)


def _too_long(limit: int) -> Refused:
    # What is still to come is not read, so that the connection cannot be used again.
    return Refused(
        413, "too_long", f"A body has at most {limit} bytes.", headers={"Connection": "close"}
    )


def parse_object(body: bytes) -> dict[str, Any]:
    """Reads a JSON object.

    Raises:
        Refused: It is something else, too deep, or holds what is no text or number anywhere.
    """
    try:
        value: object = json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise Refused(400, "not_json", f"The body is not JSON: {_why(error)}.") from None
    if not isinstance(value, dict):
        raise Refused(
            400, "not_an_object", f"The body has to be an object, not {json_type(value)}."
        )
    found = cast("dict[str, Any]", value)
    _check(found)
    return found


def _check(value: object) -> None:
    """Looks at all there is, level by level."""
    level = [value]
    for _ in range(_DEEPEST):
        below: list[object] = []
        for each in level:
            if isinstance(each, str):
                _check_text(each)
            elif isinstance(each, float) and not math.isfinite(each):
                raise Refused(400, "no_number", "A number in the body is too large.")
            elif isinstance(each, dict):
                below += cast("dict[str, object]", each)
                below += cast("dict[str, object]", each).values()
            elif isinstance(each, list):
                below += cast("list[object]", each)
        if not below:
            return
        level = below
    raise _too_deep()


def _check_text(text: str) -> None:
    if "\0" in text:
        raise Refused(400, "not_text", "A text in the body holds the character U+0000.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Refused(400, "not_text", "A text in the body holds half of a character.") from None


def _too_deep() -> Refused:
    return Refused(400, "too_deep", f"The body is nested more than {_DEEPEST} deep.")


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _why(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, at line {error.lineno}, column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    return str(error)


def json_type(value: object) -> str:
    """What JSON calls a value, with its article."""
    if value is None:
        return "null"
    for kind, name in (
        (bool, "a boolean"),
        (str, "a string"),
        ((int, float), "a number"),
        (dict, "an object"),
    ):
        if isinstance(value, kind):
            return name
    return "an array"


def text_of(
    body: Mapping[str, Any], name: str, *, required: bool = True, limit: int | None = None
) -> str | None:
    """A text of the body.

    Args:
        body: The body.
        name: The field.
        required: Whether it has to be there.
        limit: How long it may be, in bytes of UTF-8.

    Raises:
        Refused: It is missing, too long, or no text.
    """
    value: object = body.get(name)
    if value is None and not required:
        return None
    if not isinstance(value, str):
        raise Refused(400, "wrong_type", f"`{name}` has to be a string, not {json_type(value)}.")
    if limit is not None and len(value.encode()) > limit:
        raise Refused(413, "too_long", f"`{name}` has at most {limit} bytes.")
    return value


def flag_of(body: Mapping[str, Any], name: str, *, default: bool | None = None) -> bool:
    """A boolean of the body.

    Raises:
        Refused: It is missing and has no default, or is something else.
    """
    value: object = body.get(name, default)
    if not isinstance(value, bool):
        raise Refused(400, "wrong_type", f"`{name}` has to be a boolean, not {json_type(value)}.")
    return value


def check_fields(body: Mapping[str, Any], *known: str) -> None:
    """Refuses fields that mean nothing here: a misspelt one would be missed.

    Raises:
        Refused: There is one.
    """
    for name in body:
        if name not in known:
            raise Refused(
                400,
                "unknown_field",
                f"There is no field {json.dumps(name[:50])} here; there is {_listed(known)}.",
            )


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names) if names else "none"


def is_id(value: str) -> bool:
    """Whether a text is an id: some letters, digits and ``. _ ~ : @ + = -``."""
    # Clients leave those out of an address, and ask for what stands above.
    return _ID.fullmatch(value) is not None and value not in {".", ".."}


def id_of(body: Mapping[str, Any], name: str) -> str | None:
    """An id that the client has chosen, if it has.

    Raises:
        Refused: It cannot be one.
    """
    value = text_of(body, name, required=False)
    if value is not None and not is_id(value):
        raise Refused(
            400,
            "wrong_id",
            f"`{name}` has to have 1 to {_LONGEST_ID} characters: letters, digits, `._~:@+=-`.",
        )
    return value


def number_of(given: str, what: str, *, largest: int = _LARGEST) -> int:
    """A whole number from the address or a header of a request.

    Raises:
        Refused: It is none, or too large.
    """
    if not _NUMBER.fullmatch(given) or int(given) > largest:
        raise Refused(400, "wrong_number", f"{what} has to be a whole number from 0 to {largest}.")
    return int(given)


def cursor_of(request: Request) -> int:
    """After which event the client wants to read: what it saw last counts more than the address.

    Raises:
        Refused: It says something that is no sequence number.
    """
    last = request.headers.get("last-event-id")
    if last:
        return number_of(last, "Last-Event-ID")
    return number_of(request.query_params.get("after", "0"), "`after`")


def choice_of(request: Request, name: str) -> bool:
    """Whether the address asks for something: ``1`` or ``0``.

    Raises:
        Refused: It says something else.
    """
    value = request.query_params.get(name, "0")
    if value not in {"0", "1"}:
        raise Refused(400, "wrong_number", f"`{name}` has to be 0 or 1.")
    return value == "1"
