"""Cross-origin requests of pages whose origins are listed (CORS).

Browsers ask first, with a preflight request, before they send JSON or credentials to another
origin. Starlette answers these requests; the methods and headers are those of the operations.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from .._checks import check_items, wrong_value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._openapi import Operation

_DEFAULT_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
# As browsers write origins: lower case, punycode, no path. Native shells have schemes of their own.
_ORIGIN = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:[a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::(?P<port>[1-9][0-9]*))?"
)

PREFLIGHT_SECONDS = 600
"""Time for which browsers remember the response to a preflight request, in seconds."""

# The last two are sent by clients: that of the AI SDK names itself, others avoid caches.
_REQUEST_HEADERS = ("Authorization", "Content-Type", "User-Agent", "Cache-Control")


def check_origins(origins: Sequence[str]) -> tuple[str, ...]:
    """Return the allowed origins.

    Raises:
        TypeError: They are not a sequence of strings.
        ValueError: One of them is not an origin as browsers send it.

    Example:
        >>> check_origins(["https://app.example", "http://localhost:5173"])
        ('https://app.example', 'http://localhost:5173')
        >>> check_origins(["https://app.example/"])
        Traceback (most recent call last):
        ...
        ValueError: allowed_origins[0] must be 'https://app.example', got 'https://app.example/'
    """
    check_items("allowed_origins", origins, str, "a sequence of strings")
    for index, origin in enumerate(origins):
        name = f"allowed_origins[{index}]"
        if not _is_origin(origin):
            wanted = _likely_origin(origin)
            raise wrong_value(
                name,
                repr(wanted)
                if wanted is not None
                else "one exact origin, such as 'https://app.example'; patterns and 'null' are "
                "not allowed",
                origin,
            )
    return tuple(dict.fromkeys(origins))


def _is_origin(text: str) -> bool:
    found = _ORIGIN.fullmatch(text)
    if found is None or found["scheme"] == "file":
        return False
    port = int(found["port"] or 0)
    return port <= 65_535 and (not port or port != _DEFAULT_PORTS.get(found["scheme"]))


def _likely_origin(text: str) -> str | None:
    """Return the origin of a URL; None if it has none."""
    try:
        url = urlsplit(text.lower())
        port = url.port
    except ValueError:
        return None
    host = url.hostname or ""
    host = f"[{host}]" if ":" in host else host
    tail = "" if port is None or port == _DEFAULT_PORTS.get(url.scheme) else f":{port}"
    origin = f"{url.scheme}://{host}{tail}"
    return origin if _is_origin(origin) else None


def cors(
    origins: Sequence[str],
    operations: Sequence[Operation],
    security_schemes: Mapping[str, Mapping[str, Any]],
) -> Middleware:
    """Return the middleware that lets pages of other origins use the operations, with credentials.

    Args:
        origins: The allowed origins.
        operations: The operations, with the headers of their requests and responses.
        security_schemes: The ways to authenticate, some of which have a header.
    """
    parameters = [each for operation in operations for each in operation.parameters]
    fields = [*parameters, *security_schemes.values()]
    request_headers = {each["name"] for each in fields if each.get("in") == "header"}
    replies = [reply for operation in operations for reply in operation.replies.values()]
    response_headers = {name for reply in replies for name in reply.headers}
    return Middleware(
        CORSMiddleware,
        allow_origins=list(origins),
        allow_methods=sorted({operation.method for operation in operations}),
        allow_headers=sorted({*request_headers, *_REQUEST_HEADERS}),
        expose_headers=sorted({*response_headers, "Retry-After"}),
        allow_credentials=True,
        max_age=PREFLIGHT_SECONDS,
    )
