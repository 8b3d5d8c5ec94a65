"""Errors of requests, sent to clients as ``{"error": {"code", "message"}}``."""

from __future__ import annotations

import logging
import math
from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from ..exceptions import (
    ChatBusyError,
    ChatLimitError,
    MessageError,
    RateLimitedError,
    ResultError,
    StoreError,
    ValidationError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request
    from starlette.responses import Response

_log = logging.getLogger("toolweave.web")


class HttpError(Exception):
    """The request failed, and is answered with an error.

    Args:
        status: HTTP status of the response.
        code: Error code, for programs.
        message: Message for people, a sentence.
        headers: Additional headers of the response.
    """

    def __init__(
        self, status: int, code: str, message: str, *, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.headers = headers


def unknown_chat() -> HttpError:
    """Return the error for a chat that does not exist or belongs to another user."""
    return HttpError(404, "unknown_chat", "There is no such chat.")


def too_many_requests(message: str, *, after: float = 1.0) -> HttpError:
    """Return the error for a limit that is exceeded, with the seconds to wait before a retry."""
    return HttpError(429, "too_many", message, headers={"Retry-After": str(math.ceil(after))})


def unavailable(code: str, message: str) -> HttpError:
    """Return the error for a server that cannot serve the request at the moment."""
    return HttpError(503, code, message, headers={"Retry-After": "1"})


def error_response(error: HttpError) -> JSONResponse:
    """Return the response for an error."""
    return JSONResponse(
        {"error": {"code": error.code, "message": error.message}},
        status_code=error.status,
        headers=error.headers,
    )


async def on_error(_: Request, error: Exception) -> Response:
    """Handle an exception of this package, or one of Starlette's."""
    return error_response(to_http_error(error))


def to_http_error(error: Exception) -> HttpError:
    """Return the HTTP error for an exception."""
    if isinstance(error, HttpError):
        return error
    if isinstance(error, HTTPException):
        # An unknown route, or a wrong method.
        code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
        return HttpError(
            error.status_code, code, f"{error.detail.rstrip('.')}.", headers=error.headers or {}
        )
    if isinstance(error, ChatBusyError):
        return HttpError(
            409, "chat_busy", "A run is active in this chat: stop it, or wait for its end."
        )
    if isinstance(error, ChatLimitError):
        return HttpError(
            409, "too_many_chats", f"You have {error.limit} chats, which is the limit: delete some."
        )
    if isinstance(error, RateLimitedError):
        return too_many_requests(_sentence(error), after=error.retry_after)
    if isinstance(error, (MessageError, ResultError, ValidationError)):
        return HttpError(422, "unusable", _sentence(error))
    if isinstance(error, StoreError):
        _log.error("the store has failed", exc_info=error)
        return unavailable("store_failed", "The store is unavailable.")
    _log.error("a request has failed", exc_info=error)
    return HttpError(
        500, "failed", "The server could not process the request; its log has the cause."
    )


def _sentence(error: Exception) -> str:
    text = str(error).rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."
