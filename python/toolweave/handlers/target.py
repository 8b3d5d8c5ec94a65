"""Which handler serves a tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol, cast

from .._checks import check_methods, check_type
from .._core import ToolEntry
from ..exceptions import HandlerError
from .loading import check_strings, load_handler
from .remote import Endpoint


class HandlerSource(Protocol):
    """What is asked of a registry.

    One in which handlers are registered has a method ``handler_for`` as well, as `ToolRegistry`
    does: of a `ToolEntry`, to the handler or None.
    """

    def tools_for(self, item_type: str, site: str | None = None, /) -> Sequence[ToolEntry]:
        """The tools that a type has."""
        ...


def find_handler(
    registry: HandlerSource,
    entry: ToolEntry,
    *,
    allowed_handlers: Iterable[str] = (),
    allowed_hosts: Iterable[str] = (),
    base_url: str | None = None,
) -> object:
    """What runs a tool: what is registered for it in Python, its dotted path, or its endpoint.

    Args:
        registry: Where handlers are registered.
        entry: The tool.
        allowed_handlers: Prefixes of dotted paths that may be imported; see `load_handler`.
        allowed_hosts: Hosts that may be asked, as ``host`` or ``host:port``.
        base_url: What a relative path of an endpoint is relative to; by default that of the
            registry, if it has one.

    Returns:
        A class, a function, a `Tool`, or an `Endpoint`.

    Raises:
        HandlerError: There is none, or it cannot be had.
        ImportError: The tool is an endpoint, and httpx is not installed.
        TypeError: One string is given for allowed handlers or hosts, instead of several.
    """
    check_methods("registry", registry, "a registry with the method tools_for", "tools_for")
    check_type("entry", entry, ToolEntry, "a ToolEntry")
    check_type("base_url", base_url, str, "a URL", none=True)
    handlers = check_strings(allowed_handlers, "allowed_handlers")
    hosts = check_strings(allowed_hosts, "allowed_hosts")
    found = registered_handler(registry, entry)
    if found is not None:
        return found
    if entry.handler:
        return load_handler(entry.handler, handlers)
    if entry.method.lower() == "url":
        if base_url is None:
            base_url = cast("str | None", getattr(registry, "base_url", None))
        return Endpoint.of(entry, hosts, base_url)
    raise HandlerError(
        f"tool {entry.name!r} of type {entry.type!r} has no handler; register one with "
        f"@registry.handler({entry.name!r}, type={entry.type!r}), or name one in the registry",
        "",
    )


def registered_handler(registry: HandlerSource, entry: ToolEntry) -> object | None:
    """What is registered in Python for a tool."""
    handler_for: object = getattr(registry, "handler_for", None)
    if handler_for is None:
        return None
    return cast("Callable[[ToolEntry], object | None]", handler_for)(entry)
