"""Reading requests, which may be anything, of any length, at any pace."""

from __future__ import annotations

import asyncio
import json
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from starlette.requests import ClientDisconnect

from .._core import JsonMeter
from .errors import HttpError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from .limits import WebLimits
    from .security import AccessControl

_T = TypeVar("_T")

# What is longer is parsed in a thread: that takes longer than to go there and back.
_INLINE_PARSE_LIMIT = 16_384
# How many of those at once.
_MAX_PARSE_THREADS = 2
# Beyond it some versions of Python take minutes, and others refuse.
_MAX_NUMBER_LENGTH = 4000
_CLOSE_CONNECTION = {"Connection": "close"}

# Deeper than anything that is meant, and far from what a recursion could not take.
_MAX_DEPTH = 100
_MAX_ID_LENGTH = 200
_ID = re.compile(rf"[A-Za-z0-9._~:@+=-]{{1,{_MAX_ID_LENGTH}}}")
# A sequence number is no larger than what every database counts to.
_MAX_SEQUENCE_NUMBER = 2**53 - 1
_NUMBER = re.compile(r"[0-9]{1,16}")


class BodyReader:
    """Reads the bodies of requests, and refuses those that would cost too much.

    What a body would become is counted while it arrives. Long ones are parsed in a thread, and
    count in the rate of requests.

    Args:
        gate: Who knows how often somebody may ask.
        limits: How long, how slow and how rich in values a body may be.
    """

    def __init__(self, access: AccessControl, limits: WebLimits) -> None:
        self._access = access
        self._limits = limits
        # Each holds the interpreter for a while, and memory.
        self._parse_slots = asyncio.Semaphore(_MAX_PARSE_THREADS)

    async def json(self, request: Request, user: str | None) -> dict[str, Any]:
        """The body of a request: a JSON object.

        The content type has to be JSON: a form of another site cannot send that without asking
        first.

        Args:
            request: The request.
            user: Who asks.

        Raises:
            RateLimitedError: Somebody has sent too much of late.
            Refused: It is too long, too slow, or something else.
        """
        return await self._read(request, user, self._limits.max_body_bytes, _identity)

    async def transcript(
        self, request: Request, user: str | None, read: Callable[[dict[str, Any]], _T]
    ) -> _T:
        """As `json`, of a client that sends all that it has each time.

        Args:
            request: The request.
            user: Who asks.
            read: Reads what is in the body.
        """
        return await self._read(request, user, self._limits.max_transcript_bytes, read)

    async def _read(
        self,
        request: Request,
        user: str | None,
        limit: int,
        read: Callable[[dict[str, Any]], _T],
    ) -> _T:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HttpError(415, "not_json", "The content type has to be application/json.")
        timeout = self._limits.body_timeout
        try:
            body = await asyncio.wait_for(self._receive(request, limit), timeout)
        except asyncio.TimeoutError:
            raise HttpError(
                408, "too_slow", f"The body has to arrive within {timeout:g} seconds."
            ) from None
        except ClientDisconnect:
            raise HttpError(400, "gone", "The client has left.") from None
        await self._access.charge(request, user, len(body))
        if len(body) <= _INLINE_PARSE_LIMIT:
            return read(parse_object(body))
        async with self._parse_slots:
            return await asyncio.to_thread(lambda: read(parse_object(body)))

    async def _receive(self, request: Request, limit: int) -> bytes:
        declared = length_of(request)
        # A client that is still sending does not hear the answer, so a little too much is listened
        # to.
        read_limit = 2 * limit
        if declared is not None and declared > read_limit:
            raise _too_long(limit)
        body, meter = bytearray(), JsonMeter()
        error: HttpError | None = None
        length = 0
        async for chunk in request.stream():
            length += len(chunk)
            if length > read_limit:
                break
            if error is None:
                meter.push(chunk)
                body += chunk
                error = _too_long(limit) if length > limit else self._limit_error(meter)
            if error is not None:
                body.clear()
        if error is not None:
            raise error
        return bytes(body)

    def _limit_error(self, meter: JsonMeter) -> HttpError | None:
        """What is too much of what has come so far."""
        if meter.depth > _MAX_DEPTH:
            return _too_deep()
        limit = self._limits.max_body_values
        if meter.values > limit:
            return HttpError(
                413,
                "too_many_values",
                f"A body holds at most {limit} values.",
                headers=_CLOSE_CONNECTION,
            )
        if meter.longest_number > _MAX_NUMBER_LENGTH:
            return HttpError(
                400,
                "no_number",
                f"A number in the body has at most {_MAX_NUMBER_LENGTH} characters.",
            )
        return None


def length_of(request: Request) -> int | None:
    """How many bytes of body a request says that it has."""
    declared = request.headers.get("content-length", "")
    return int(declared) if _NUMBER.fullmatch(declared) else None


def _identity(body: dict[str, Any]) -> dict[str, Any]:
    return body


def _too_long(limit: int) -> HttpError:
    # What is still to come is not read, so that the connection cannot be used again.
    return HttpError(
        413, "too_long", f"A body has at most {limit} bytes.", headers=_CLOSE_CONNECTION
    )


def parse_object(body: bytes) -> dict[str, Any]:
    """Reads a JSON object.

    Raises:
        Refused: It is something else, too deep, or holds what is no text or number anywhere.
    """
    try:
        value: object = json.loads(body.decode("utf-8"), parse_constant=_reject_constant)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise HttpError(
            400, "not_json", f"The body is not JSON: {_describe_error(error)}."
        ) from None
    if not isinstance(value, dict):
        raise HttpError(
            400, "not_an_object", f"The body has to be an object, not {json_type(value)}."
        )
    found = cast("dict[str, Any]", value)
    _check(found)
    return found


def _check(value: object) -> None:
    """Looks at all there is, level by level."""
    level = [value]
    for _ in range(_MAX_DEPTH):
        children: list[object] = []
        for each in level:
            if isinstance(each, str):
                _check_text(each)
            elif isinstance(each, float) and not math.isfinite(each):
                raise HttpError(400, "no_number", "A number in the body is too large.")
            elif isinstance(each, dict):
                children += cast("dict[str, object]", each)
                children += cast("dict[str, object]", each).values()
            elif isinstance(each, list):
                children += cast("list[object]", each)
        if not children:
            return
        level = children
    raise _too_deep()


def _check_text(text: str) -> None:
    if "\0" in text:
        raise HttpError(400, "not_text", "A text in the body holds the character U+0000.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise HttpError(400, "not_text", "A text in the body holds half of a character.") from None


def _too_deep() -> HttpError:
    return HttpError(400, "too_deep", f"The body is nested more than {_MAX_DEPTH} deep.")


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _describe_error(error: ValueError) -> str:
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
        raise HttpError(400, "wrong_type", f"`{name}` has to be a string, not {json_type(value)}.")
    if limit is not None and len(value.encode()) > limit:
        raise HttpError(413, "too_long", f"`{name}` has at most {limit} bytes.")
    return value


def flag_of(body: Mapping[str, Any], name: str, *, default: bool | None = None) -> bool:
    """A boolean of the body.

    Raises:
        Refused: It is missing and has no default, or is something else.
    """
    value: object = body.get(name, default)
    if not isinstance(value, bool):
        raise HttpError(400, "wrong_type", f"`{name}` has to be a boolean, not {json_type(value)}.")
    return value


def check_fields(body: Mapping[str, Any], *known: str) -> None:
    """Refuses fields that mean nothing here: a misspelt one would be missed.

    Raises:
        Refused: There is one.
    """
    for name in body:
        if name not in known:
            raise HttpError(
                400,
                "unknown_field",
                f"There is no field {json.dumps(name[:50])} here; there is {_join_names(known)}.",
            )


def _join_names(names: tuple[str, ...]) -> str:
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
        raise HttpError(
            400,
            "wrong_id",
            f"`{name}` has to have 1 to {_MAX_ID_LENGTH} characters: letters, digits, `._~:@+=-`.",
        )
    return value


def number_of(text: str, name: str, *, largest: int = _MAX_SEQUENCE_NUMBER) -> int:
    """A whole number from the address or a header of a request.

    Raises:
        Refused: It is none, or too large.
    """
    if not _NUMBER.fullmatch(text) or int(text) > largest:
        raise HttpError(
            400, "wrong_number", f"{name} has to be a whole number from 0 to {largest}."
        )
    return int(text)


def cursor_of(request: Request) -> int:
    """After which event the client wants to read: what it saw last counts more than the address.

    Raises:
        Refused: It says something that is no sequence number.
    """
    last = request.headers.get("last-event-id")
    if last:
        return number_of(last, "Last-Event-ID")
    return number_of(request.query_params.get("after", "0"), "`after`")


def query_flag(request: Request, name: str) -> bool:
    """Whether the address asks for something: ``1`` or ``0``.

    Raises:
        Refused: It says something else.
    """
    value = request.query_params.get(name, "0")
    if value not in {"0", "1"}:
        raise HttpError(400, "wrong_number", f"`{name}` has to be 0 or 1.")
    return value == "1"
