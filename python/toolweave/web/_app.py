"""The application: its parts, its routes and its lifespan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import JSONResponse

from .._checks import check_callable, check_items, check_mapping, check_methods, check_type
from .._core import __version__
from .._logs import show_warnings
from ..exceptions import ToolweaveError
from ..limits import RateLimiter
from ._cors import check_origins, cors
from ._errors import HttpError, on_error
from ._limits import WebLimits
from ._openapi import EVENT_STREAM, OPERATIONS, PAGE_OPERATIONS, OpenApiDocument, operation_routes
from ._pages import Page
from ._routes import ChatHandlers
from ._security import AccessControl, ErrorResponses, SecurityHeaders
from ._streams import ENCODERS, NATIVE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from starlette.requests import Request
    from starlette.responses import Response

    from ..store import MessageStore
    from ._redaction import ErrorText
    from ._responders import Responder
    from ._security import Authenticate
    from ._streams import Encoders


def chat_app(
    store: MessageStore,
    responder: Responder,
    *,
    authenticate: Authenticate | None = None,
    limits: WebLimits | None = None,
    page: Page | None = None,
    encoders: Encoders = ENCODERS,
    allowed_hosts: Sequence[str] | None = None,
    allowed_origins: Sequence[str] = (),
    security_schemes: Mapping[str, Mapping[str, Any]] | None = None,
    error_text: ErrorText = "reference",
) -> Starlette:
    """Create an application that serves chats.

    The application opens the store when the server starts, and closes it on shutdown. Any number of
    processes can serve the same chats if their stores share a database. Warnings and errors are
    shown on standard error if logging is not configured.

    Args:
        store: The store that holds the chats, not open yet.
        responder: The responder that answers messages: an `AgentResponder`, a `SceneResponder`, or
            your own function.
        authenticate: Hook that returns the user of a request. Users see only their own chats.
            Without it there are no users, and everyone who reaches the server sees all chats.
        limits: Limits on what clients can use.
        page: A page to serve in front of the chats.
        encoders: Factories of encoders, by format, in addition to the native format.
        allowed_hosts: Host names that requests may use, such as ``["127.0.0.1"]``. This prevents
            DNS rebinding by pages of other sites. None to allow any host name.
        allowed_origins: Origins of other sites whose pages may use the routes, with credentials,
            such as ``["https://app.example"]``: exactly as browsers send them, without patterns.
        security_schemes: The ways in which `authenticate` accepts credentials, by name, as OpenAPI
            describes them, such as ``{"session": {"type": "apiKey", "in": "cookie", "name":
            "session"}}``. Any one of them suffices.
        error_text: The text that clients get for exceptions of tools, other than those raised for
            the model: ``"reference"`` for an id to look up in the log, or ``"message"`` for the
            text that the model reads.

    Example:
        >>> from toolweave.store import MessageStore
        >>> from toolweave.web import AgentResponder
        >>> async def model(messages: Sequence[Message]) -> str:
        ...     return "Hello!"
        >>> app = chat_app(MessageStore("sqlite:///chats.db"), AgentResponder(Agent(model)))
    """
    show_warnings()
    check_methods("store", store, "a MessageStore", "create_chat", "watch")
    check_callable(
        "responder",
        responder,
        "a function of a turn, such as an AgentResponder or a SceneResponder",
        "turn",
    )
    check_callable("authenticate", authenticate, "a function of a request", "request", none=True)
    check_type("limits", limits, WebLimits, "a WebLimits", none=True)
    check_type("page", page, Page, "a Page", none=True)
    check_mapping("encoders", encoders)
    if allowed_hosts is not None:
        check_items("allowed_hosts", allowed_hosts, str, "a sequence of strings")
    check_mapping("security_schemes", security_schemes, none=True)
    if security_schemes is not None and authenticate is None:
        raise ValueError("security_schemes need authenticate, which checks the credentials")
    origins = check_origins(allowed_origins)
    limits = limits or WebLimits()
    rate = None if limits.requests is None else RateLimiter(limits.requests, max_wait=0.0)
    access = AccessControl(authenticate, rate, limits, allowed_hosts or (), origins)
    chats = ChatHandlers(store, responder, access, limits, encoders, error_text)
    operations = OPERATIONS if page is None else (*OPERATIONS, *PAGE_OPERATIONS)
    document = OpenApiDocument(
        operations,
        title="toolweave" if page is None else page.title,
        version=__version__,
        formats={
            NATIVE: EVENT_STREAM,
            **{name: make().media_type for name, make in encoders.items()},
        },
        has_users=authenticate is not None,
        security_schemes=security_schemes,
    )

    async def health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def openapi(request: Request) -> Response:
        return JSONResponse(document.to_dict(request.scope.get("root_path", "")))

    handlers = {
        **chats.handlers(),
        "health": health,
        "openApi": openapi,
        **({} if page is None else page.handlers()),
    }
    middleware = [Middleware(SecurityHeaders)]
    if origins:
        middleware.append(cors(origins, operations, security_schemes or {}))
    middleware.append(Middleware(ErrorResponses))
    if allowed_hosts is not None:
        middleware.append(
            Middleware(TrustedHostMiddleware, allowed_hosts=list(allowed_hosts), www_redirect=False)
        )
    return Starlette(
        routes=operation_routes(operations, handlers),
        middleware=middleware,
        exception_handlers=dict.fromkeys((HttpError, HTTPException, ToolweaveError), on_error),
        lifespan=chats.lifespan,
    )
