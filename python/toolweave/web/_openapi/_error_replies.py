"""The errors of the server: each has a status, a code for programs, and a reason."""

from __future__ import annotations

from typing import NamedTuple


class ErrorReply(NamedTuple):
    """A response that says what is wrong with a request, or with the server."""

    status: int
    """HTTP status."""
    code: str
    """The `code` of the error."""
    reason: str
    """The reason, as a sentence."""


UNAUTHORIZED = ErrorReply(401, "unauthorized", "The request is unauthenticated.")

ACCESS = (
    ErrorReply(429, "too_many", "A limit on requests, runs or streams is exceeded."),
    ErrorReply(500, "failed", "An unexpected exception; the server's log has it."),
    ErrorReply(503, "store_failed", "The store is unavailable."),
)
"""Errors of all operations that use the store."""

CHANGES = (ErrorReply(403, "cross_site", "A page of another site has sent the request."),)
"""Errors of all operations that change something."""

CHAT = (ErrorReply(404, "unknown_chat", "The user has no chat with this id."),)

BODY = (
    ErrorReply(400, "not_json", "The body is not JSON."),
    ErrorReply(400, "not_an_object", "The body is not an object."),
    ErrorReply(400, "no_number", "A number in the body is too long or too large."),
    ErrorReply(400, "not_text", "A text in the body has U+0000 or a lone surrogate."),
    ErrorReply(400, "too_deep", "The body is nested too deeply."),
    ErrorReply(400, "gone", "The connection was closed before the body had arrived."),
    ErrorReply(408, "too_slow", "The body has not arrived in time."),
    ErrorReply(413, "too_long", "The body, or a text in it, is too long."),
    ErrorReply(413, "too_many_values", "The body has too many values."),
    ErrorReply(415, "not_json", "The content type is not `application/json`."),
)
"""Errors of all operations with a body."""

FIELDS = (
    ErrorReply(400, "wrong_type", "A field is missing, or of the wrong type."),
    ErrorReply(400, "unknown_field", "The body has an unknown field."),
)
WRONG_ID = ErrorReply(400, "wrong_id", "An id that the client has chosen is invalid.")
WRONG_NUMBER = ErrorReply(400, "wrong_number", "A number in the URL or a header is invalid.")
ID_TAKEN = ErrorReply(409, "id_taken", "The id belongs to something else already.")
TOO_MANY_CHATS = ErrorReply(409, "too_many_chats", "The user has the maximum number of chats.")
CHAT_BUSY = ErrorReply(409, "chat_busy", "A run is active in the chat.")
NOT_FOUND = ErrorReply(404, "not_found", "The server has no such file.")
UNKNOWN_RUN = ErrorReply(404, "unknown_run", "The chat has no run with this id.")
INVALID = ErrorReply(
    422, "unusable", "The content of the request is invalid; the message says why."
)
NOTHING_WAITS = ErrorReply(409, "nothing_waits", "Nothing waits for the answers any more.")
FULL = ErrorReply(503, "full", "The server has reached its limit of runs or streams.")
EMPTY_MESSAGE = ErrorReply(400, "nothing_said", "The message is empty.")
NOTHING_TO_ANSWER = ErrorReply(409, "nothing_said", "The chat has no messages to answer yet.")

STREAM = (
    WRONG_NUMBER,
    ErrorReply(409, "beyond_end", "The chat has fewer events than `after` says."),
    ErrorReply(400, "unknown_format", "The server has no such format."),
    FULL,
)
"""Errors of streams of events."""

RUN = (
    EMPTY_MESSAGE,
    NOTHING_TO_ANSWER,
    WRONG_ID,
    ID_TAKEN,
    CHAT_BUSY,
    FULL,
    ErrorReply(503, "closing", "The server is shutting down."),
)
"""Errors of operations that start runs."""
