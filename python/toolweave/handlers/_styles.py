"""Preparation of handlers of each style: classes, functions and tools.

Example:
    >>> def compare(item1_name, item2_name, handler): ...
    >>> def details(params, handler): ...
    >>> class Substitution:
    ...     def __init__(self, params, handler): ...
    ...     async def do(self): ...
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from .._core import ToolCall
from ..exceptions import HandlerError, ToolDefinitionError, ToolFailed
from ..executor import ToolExecutor, ToolQuestion
from ..executor._invocation import call
from ..tools import Tool
from ..tools._function import is_tool
from ..tools._names import valid_tool_name
from ..tools._signature import Signature

if TYPE_CHECKING:
    from .._core import ToolEntry, ToolResult
    from ..tools import RunContext
    from ..tools._function import AnyTool

QuestionHandler: TypeAlias = Callable[[ToolQuestion], object]
"""Function that answers the question of a tool. It returns the answer, or an awaitable of it."""

PreparedHandler: TypeAlias = Callable[[], Coroutine[Any, Any, Any]]
"""Function that starts a prepared handler. Only the handler's constructor has run before."""


def prepare_handler(
    registry: object,
    target: object,
    entry: ToolEntry,
    parameters: dict[str, Any],
    handler: object,
    on_question: QuestionHandler | None = None,
    run_context: RunContext[Any] | None = None,
) -> PreparedHandler:
    """Prepare a handler so that it can be started.

    - A class is constructed as ``Handler(params, handler)`` and run with ``do()``.
    - A function gets the parameters of the tool by name, a dict of all of them as ``params``, and
      the application's object as ``handler``. A function of two arguments with other names is
      called with the same arguments as a class.
    - A function with a parameter of the type `ToolContext` gets a context as well.
    - A `Tool` is run by an executor. The application's object is in the ``metadata`` of its
      context, as ``handler``.

    Args:
        registry: The registry that the handler belongs to.
        target: The handler.
        entry: The tool that it serves.
        parameters: The validated parameters.
        handler: The application's object: in NLWeb, the one that serves the query.
        on_question: Function that answers the questions of a `Tool`.
        run_context: Context of the run that the tool belongs to, for a `ToolContext`.

    Raises:
        HandlerError: The handler is of another type, or requires an argument that is missing.
        Exception: The handler's constructor raised.
    """
    if is_tool(target):
        run = functools.partial(_run_call, on_question=on_question, context=run_context)
        return functools.partial(_run_tool, registry, target, parameters, handler, run)
    if inspect.isclass(target):
        if not callable(getattr(target, "do", None)):
            raise _handler_error(
                entry, f"its handler, the class {target.__qualname__}, has no method do()"
            )
        build = cast("Callable[..., Any]", target)
        return functools.partial(call, build(parameters, handler).do)
    if not callable(target):
        raise _handler_error(
            entry,
            "its handler must be a class with a method do(), a function or a Tool, got "
            f"{type(target).__name__}",
        )
    if inspect.isasyncgenfunction(target):
        raise _handler_error(entry, "its handler is an async generator; decorate it with @tool")
    context = _context_parameter(target, entry)
    args, kwargs = _arguments(target, entry, parameters, handler, context)
    start = functools.partial(target, *args, **kwargs)
    if context is None:
        return functools.partial(call, start)
    run = functools.partial(_run_call, on_question=on_question, context=run_context)
    return functools.partial(_run_with_context, start, entry, handler, run)


def _handler_error(entry: ToolEntry, reason: str) -> HandlerError:
    return HandlerError(f"tool {entry.name!r} cannot run: {reason}", entry.handler or "")


def _context_parameter(function: Callable[..., Any], entry: ToolEntry) -> str | None:
    """Return the name of the parameter of a function that gets the `ToolContext`, if any."""
    try:
        return Signature(function, entry.name).resolve(lenient=True).context
    except ToolDefinitionError:
        # Such as a function written in C, or with positional-only parameters.
        return None


def _arguments(
    function: Callable[..., Any],
    entry: ToolEntry,
    parameters: dict[str, Any],
    handler: object,
    context: str | None,
) -> tuple[list[Any], dict[str, Any]]:
    """Return the positional and keyword arguments for a function."""
    try:
        taken = dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        # Some functions written in C have no signature.
        return [parameters, handler], {}
    if context is not None:
        del taken[context]
    properties: Mapping[str, Any] = entry.parameters.get("properties") or {}
    known: set[str] = {*properties, *parameters}
    needed = [name for name, each in taken.items() if _is_required(each)]
    if len(needed) == 2 and known.isdisjoint(needed) and not {"params", "handler"} >= {*needed}:
        return [parameters, handler], {}
    given = {"params": parameters, "handler": handler, **parameters}
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, each in taken.items():
        if each.kind is each.VAR_KEYWORD:
            kwargs.update((key, value) for key, value in parameters.items() if key not in taken)
        elif each.kind is each.VAR_POSITIONAL:
            continue
        elif name not in given or (name in properties and name not in parameters):
            if _is_required(each):
                raise _handler_error(
                    entry, f"its handler needs {name!r}, which the model has not given"
                )
        elif each.kind is each.POSITIONAL_ONLY:
            args.append(given[name])
        else:
            kwargs[name] = given[name]
    return args, kwargs


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )


# The application's object of the current run.
_handler: contextvars.ContextVar[object] = contextvars.ContextVar("toolweave_handler", default=None)


class _HandlerMetadata(Mapping[str, Any]):
    """Metadata of tools that looks up the handler of the current run; runs share an executor."""

    def __getitem__(self, key: str) -> Any:
        if key != "handler":
            raise KeyError(key)
        return _handler.get()

    def __iter__(self) -> Iterator[str]:
        return iter(("handler",))

    def __len__(self) -> int:
        return 1


class _ExecutorCache(threading.local):
    """Executors by registry and tool, so that limits and caches apply across runs.

    The cache is per thread, since an executor serves one event loop at a time.
    """

    def __init__(self) -> None:
        self.executors: weakref.WeakKeyDictionary[object, dict[AnyTool, ToolExecutor]] = (
            weakref.WeakKeyDictionary()
        )


_executor_cache = _ExecutorCache()


async def _run_tool(
    registry: object,
    tool: AnyTool,
    parameters: dict[str, Any],
    handler: object,
    run: Callable[[ToolExecutor, ToolCall], Awaitable[ToolResult]],
) -> Any:
    executors = _executor_cache.executors.setdefault(registry, {})
    executor = executors.get(tool)
    if executor is None:
        executor = executors[tool] = ToolExecutor([tool], metadata=_HandlerMetadata())
    token = _handler.set(handler)
    try:
        result = await run(executor, ToolCall("call_0", tool.name, parameters))
    finally:
        _handler.reset(token)
    if result.is_error:
        raise ToolFailed(result.result)
    return result.value


async def _run_with_context(
    start: functools.partial[Any],
    entry: ToolEntry,
    handler: object,
    run: Callable[[ToolExecutor, ToolCall], Awaitable[ToolResult]],
) -> Any:
    """Run a function that has all arguments except for its context."""
    name = valid_tool_name(entry.name, "", ())
    tool = Tool.from_schema(name, {}, start)
    executor = ToolExecutor([tool], timeout=None, metadata={"handler": handler})
    result = await run(executor, ToolCall("call_0", name, {}))
    if result.exception is not None:
        raise result.exception
    if result.is_error:
        raise ToolFailed(result.result)
    return result.value


async def _run_call(
    executor: ToolExecutor,
    call: ToolCall,
    *,
    on_question: QuestionHandler | None,
    context: RunContext[Any] | None,
) -> ToolResult:
    """Run a call and answer its tool's questions; without `on_question`, they fail at once.

    Raises:
        ToolFailed: The tool deferred its result.
    """
    async with executor.open(context=context) as run:
        run.submit(call)
        run.close()
        async for event in run:
            if isinstance(event, ToolQuestion):
                await _answer(executor, event, call.name, on_question)
        aggregate = await run.wait()
    if not aggregate.tool_results:
        raise ToolFailed(f"Tool {call.name!r} deferred its result, which is not supported here.")
    return aggregate.tool_results[0]


async def _answer(
    executor: ToolExecutor, question: ToolQuestion, name: str, on_question: QuestionHandler | None
) -> None:
    if on_question is None:
        message = (
            f"Tool {name!r} asks {question.question!r}, but no on_question was passed to "
            "run_handler to answer it"
        )
        executor.resolve(question.key, message, is_error=True)
        return
    executor.resolve(question.key, await call(functools.partial(on_question, question)))
