"""Routes from operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ._operations import Operation

Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
"""Function that responds to the requests of one operation."""


def operation_routes(
    operations: Iterable[Operation], handlers: Mapping[str, Handler]
) -> list[Route]:
    """Return a route for each path, which knows all its methods.

    Args:
        operations: The operations.
        handlers: The handler of each operation, by its id.

    Raises:
        KeyError: An operation has no handler.
    """
    paths: dict[str, dict[str, Handler]] = {}
    streams: set[str] = set()
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method] = handlers[operation.operation_id]
        if operation.streams:
            streams.add(operation.path)
    return [_route(path, methods, has_head=path not in streams) for path, methods in paths.items()]


def _route(path: str, methods: Mapping[str, Handler], *, has_head: bool) -> Route:
    async def endpoint(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await methods[method](request)

    route = Route(path, endpoint, methods=list(methods))
    if not has_head and route.methods is not None:
        # A response to HEAD would occupy the connection and a slot for as long as the stream lasts.
        route.methods.discard("HEAD")
    return route
