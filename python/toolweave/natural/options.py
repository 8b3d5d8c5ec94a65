"""Options by name: those of the executor, and with those of the parser those of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .._checks import check_known, check_type
from ..executor import ToolExecutor
from ..options import ParserOptions
from ..tools import Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Executor

    from ..executor import DeferredResults
    from ..executor.failure import ErrorDetail
    from ..executor.observers import AnyObserver
    from ..protocols import Approver
    from ..tools import RateLimit, RetryPolicy
    from ..tools.toolset import Handlers, ToolLike


class ExecutorOptions(TypedDict, total=False):
    """The options of an executor; see `ToolExecutor`."""

    max_concurrency: int | None
    """How many calls may run at once."""
    max_concurrency_per_chat: int | None
    """How many of these may be of one chat."""
    timeout: float | None
    """How long a call may take, in seconds."""
    idle_timeout: float | None
    """How long a call may go without reporting progress, in seconds."""
    retries: int | RetryPolicy
    """How often a call that failed for a passing reason is tried again."""
    cache: bool | float | None
    """How long results are kept for calls with the same arguments, in seconds."""
    rate_limit: RateLimit | None
    """How often each tool may start."""
    max_result_chars: int | None
    """How much of a result the model reads, in characters."""
    error_detail: ErrorDetail
    """How much of an exception the model reads."""
    pool: Executor | Literal["inline"] | None
    """Where blocking tools run."""
    approver: Approver | None
    """Who decides on calls of tools that need approval."""
    approval_timeout: float | None
    """How long that may take, in seconds."""
    observer: AnyObserver | None
    """Who hears of every call."""
    deferred: DeferredResults | None
    """The results that come later."""
    metadata: Mapping[str, Any] | None
    """What tools find in their context."""
    max_call_depth: int
    """How deep tools may call tools."""
    cancel_grace: float
    """How long a tool may take to end once it is cancelled, in seconds."""
    clock: Callable[[], float] | None
    """The time in seconds, from any origin."""
    id_factory: Callable[[int], str] | None
    """Gives the id of the call at a position that has none."""


class ToolUseOptions(ParserOptions, ExecutorOptions, total=False):
    """The options of both halves; see `Parser` and `ToolExecutor`."""


_OF_PARSER = frozenset(ParserOptions.__annotations__)
_OF_EXECUTOR = frozenset(ExecutorOptions.__annotations__)


def split(options: ToolUseOptions) -> tuple[ParserOptions, ExecutorOptions]:
    """The options of each half.

    Raises:
        TypeError: One of them is an option of neither.
    """
    check_known(options, _OF_PARSER | _OF_EXECUTOR)
    of_parser: Any = {key: value for key, value in options.items() if key in _OF_PARSER}
    of_executor: Any = {key: value for key, value in options.items() if key in _OF_EXECUTOR}
    return of_parser, of_executor


def resolve_executor(
    tools: Iterable[ToolLike] | Toolset,
    handlers: Handlers | None,
    executor: ToolExecutor | None,
    options: ExecutorOptions,
) -> ToolExecutor:
    """The executor that is given, or one made of the tools and options.

    Raises:
        ContractError: Two tools share a name, or a definition is invalid.
        ToolDefinitionError: A tool has no function, or an unsuitable one.
        ValueError: There is an executor, and something that it has of its own besides.
    """
    check_type("executor", executor, ToolExecutor, "a ToolExecutor", none=True)
    check_known(options, _OF_EXECUTOR)
    if executor is None:
        return ToolExecutor(tools, handlers=handlers, **options)
    # An id factory also names the calls in the text.
    given = sorted(options.keys() - {"id_factory"})
    if handlers:
        given.insert(0, "handlers")
    if isinstance(tools, Toolset) or tuple(tools):
        given.insert(0, "tools")
    if given:
        raise ValueError(f"the executor has its own; leave out: {', '.join(given)}")
    return executor
