"""Reading and validating requests, whatever their content, length and speed."""

from __future__ import annotations

import asyncio
import json
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, cast

from starlette.requests import ClientDisconnect

from .._core import JsonMeter
from ._errors import HttpError
from ._security import length_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

    from ._limits import WebLimits
    from ._security import AccessControl, Client

_T = TypeVar("_T")

# Longer bodies are parsed in a thread: parsing them takes longer than switching threads.
_INLINE_PARSE_LIMIT = 16_384
# The maximum number of bodies that are parsed in threads at once.
_MAX_PARSE_THREADS = 2
# Longer integers take minutes to parse in some versions of Python, and fail in others.
_MAX_NUMBER_LENGTH = 4000
_CLOSE_CONNECTION = {"Connection": "close"}

# Far more than real requests need, and far below the recursion limit.
_MAX_DEPTH = 100
_MAX_ID_LENGTH = 200
ID_PATTERN = rf"[A-Za-z0-9._~:@+=-]{{1,{_MAX_ID_LENGTH}}}"
"""Regular expression of ids that clients may choose."""
_ID = re.compile(ID_PATTERN)
LARGEST_NUMBER = 2**53 - 1
"""The largest integer that every database and every JSON parser represents exactly."""
_NUMBER = re.compile(r"[0-9]{1,16}")


class BodyReader:
    """Reader of request bodies, which rejects those that would cost too much.

    The values of a body are counted while it arrives. Long bodies are parsed in a thread, and count
    as several requests in the rate limit.

    Args:
        access: The access control, which counts requests.
        limits: The limits on the length, the duration and the number of values of a body.
    """

    def __init__(self, access: AccessControl, limits: WebLimits) -> None:
        self._access = access
        self._limits = limits
        # Each parse holds the GIL for a while, and takes memory.
        self._parse_slots = asyncio.Semaphore(_MAX_PARSE_THREADS)

    async def json(self, request: Request, client: Client) -> dict[str, Any]:
        """Read the body of a request: a JSON object.

        The content type must be JSON: a form on another site cannot send that without a preflight
        request.

        Args:
            request: The request.
            client: The client that sent it.

        Raises:
            RateLimitedError: The client has sent too many requests.
            HttpError: The body is too long, too slow, or not a JSON object.
        """
        return await self._read(request, client, self._limits.max_body_bytes, dict)

    async def transcript(
        self, request: Request, client: Client, read: Callable[[dict[str, Any]], _T]
    ) -> _T:
        """Read a body like `json`, from a client that sends the whole conversation each time.

        Args:
            request: The request.
            client: The client that sent it.
            read: Function that converts the JSON object.
        """
        return await self._read(request, client, self._limits.max_transcript_bytes, read)

    async def _read(
        self, request: Request, client: Client, limit: int, read: Callable[[dict[str, Any]], _T]
    ) -> _T:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HttpError(415, "not_json", "The content type must be application/json.")
        timeout = self._limits.body_timeout
        try:
            body = await asyncio.wait_for(self._receive(request, limit), timeout)
        except asyncio.TimeoutError:
            raise HttpError(
                408, "too_slow", f"The body must arrive within {timeout:g} seconds."
            ) from None
        except ClientDisconnect:
            raise HttpError(400, "gone", "The client has disconnected.") from None
        await self._access.charge(request, client, len(body))
        if len(body) <= _INLINE_PARSE_LIMIT:
            return read(parse_object(body))
        async with self._parse_slots:
            return await asyncio.to_thread(lambda: read(parse_object(body)))

    async def _receive(self, request: Request, limit: int) -> bytes:
        declared = length_of(request)
        # A client that is still sending does not read the response, so slightly longer bodies are
        # read to the end.
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
        """Return the error for a body that exceeds a limit so far; None if it does not."""
        if meter.depth > _MAX_DEPTH:
            return _too_deep()
        limit = self._limits.max_body_values
        if meter.values > limit:
            return HttpError(
                413,
                "too_many_values",
                f"The body must have at most {limit} values.",
                headers=_CLOSE_CONNECTION,
            )
        if meter.longest_number > _MAX_NUMBER_LENGTH:
            return HttpError(
                400,
                "no_number",
                f"A number in the body must have at most {_MAX_NUMBER_LENGTH} characters.",
            )
        return None


def _too_long(limit: int) -> HttpError:
    # The rest of the body is not read, so the connection cannot be reused.
    return HttpError(
        413, "too_long", f"The body must have at most {limit} bytes.", headers=_CLOSE_CONNECTION
    )


def parse_object(body: bytes) -> dict[str, Any]:
    """Parse a JSON object.

    Raises:
        HttpError: The body is not an object, is nested too deeply, or has invalid text or numbers.
    """
    try:
        value: object = json.loads(body.decode("utf-8"), parse_constant=_reject_constant)
    except RecursionError:
        raise _too_deep() from None
    except ValueError as error:
        raise HttpError(
            400, "not_json", f"The body must be JSON: {_describe_error(error)}."
        ) from None
    if not isinstance(value, dict):
        raise HttpError(
            400, "not_an_object", f"The body must be an object, got {json_type(value)}."
        )
    found = cast("dict[str, Any]", value)
    _check(found)
    return found


def _check(value: object) -> None:
    """Validate all texts, numbers and the depth of a value, level by level."""
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
        raise HttpError(400, "not_text", "Text in the body must not contain the character U+0000.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise HttpError(
            400, "not_text", "Text in the body must not contain a lone surrogate."
        ) from None


def _too_deep() -> HttpError:
    return HttpError(400, "too_deep", f"The body must have at most {_MAX_DEPTH} levels of nesting.")


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _describe_error(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg}, at line {error.lineno}, column {error.colno}"
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not UTF-8"
    return str(error)


def json_type(value: object) -> str:
    """Return the JSON type of a value, with its article."""
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
    """Return a string field of the body; None if it is optional and absent.

    Args:
        body: The body.
        name: Name of the field.
        required: True to raise if the field is absent.
        limit: Maximum length in bytes of UTF-8.

    Raises:
        HttpError: The field is missing, too long, or not a string.
    """
    value: object = body.get(name)
    if value is None and not required:
        return None
    if not isinstance(value, str):
        raise HttpError(400, "wrong_type", f"`{name}` must be a string, got {json_type(value)}.")
    if limit is not None and len(value.encode()) > limit:
        raise HttpError(413, "too_long", f"`{name}` must have at most {limit} bytes.")
    return value


def flag_of(body: Mapping[str, Any], name: str, *, default: bool | None = None) -> bool:
    """Return a boolean field of the body.

    Raises:
        HttpError: The field is missing without a default, or is not a boolean.
    """
    value: object = body.get(name, default)
    if not isinstance(value, bool):
        raise HttpError(400, "wrong_type", f"`{name}` must be a boolean, got {json_type(value)}.")
    return value


def check_fields(body: Mapping[str, Any], *known: str) -> None:
    """Reject unknown fields, so that a misnamed field is not ignored.

    Raises:
        HttpError: The body has an unknown field.
    """
    for name in body:
        if name not in known:
            names = ", ".join(f"`{each}`" for each in known) or "none"
            raise HttpError(
                400,
                "unknown_field",
                f"Unknown field {json.dumps(name[:50])}; known fields: {names}.",
            )


def is_id(value: str) -> bool:
    """Return True if a text is a valid id: letters, digits and ``. _ ~ : @ + = -``."""
    # Clients resolve "." and ".." in URLs, and would request the parent.
    return _ID.fullmatch(value) is not None and value not in {".", ".."}


def id_of(body: Mapping[str, Any], name: str) -> str | None:
    """Return an id that the client has chosen; None if it has not chosen one.

    Raises:
        HttpError: The id is invalid.
    """
    value = text_of(body, name, required=False)
    if value is not None and not is_id(value):
        raise HttpError(
            400,
            "wrong_id",
            f"`{name}` must have 1 to {_MAX_ID_LENGTH} characters: letters, digits, `._~:@+=-`.",
        )
    return value


def number_of(text: str, name: str, *, largest: int = LARGEST_NUMBER) -> int:
    """Parse an integer from the URL or a header of a request.

    Raises:
        HttpError: The text is not an integer, or it is too large.
    """
    if not _NUMBER.fullmatch(text) or int(text) > largest:
        raise HttpError(400, "wrong_number", f"{name} must be an integer from 0 to {largest}.")
    return int(text)


def cursor_of(request: Request) -> int:
    """Return the sequence number to resume after; ``Last-Event-ID`` takes precedence over the URL.

    Raises:
        HttpError: One of the values is not a sequence number.
    """
    after = number_of(request.query_params.get("after", "0"), "`after`")
    last = request.headers.get("last-event-id")
    return after if last is None else number_of(last, "Last-Event-ID")


def query_flag(request: Request, name: str) -> bool:
    """Return a flag of the query string: ``1`` or ``0``.

    Raises:
        HttpError: The value is neither.
    """
    value = request.query_params.get(name, "0")
    if value not in {"0", "1"}:
        raise HttpError(400, "wrong_number", f"`{name}` must be 0 or 1.")
    return value == "1"
