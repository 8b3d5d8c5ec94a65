"""Running the tool that was chosen, or the fallback where it cannot start."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from .._checks import (
    check_callable,
    check_count,
    check_mapping,
    check_methods,
    check_number,
    check_type,
    wrong_type,
)
from .._core import ToolEntry
from .._loops import running_loop
from .calling import run_with_timeout
from .loading import check_strings
from .parameters import repair_parameters
from .remote import MAX_RESPONSE_BYTES, Endpoint
from .styles import prepare_handler
from .target import find_handler

if TYPE_CHECKING:
    import httpx

    from .styles import PreparedHandler, QuestionHandler
    from .target import HandlerSource

_log = logging.getLogger("toolweave.handlers")


class SelectedTool(Protocol):
    """A tool for a query, with the parameters for it: a `Selection`."""

    @property
    def query(self) -> str:
        """What was asked."""
        ...

    @property
    def item_type(self) -> str:
        """The type that it is about."""
        ...

    @property
    def site(self) -> str | None:
        """The site that it is about, if any."""
        ...

    @property
    def tool(self) -> ToolEntry | None:
        """The tool."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What its handler is given."""
        ...


@dataclass(frozen=True)
class HandlerRun:
    """What came of running a tool."""

    tool: ToolEntry
    """The tool that ran."""
    value: Any
    """What its handler returned, or the endpoint answered."""
    duration: float
    """How long that took, in seconds."""
    fell_back: bool = False
    """Whether this is the fallback, since the tool that was chosen could not start."""
    error: Exception | None = None
    """Why it could not."""


class HandlerOptions(TypedDict, total=False):
    """The options of `run_handler`, for what calls it."""

    allowed_handlers: Iterable[str]
    allowed_hosts: Iterable[str]
    base_url: str | None
    timeout: float | None
    client: httpx.AsyncClient | None
    max_response_bytes: int
    fallback: str | ToolEntry | None
    fallback_parameters: Mapping[str, Any] | None
    on_start: Callable[[ToolEntry], object] | None
    on_question: QuestionHandler | None


async def run_handler(
    registry: HandlerSource,
    chosen: SelectedTool | ToolEntry,
    parameters: Mapping[str, Any] | None = None,
    handler: object = None,
    *,
    allowed_handlers: Iterable[str] = (),
    allowed_hosts: Iterable[str] = (),
    base_url: str | None = None,
    timeout: float | None = None,
    client: httpx.AsyncClient | None = None,
    max_response_bytes: int = MAX_RESPONSE_BYTES,
    fallback: str | ToolEntry | None = "search",
    fallback_parameters: Mapping[str, Any] | None = None,
    on_start: Callable[[ToolEntry], object] | None = None,
    on_question: QuestionHandler | None = None,
) -> HandlerRun:
    """Runs a tool.

    What runs is the handler registered for it in Python; else the class or function that its
    dotted path names; else, with ``method="url"``, the endpoint that is its path. Parameters are
    validated first, and mended as arguments in replies are.

    A tool that cannot start is replaced by the fallback, and the record says why. It cannot start
    if its handler cannot be had, if the parameters do not fit, or if a constructor raises. Once it
    has started there is no way back: what it raises is raised.

    Functions, and methods ``do()``, that are not async run in a thread, with the caller's context
    variables. Cancelling this cancels an async one, and waits for it.

    Args:
        registry: Where handlers are registered, and the fallback is found.
        chosen: The selection, or a tool alone.
        parameters: What the handler is given; None for those of the selection.
        handler: What handlers get besides: the application's own object, such as NLWeb's handler
            of the query.
        allowed_handlers: Prefixes of dotted paths that may be imported; see `load_handler`.
        allowed_hosts: Hosts that may be asked, as ``host`` or ``host:port``.
        base_url: What relative paths of endpoints are relative to, as links of a page at that URL
            are; by default that of the registry.
        timeout: How long the handler may take, in seconds; None for as long as it likes.
        client: What endpoints are asked with; None for a client that is made for each request.
        max_response_bytes: How long an endpoint's answer may be.
        fallback: What runs if the tool cannot start: a tool, or the name of one that the type of
            the selection has, or else that of the tool; None for nothing.
        fallback_parameters: What the fallback is given, as it is, since no model wrote it. If it
            is None, the query of the selection, as ``search_query`` or ``query``.
        on_start: Called with the tool, just before its handler starts. The place to give up what
            only the fallback would need.
        on_question: Answers what a handler that is a `Tool` asks with `ToolContext.ask`; it may be
            async. Without it such a question fails at once.

    Raises:
        HandlerError: The handler cannot be had, and there is no fallback that can start.
        ValidationError: The parameters do not fit, and there is no fallback that can start.
        TimeoutError: The handler took too long.
        ToolServerError: The endpoint cannot be reached, or does not answer as one.
        ToolFailed: The handler is a `Tool`, and failed; the text says why.
        LookupError: The selection has no tool.
        TypeError: One string is given for allowed handlers or hosts, instead of several.
        Exception: What the handler raised, as it raised it.
    """
    running_loop()
    began = time.monotonic()
    check_methods("registry", registry, "a registry with the method tools_for", "tools_for")
    if not isinstance(chosen, ToolEntry) and not hasattr(chosen, "tool"):
        raise wrong_type("chosen", "a Selection or a ToolEntry", chosen)
    check_mapping("parameters", parameters, none=True)
    check_type("base_url", base_url, str, "a URL", none=True)
    check_number("timeout", timeout, above=0, none=True)
    check_methods("client", client, "an httpx.AsyncClient", "stream", none=True)
    check_count("max_response_bytes", max_response_bytes, 1)
    check_type("fallback", fallback, (ToolEntry, str), "a ToolEntry or the name of one", none=True)
    check_mapping("fallback_parameters", fallback_parameters, none=True)
    check_callable("on_start", on_start, "a function of a tool", "tool", none=True)
    check_callable("on_question", on_question, "a function of a question", "question", none=True)
    handlers = check_strings(allowed_handlers, "allowed_handlers")
    hosts = check_strings(allowed_hosts, "allowed_hosts")
    entry = chosen if isinstance(chosen, ToolEntry) else chosen.tool
    if entry is None:
        raise LookupError("the selection has no tool, so there is nothing to run")
    if parameters is None:
        parameters = {} if isinstance(chosen, ToolEntry) else chosen.parameters
    find = functools.partial(
        _find,
        registry,
        handler=handler,
        allowed_handlers=handlers,
        allowed_hosts=hosts,
        base_url=base_url,
        client=client,
        max_response_bytes=max_response_bytes,
        on_question=on_question,
    )
    error: Exception | None = None
    running = entry
    try:
        start = find(entry, repair_parameters(entry, parameters))
    except Exception as failed:
        _log.warning(
            "a tool cannot start", exc_info=failed, extra={"tool": entry.name, "type": entry.type}
        )
        instead = _fallback(registry, chosen, entry, fallback)
        if instead is None:
            raise
        if fallback_parameters is None:
            fallback_parameters = _query_parameters(instead, chosen)
        try:
            start = find(instead, dict(fallback_parameters))
        except Exception as worse:
            raise failed from worse
        error, running = failed, instead
    if on_start is not None:
        on_start(running)
    value = await run_with_timeout(timeout, _await(start), running.name)
    duration = time.monotonic() - began
    _log.info(
        "a tool ran",
        extra={"tool": running.name, "fell_back": error is not None, "duration": duration},
    )
    return HandlerRun(running, value, duration, error is not None, error)


async def _await(start: PreparedHandler) -> Any:
    return await start()


def _find(
    registry: HandlerSource,
    entry: ToolEntry,
    parameters: dict[str, Any],
    *,
    handler: object,
    allowed_handlers: tuple[str, ...],
    allowed_hosts: tuple[str, ...],
    base_url: str | None,
    client: httpx.AsyncClient | None,
    max_response_bytes: int,
    on_question: QuestionHandler | None,
) -> PreparedHandler:
    """What runs a tool, ready to start."""
    found = find_handler(
        registry,
        entry,
        allowed_handlers=allowed_handlers,
        allowed_hosts=allowed_hosts,
        base_url=base_url,
    )
    if isinstance(found, Endpoint):
        return functools.partial(found.ask, parameters, max_bytes=max_response_bytes, client=client)
    return prepare_handler(registry, found, entry, parameters, handler, on_question)


def _fallback(
    registry: HandlerSource,
    chosen: SelectedTool | ToolEntry,
    entry: ToolEntry,
    fallback: str | ToolEntry | None,
) -> ToolEntry | None:
    """The tool to run instead; never the same again."""
    if isinstance(fallback, str):
        name = fallback
        kind = chosen.type if isinstance(chosen, ToolEntry) else chosen.item_type
        found = registry.tools_for(kind, chosen.site)
        fallback = next((each for each in found if each.name == name), None)
    if fallback is None or fallback.name == entry.name:
        return None
    return fallback


def _query_parameters(entry: ToolEntry, chosen: SelectedTool | ToolEntry) -> dict[str, Any]:
    """The parameters of a fallback that no model was asked for."""
    if isinstance(chosen, ToolEntry):
        return {}
    properties: Mapping[str, Any] = entry.parameters.get("properties") or {}
    name = next((each for each in ("search_query", "query") if each in properties), "query")
    return {name: chosen.query}
