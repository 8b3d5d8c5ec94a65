"""Options of the executor, and of natural tool use as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

from .._checks import check_known, check_type
from .._options import ParserOptions
from ..executor import ToolExecutor
from ..models import as_model
from ..models._identity import identify
from ..profiles import Profile
from ..tools import Toolset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Executor

    from .._core import Dialect
    from ..executor import DeferredResults
    from ..executor._failure import ErrorDetail
    from ..executor._observers import AnyObserver
    from ..protocols import Approver, Model
    from ..tools import RateLimit, RetryPolicy
    from ..tools._toolset import Handlers, ToolLike


class ExecutorOptions(TypedDict, total=False):
    """Options of an executor; see `ToolExecutor`."""

    max_concurrency: int | None
    """Maximum number of concurrent calls."""
    max_concurrency_per_chat: int | None
    """Maximum number of concurrent calls of one chat."""
    timeout: float | None
    """Timeout of a call, in seconds."""
    idle_timeout: float | None
    """Maximum time between two progress reports of a call, in seconds."""
    retries: int | RetryPolicy
    """Number of retries of a call after transient errors, or the policy for them."""
    cache: bool | float | None
    """Lifetime of cached results of calls with equal arguments, in seconds."""
    rate_limit: RateLimit | None
    """Rate limit of each tool."""
    max_result_chars: int | None
    """Maximum length of a result that the model reads, in characters."""
    error_detail: ErrorDetail
    """Amount of detail of exceptions that the model reads."""
    pool: Executor | Literal["inline"] | None
    """Pool in which blocking tools run."""
    approver: Approver | None
    """Approver of calls of tools that need approval."""
    approval_timeout: float | None
    """Timeout of an approval, in seconds."""
    observer: AnyObserver | None
    """Observer of all calls."""
    deferred: DeferredResults | None
    """Registry of deferred results."""
    metadata: Mapping[str, Any] | None
    """Metadata in the context of tools."""
    max_call_depth: int
    """Maximum depth of calls made by tools."""
    cancel_grace: float
    """Seconds that a cancelled tool has to end."""
    clock: Callable[[], float] | None
    """Function that returns the time in seconds, from any origin."""
    id_factory: Callable[[int], str] | None
    """Function that returns the id of the call at a position, for calls without an id."""


class ToolUseOptions(ParserOptions, ExecutorOptions, total=False):
    """Options of both halves; see `Parser` and `ToolExecutor`."""


ToolMode: TypeAlias = Literal["natural", "native", "auto"]
"""Form of calls: in the text, in the provider's protocol, or in the protocol if supported."""

ProfileOption: TypeAlias = 'Profile | Literal["auto"] | None'
"""A profile; ``auto`` for the one that ships for the model, by its name; None for none."""

_PARSER_OPTIONS = frozenset(ParserOptions.__annotations__)
EXECUTOR_OPTIONS = frozenset(ExecutorOptions.__annotations__)
"""Names of the options of an executor."""


def check_options(options: ToolUseOptions, of: Callable[..., object]) -> None:
    """Raise if an option is unknown; see `check_known`."""
    check_known(options, _PARSER_OPTIONS | EXECUTOR_OPTIONS, of)


def split_options(
    options: ToolUseOptions, of: Callable[..., object]
) -> tuple[ParserOptions, ExecutorOptions]:
    """Split options of a function into those of the parser and those of the executor.

    Raises:
        TypeError: An option is unknown.
    """
    check_options(options, of)
    parser_options: Any = {key: value for key, value in options.items() if key in _PARSER_OPTIONS}
    executor_options: Any = {
        key: value for key, value in options.items() if key in EXECUTOR_OPTIONS
    }
    return parser_options, executor_options


def resolve_profile(
    profile: ProfileOption,
    tool_mode: ToolMode | None,
    model: Model,
    *,
    dialect: str | Dialect,
    template: str | None,
    default: ToolMode,
) -> tuple[Profile | None, ToolMode]:
    """Return the profile of a model, and the given mode, that of the profile, or the default.

    A profile that ships for the model is not used if the caller says more about the model: its
    dialect or its template. Where it prefers native calls, they are made if the model has them.

    Raises:
        TypeError: The profile is not a profile, or the model is not a model.
    """
    if profile != "auto":
        check_type("profile", profile, Profile, 'a Profile or "auto"', none=True)
        found = default if profile is None else profile.tool_mode
    elif dialect != "auto" or template is not None:
        profile, found = None, default
    else:
        profile = Profile.for_model(identify(as_model(model)).name)
        found = default
        if profile is not None:
            found = "auto" if profile.tool_mode == "native" else "natural"
    return profile, found if tool_mode is None else tool_mode


def resolve_executor(
    tools: Iterable[ToolLike] | Toolset,
    handlers: Handlers | None,
    executor: ToolExecutor | None,
    options: ExecutorOptions,
) -> ToolExecutor:
    """Return the given executor, or a new one with the tools and options.

    Raises:
        ContractError: Two tools share a name, or a definition is invalid.
        ToolDefinitionError: A tool has no function, or an unsuitable one.
        ValueError: An executor is given together with tools, handlers or options.
    """
    check_type("executor", executor, ToolExecutor, "a ToolExecutor", none=True)
    if executor is None:
        return ToolExecutor(tools, handlers=handlers, **options)
    # The id factory also applies to calls in the text.
    given = sorted(options.keys() - {"id_factory"})
    if handlers:
        given.insert(0, "handlers")
    if isinstance(tools, Toolset) or tuple(tools):
        given.insert(0, "tools")
    if given:
        raise ValueError(f"executor must not be combined with: {', '.join(given)}")
    return executor
