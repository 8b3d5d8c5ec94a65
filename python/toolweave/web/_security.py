"""Access control, concurrency limits and security headers."""

from __future__ import annotations

import inspect
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request

from ..exceptions import RateLimitedError
from ._errors import HttpError, error_response, to_http_error, too_many_requests, unavailable

if TYPE_CHECKING:
    from collections.abc import Generator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from ..limits import RateLimiter
    from ._limits import WebLimits

Authenticate: TypeAlias = "Callable[[Request], str | Awaitable[str | None] | None]"
"""Hook that returns the id of the user who sent a request; None if the request is unauthenticated,
which is answered with 401. It may raise `HttpError` to reject the request in another way."""

_log = logging.getLogger("toolweave.web")

_SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_DENY_ALL_POLICY = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'none'"
)
"""Content security policy of the page: only its own scripts, styles, images and connections."""

_DEFAULT_PORTS = {"http": 80, "https": 443}
_LENGTH = re.compile(r"[0-9]{1,16}")


class Client(NamedTuple):
    """The client that sent a request."""

    user_id: str | None
    """Id of its user; None if the server has no authentication."""
    quota_key: str
    """The key whose limits count: the user's; without users, the client address's."""


class SecurityHeaders:
    """Middleware that adds security headers to all responses of an application.

    Args:
        app: The application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY_HEADERS.items():
                    headers[name] = value
                headers.setdefault("Content-Security-Policy", _DENY_ALL_POLICY)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, with_headers)


class ErrorResponses:
    """Middleware that responds to unexpected exceptions, inside of those that add headers.

    Args:
        app: The application.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        started = False

        async def noted(message: Message) -> None:
            nonlocal started
            started = started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:
            if started or scope["type"] != "http":
                raise
            await error_response(to_http_error(error))(scope, receive, send)


class AccessControl:
    """Authentication, cross-site protection and rate limiting of requests.

    Args:
        authenticate: Hook that returns the user of a request; None to allow everything to everyone.
        rate: Rate limiter of requests, by user or address.
        limits: The limits of the server, with the size that counts as an additional request.
        allowed_hosts: Host names of the server, whose pages may send requests as well.
        allowed_origins: Origins of other sites whose pages may send requests.
    """

    def __init__(
        self,
        authenticate: Authenticate | None,
        rate: RateLimiter | None,
        limits: WebLimits,
        allowed_hosts: Sequence[str] = (),
        allowed_origins: Sequence[str] = (),
    ) -> None:
        self._allowed_origins = frozenset(allowed_origins)
        self._allowed_hosts = [host.lower() for host in allowed_hosts]
        self._authenticate = authenticate
        self._rate = rate
        self._limits = limits

    async def authenticate(self, request: Request) -> Client:
        """Check that a request is allowed, count it, and return its client.

        Raises:
            HttpError: The request is unauthenticated, or comes from another site.
            RateLimitedError: The client has sent too many requests.
        """
        if request.method not in {"GET", "HEAD"} and self._is_cross_site(request):
            raise HttpError(403, "cross_site", "Requests of other sites are not allowed.")
        user = await self._authenticated_user(request)
        address = "" if request.client is None else f"address {request.client.host}"
        client = Client(user, address if user is None else f"user {user}")
        if self._rate is not None:
            await self._rate.acquire(client.quota_key, self._request_cost(length_of(request) or 0))
        return client

    async def charge(self, request: Request, client: Client, size: int) -> None:
        """Count a body that was sent without a content length.

        Raises:
            RateLimitedError: The client has sent too many requests.
        """
        # The request itself was counted before, and is counted again when it is repeated.
        extra = self._request_cost(size) - 1
        if self._rate is None or length_of(request) is not None or not extra:
            return
        try:
            await self._rate.acquire(client.quota_key, extra)
        except RateLimitedError as error:
            retry_after = error.retry_after + self._rate.limit.per / self._rate.limit.calls
            raise RateLimitedError(str(error), retry_after) from None

    def _request_cost(self, size: int) -> int:
        """Return the number of requests that a body of this size counts as."""
        limits = self._limits
        if self._rate is None or size > 2 * max(limits.max_body_bytes, limits.max_transcript_bytes):
            # A body whose declared length is far too long is not read at all.
            return 1
        return min(1 + size // limits.bytes_per_request, self._rate.limit.calls)

    def _is_cross_site(self, request: Request) -> bool:
        """Return True if the browser says that a page of another site sent the request."""
        if request.headers.get("origin") in self._allowed_origins:
            return False
        site = request.headers.get("sec-fetch-site")
        if site is not None:
            return site == "cross-site"
        # Browsers omit Sec-Fetch-Site without TLS, and old browsers always do.
        origin = request.headers.get("origin")
        if origin is None:
            return False
        try:
            origin_url = urlsplit(origin.lower())
            origin_port = origin_url.port or _DEFAULT_PORTS.get(origin_url.scheme)
            host_url = urlsplit(f"//{request.headers.get('host', '').lower()}")
            host_port = host_url.port or _DEFAULT_PORTS.get(origin_url.scheme)
        except ValueError:
            return True
        if not origin_url.hostname:
            return True
        same_host = (origin_url.hostname, origin_port) == (host_url.hostname, host_port)
        return not same_host and not any(
            origin_url.hostname == host
            or (host[:2] == "*." and origin_url.hostname.endswith(host[1:]))
            for host in self._allowed_hosts
        )

    async def _authenticated_user(self, request: Request) -> str | None:
        if self._authenticate is None:
            return None
        try:
            found = self._authenticate(request)
            user = await found if inspect.isawaitable(found) else found
        except HttpError:
            raise
        except Exception as error:
            _log.exception("the authenticate hook has failed")
            raise HttpError(500, "failed", "The user could not be authenticated.") from error
        if user is None:
            raise HttpError(401, "unauthorized", "Authentication is required.")
        if not isinstance(user, str) or not user:  # pyright: ignore[reportUnnecessaryIsInstance]
            _log.error("the authenticate hook returned no user id")
            raise HttpError(500, "failed", "The user could not be authenticated.")
        return user


def length_of(request: Request) -> int | None:
    """Return the declared length of a request's body, in bytes; None without a valid one."""
    declared = request.headers.get("content-length", "")
    return int(declared) if _LENGTH.fullmatch(declared) else None


class ConcurrencyLimiter:
    """Limit on how many of something are active at once, in total and per key.

    Args:
        limit: Maximum in total.
        limit_per_key: Maximum for one key.
        noun: The noun for error messages, in the plural.
    """

    def __init__(self, limit: int, limit_per_key: int, noun: str) -> None:
        self._limit = limit
        self._limit_per_key = limit_per_key
        self._noun = noun
        self._held: Counter[str | None] = Counter()
        self._total = 0

    @contextmanager
    def hold(self, key: str | None) -> Generator[None, None, None]:
        """Hold a slot.

        Args:
            key: The key whose limit counts; None to count only in the total.

        Raises:
            HttpError: No slot is free.
        """
        if key is not None and self._held[key] >= self._limit_per_key:
            raise too_many_requests(
                f"At most {self._limit_per_key} {self._noun} can be active at once."
            )
        if self._total >= self._limit:
            raise unavailable("full", f"The server has reached its limit of {self._noun}.")
        self._total += 1
        self._held[key] += 1
        try:
            yield
        finally:
            self._total -= 1
            self._held[key] -= 1
            if not self._held[key]:
                del self._held[key]
