"""Execution of a selected tool, or of the fallback if it cannot start."""

from __future__ import annotations

import asyncio
import functools
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypedDict, TypeVar

from .._aio.loops import running_loop
from .._aio.tasks import cancel_within
from .._checks import (
    check_callable,
    check_count,
    check_mapping,
    check_methods,
    check_number,
    check_type,
    wrong_type,
)
from .._core import ToolEntry, Validator
from ..exceptions import ValidationError
from ..tools import RunContext
from ._loading import check_strings
from ._remote import MAX_RESPONSE_BYTES, RemoteEndpoint
from ._styles import prepare_handler
from ._target import find_handler

if TYPE_CHECKING:
    from collections.abc import Coroutine

    import httpx

    from ._styles import PreparedHandler, QuestionHandler
    from ._target import HandlerSource

T = TypeVar("T")

GRACE = 5.0
"""Time that a cancelled handler gets to end, in seconds."""

_log = logging.getLogger("toolweave.handlers")


class SelectedTool(Protocol):
    """Tool that was selected for a query, with its parameters, such as a `Selection`."""

    @property
    def query(self) -> str:
        """The query."""
        ...

    @property
    def item_type(self) -> str:
        """Item type of the query."""
        ...

    @property
    def site(self) -> str | None:
        """Site of the query, if any."""
        ...

    @property
    def tool(self) -> ToolEntry | None:
        """The selected tool."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters for its handler."""
        ...


@dataclass(frozen=True)
class HandlerRun:
    """Outcome of running a tool."""

    tool: ToolEntry
    """The tool that ran."""
    value: Any
    """Return value of its handler, or response of its endpoint."""
    duration: float
    """Duration, in seconds."""
    fell_back: bool = False
    """True if the fallback ran, because the selected tool could not start."""
    error: Exception | None = None
    """Reason why the selected tool could not start."""


class HandlerOptions(TypedDict, total=False):
    """Options of `run_handler`, for functions that call it."""

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
    deps: object
    run_context: RunContext[Any] | None


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
    deps: object = None,
    run_context: RunContext[Any] | None = None,
) -> HandlerRun:
    """Run a tool.

    The handler is the one registered in Python; or else the class or function that the tool's
    dotted path names; or else, with ``method="url"``, the endpoint at its path. Parameters are
    validated first, and repaired like the arguments of calls in replies.

    If the tool cannot start, the fallback runs and the returned record has the reason. A tool
    cannot start if its handler cannot be loaded, its parameters are invalid, or a constructor
    raises. After it has started, there is no fallback: its exceptions propagate.

    Functions and ``do()`` methods that are not async run in a thread, with the caller's context
    variables. Cancelling this coroutine cancels an async handler and waits for it.

    Args:
        registry: The registry of handlers and fallbacks.
        chosen: The selection, or a tool.
        parameters: Parameters for the handler; None for those of the selection.
        handler: The application's own object for handlers, such as NLWeb's handler of the query.
        allowed_handlers: Prefixes of dotted paths that may be imported; see `load_handler`.
        allowed_hosts: Hosts to which requests may be sent, as ``host`` or ``host:port``.
        base_url: Base of relative endpoint paths, which are resolved like links of a page at that
            URL; by default that of the registry.
        timeout: Time limit of the handler, in seconds; None for no limit.
        client: HTTP client for endpoints; None for a new client for each request.
        max_response_bytes: Maximum size of an endpoint's response.
        fallback: Tool to run if the selected one cannot start: a tool, or the name of a tool of
            the selection's type, or else of the tool's type; None for no fallback.
        fallback_parameters: Parameters for the fallback, passed on without repair. If None, the
            query of the selection, as ``search_query`` or ``query``.
        on_start: Function that is called with the tool just before its handler starts. Use it to
            cancel work that only the fallback needs.
        on_question: Function that answers `ToolContext.ask` of a handler that is a `Tool`; it may
            be async. Without it, such a question fails at once.
        deps: Dependencies for the `ToolContext` of the handler, if it takes one.
        run_context: Context of the run that the tool belongs to, instead of `deps`.

    Raises:
        HandlerError: The handler cannot be loaded, and no fallback can start.
        ValidationError: The parameters are invalid, and no fallback can start.
        TimeoutError: The handler timed out.
        ToolServerError: The endpoint cannot be reached, or its response is an error or invalid.
        ToolFailed: The handler is a `Tool` that failed; the text has the reason.
        LookupError: The selection has no tool.
        TypeError: `allowed_handlers` or `allowed_hosts` is a single string.
        Exception: The handler raised. Its exception propagates unchanged.
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
    check_type("run_context", run_context, RunContext, "a RunContext", none=True)
    handlers = check_strings(allowed_handlers, "allowed_handlers")
    hosts = check_strings(allowed_hosts, "allowed_hosts")
    if run_context is None:
        run_context = RunContext(deps)
    entry = chosen if isinstance(chosen, ToolEntry) else chosen.tool
    if entry is None:
        raise LookupError("the selection has no tool, so there is nothing to run")
    if parameters is None:
        parameters = {} if isinstance(chosen, ToolEntry) else chosen.parameters

    def prepare(entry: ToolEntry, parameters: dict[str, Any]) -> PreparedHandler:
        found = find_handler(
            registry,
            entry,
            allowed_handlers=handlers,
            allowed_hosts=hosts,
            base_url=base_url,
        )
        if isinstance(found, RemoteEndpoint):
            return functools.partial(
                found.post, parameters, max_bytes=max_response_bytes, client=client
            )
        return prepare_handler(
            registry, found, entry, parameters, handler, on_question, run_context
        )

    error: Exception | None = None
    running = entry
    try:
        start = prepare(entry, repair_parameters(entry, parameters))
    except Exception as failed:
        _log.warning(
            "a tool cannot start", exc_info=failed, extra={"tool": entry.name, "type": entry.type}
        )
        replacement = _fallback(registry, chosen, entry, fallback)
        if replacement is None:
            raise
        if fallback_parameters is None:
            fallback_parameters = _query_parameters(replacement, chosen)
        try:
            start = prepare(replacement, dict(fallback_parameters))
        except Exception as worse:
            raise failed from worse
        error, running = failed, replacement
    if on_start is not None:
        on_start(running)
    value = await run_with_timeout(timeout, start(), running.name)
    duration = time.monotonic() - began
    _log.info(
        "a tool ran",
        extra={"tool": running.name, "fell_back": error is not None, "duration": duration},
    )
    return HandlerRun(running, value, duration, error is not None, error)


def repair_parameters(entry: ToolEntry, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters, repaired where they violate the tool's structure.

    They are repaired like replies of models: ``"3"`` becomes an integer if one is expected, and
    parameters that the structure does not contain are dropped. Missing values are never invented.
    Without a structure, the parameters are unchanged.

    Args:
        entry: The tool.
        parameters: The parameters. They are not modified.

    Returns:
        A new dict.

    Raises:
        ValidationError: The parameters are invalid and cannot be repaired.
        TypeError: The tool has a structure, and a parameter is not a JSON value.
        ValueError: The parameters are nested deeper than 128 levels.
    """
    if not isinstance(entry.return_struc, dict):
        return dict(parameters)
    validator = Validator(entry.parameters)
    if validator.is_valid(parameters):
        return dict(parameters)
    # The reader expects a reply, which has a score as well.
    reading = entry.reader.read({"score": 0, **parameters})
    if reading.error is not None:
        raise ValidationError(
            f"the parameters do not fit tool {entry.name!r}: {reading.error}",
            validator.iter_errors(parameters),
        )
    return reading.parameters


async def run_with_timeout(
    seconds: float | None, work: Coroutine[Any, Any, T], name: str, *, grace: float = GRACE
) -> T:
    """Run a handler in its own task with a timeout.

    On cancellation, the handler is cancelled, and this waits until it has ended.

    Args:
        seconds: The timeout, in seconds; None for no limit.
        work: The coroutine of the handler.
        name: The tool.
        grace: Time that the cancelled handler gets to end, in seconds, before it is abandoned.

    Raises:
        TimeoutError: The handler timed out.
        RuntimeError: The handler cancelled itself.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    except asyncio.CancelledError:
        await _stop(task, name, grace)
        raise
    if not task.done():
        await _stop(task, name, grace)
        raise TimeoutError(
            f"the handler of tool {name!r} did not finish within {seconds:g} seconds"
            " and was stopped"
        )
    if task.cancelled():
        # A CancelledError would look like a cancellation of the caller.
        raise RuntimeError(f"the handler of tool {name!r} cancelled itself")
    return task.result()


async def _stop(task: asyncio.Task[Any], name: str, grace: float) -> None:
    if not await cancel_within(task, grace):
        _log.warning("a handler does not end though it was cancelled", extra={"tool": name})


def _fallback(
    registry: HandlerSource,
    chosen: SelectedTool | ToolEntry,
    entry: ToolEntry,
    fallback: str | ToolEntry | None,
) -> ToolEntry | None:
    """Return the fallback tool, unless it is the tool that cannot start."""
    if isinstance(fallback, str):
        name = fallback
        kind = chosen.type if isinstance(chosen, ToolEntry) else chosen.item_type
        found = registry.tools_for(kind, chosen.site)
        fallback = next((each for each in found if each.name == name), None)
    if fallback is None or fallback.name == entry.name:
        return None
    return fallback


def _query_parameters(entry: ToolEntry, chosen: SelectedTool | ToolEntry) -> dict[str, Any]:
    """Return parameters for a fallback: the query, under the name that its schema uses."""
    if isinstance(chosen, ToolEntry):
        return {}
    properties: Mapping[str, Any] = entry.parameters.get("properties") or {}
    name = next((each for each in ("search_query", "query") if each in properties), "query")
    return {name: chosen.query}
