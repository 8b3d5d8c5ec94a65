"""Options of tools: limits, retries, approval, caching."""

from __future__ import annotations

import math
import sys
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, cast

from ..exceptions import ToolDefinitionError

if TYPE_CHECKING:
    from .._core import ToolCall
    from .._options import HasContract
    from ._run_context import RunContext


@dataclass(frozen=True)
class RateLimit:
    """Rate limit of a tool: a burst of `calls` starts, then `calls` starts every `per` seconds.

    Raises:
        ValueError: A value is out of range.
    """

    calls: int
    """Number of calls, at least 1."""
    per: float = 1.0
    """Period, in seconds."""
    _: KW_ONLY
    on_limit: Literal["wait", "refuse"] = "wait"
    """Behavior at the limit: a call waits, or fails with ``rate_limited``."""

    def __post_init__(self) -> None:
        if not _is_count(self.calls) or self.calls < 1:
            raise ValueError(f"calls must be an integer of at least 1, got {self.calls!r}")
        if not _is_duration(self.per):
            raise ValueError(f"per must be a number of seconds above 0, got {self.per!r}")
        if self.on_limit not in ("wait", "refuse"):
            raise ValueError(f'on_limit must be "wait" or "refuse", got {self.on_limit!r}')


@dataclass(frozen=True)
class RetryPolicy:
    """Retries of calls that failed with a transient error, with exponential backoff.

    The delay before the second attempt is `initial` seconds. Each further delay is `multiplier`
    times as long, up to `maximum`. Jitter then changes each delay by up to that fraction of it.

    Raises:
        TypeError: `retry_on` is not a tuple of exception classes.
        ValueError: A number is out of range.
    """

    attempts: int
    """Maximum number of attempts, including the first."""
    _: KW_ONLY
    initial: float = 0.5
    """First delay, in seconds."""
    maximum: float = 30.0
    """Maximum delay, in seconds, before jitter."""
    multiplier: float = 2.0
    """Factor between consecutive delays, at least 1."""
    jitter: float = 0.1
    """Fraction by which a delay varies randomly, from 0 to 1."""
    retry_on: tuple[type[BaseException], ...] = (ConnectionError, TimeoutError)
    """Exceptions that are transient, in addition to `TransientToolError`."""

    def __post_init__(self) -> None:
        if not _is_count(self.attempts) or self.attempts < 1:
            raise ValueError(f"attempts must be an integer of at least 1, got {self.attempts!r}")
        for name in ("initial", "maximum"):
            if not _is_number(value := getattr(self, name)) or value < 0:
                raise ValueError(f"{name} must be a number of seconds, got {value!r}")
        if not _is_number(self.multiplier) or self.multiplier < 1:
            raise ValueError(f"multiplier must be a number of at least 1, got {self.multiplier!r}")
        if not _is_number(self.jitter) or not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter must be a number from 0 to 1, got {self.jitter!r}")
        if not _are_exceptions(self.retry_on):
            raise TypeError(f"retry_on must be a tuple of exception classes, got {self.retry_on!r}")


ConcurrencyKey: TypeAlias = "str | Callable[[Mapping[str, Any]], Hashable]"
"""Key of calls that must not run concurrently: an argument, or a function of the arguments."""

Pool: TypeAlias = 'Executor | Literal["inline"]'
"""Pool for a blocking function, or ``inline`` to run it on the event loop."""


Prepare: TypeAlias = (
    "Callable[[RunContext[Any]], bool | HasContract | Awaitable[bool | HasContract | None] | None]"
)
"""Function that decides if a tool is offered to the model; what has a contract is a `Tool`."""


class ToolOptions(TypedDict, total=False):
    """Options of a tool. For an option that is omitted or None, the executor's default applies.

    Each option is also an attribute of `Tool`.
    """

    timeout: float | None
    """Time limit of a call from its start, in seconds."""
    idle_timeout: float | None
    """Maximum time between progress reports of a call, in seconds."""
    retries: int | RetryPolicy | None
    """Number of retries after transient errors, or a policy."""
    max_concurrency: int | None
    """Maximum number of calls of the tool that run at once."""
    concurrency_key: ConcurrencyKey | None
    """Key of calls that run one at a time."""
    sequential: bool
    """If true, a call runs alone among the calls of its reply."""
    requires_approval: bool | Callable[[ToolCall], bool]
    """If true, an approver is asked before a call runs."""
    idempotent: bool
    """If true, identical calls that are in flight at the same time may share one run."""
    cache: bool | float | None
    """Time for which a result is reused for identical calls, in seconds; True for no expiry."""
    rate_limit: RateLimit | None
    """Rate limit of the tool."""
    max_result_chars: int | None
    """Maximum length of a result's text, in characters."""
    defer_loading: bool
    """If true, the tool is not described to the model until the model has searched for it.

    The model is offered ``find_tools`` instead, which finds such tools by keywords. A tool is
    described like any other as long as the history contains the search that found it, or a call of
    it. A call of a tool that was not found is validated and run as usual: this option saves tokens
    and does not restrict calls."""
    metadata: Mapping[str, Any] | None
    """Metadata for the application."""
    pool: Pool | None
    """Pool for a blocking function."""
    after: str | Sequence[str]
    """Tools whose calls in the same reply must have ended before a call starts."""
    partial_results: bool
    """If true, the last progress is the result text of a call that times out."""
    prepare: Prepare | None
    """Function that decides before each request if the tool is offered to the model.

    It gets the `RunContext` and returns True to offer the tool; None or False not to offer it; or
    a tool of the same name to offer that instead. It may be async; otherwise it runs in a thread.
    A call of a tool that the request did not offer is answered like that of an unknown tool."""


DEFAULTS: Mapping[str, Any] = {
    **dict.fromkeys(ToolOptions.__annotations__),
    "sequential": False,
    "requires_approval": False,
    "idempotent": False,
    "defer_loading": False,
    "after": (),
    "partial_results": False,
}


def checked(tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the given options of a tool, and return them with the defaults.

    Raises:
        TypeError: An option is unknown.
        ToolDefinitionError: An option has an invalid value.
    """
    for name in given:
        if name not in DEFAULTS:
            known = ", ".join(DEFAULTS)
            raise TypeError(f"tool {tool!r}: option must be one of {known}, got {name!r}")
    options: dict[str, Any] = {**DEFAULTS, **given}
    for name, value in given.items():
        if (wanted := _expected(name, value)) is not None:
            raise ToolDefinitionError(
                f"tool {tool!r}: {name} must be {wanted}, got {value!r}", tool
            )
    after = options["after"]
    options["after"] = (after,) if isinstance(after, str) else tuple(after)
    if tool in options["after"]:
        raise ToolDefinitionError(
            f"tool {tool!r}: after must name other tools, got the tool itself", tool
        )
    options["metadata"] = dict(options["metadata"] or {})
    if options["cache"] is False:
        options["cache"] = None
    return options


def check_pool(tool: str, pool: Pool | None, style: str, context: str | None) -> None:
    """Check that a function of this style, with or without a context, can run in a pool.

    Raises:
        ToolDefinitionError: The function cannot run in the pool.
    """
    if pool is None or pool == "inline":
        return
    if style != "sync":
        raise ToolDefinitionError(
            f"tool {tool!r}: pool must be left out for an async function, which runs on the event "
            "loop",
            tool,
        )
    if context is not None and _runs_in_other_process(pool):
        raise ToolDefinitionError(
            f"tool {tool!r}: parameter {context!r} is a ToolContext, which cannot be sent to "
            "another process; leave the parameter out, or run the tool in threads",
            tool,
        )


def _expected(name: str, value: object) -> str | None:
    """Return a description of valid values if the value of an option is invalid."""
    fine: bool
    match name:
        case "timeout" | "idle_timeout":
            fine, wanted = _is_duration(value), "a number of seconds above 0"
        case "retries":
            fine = isinstance(value, RetryPolicy) or _is_count(value)
            wanted = "an integer of at least 0 or a RetryPolicy"
        case "max_concurrency" | "max_result_chars":
            fine, wanted = _is_count(value) and value != 0, "an integer of at least 1"
        case "concurrency_key":
            fine = isinstance(value, str) or callable(value)
            wanted = "the name of an argument or a function of the arguments"
        case "requires_approval":
            fine = isinstance(value, bool) or callable(value)
            wanted = "True, False or a function of the call"
        case "cache":
            fine = isinstance(value, bool) or _is_duration(value)
            wanted = "True, False or a number of seconds above 0"
        case "rate_limit":
            fine, wanted = isinstance(value, RateLimit), "a RateLimit"
        case "metadata":
            fine, wanted = isinstance(value, Mapping), "a mapping"
        case "pool":
            fine = value == "inline" or isinstance(value, Executor)
            wanted = 'a concurrent.futures.Executor or "inline"'
        case "prepare":
            fine, wanted = callable(value), "a function of a RunContext"
        case "after":
            fine, wanted = _are_names(value), "the name of a tool or a list of names"
        case _:
            fine, wanted = isinstance(value, bool), "True or False"
    may_be_none = DEFAULTS[name] is None
    return None if fine or (may_be_none and value is None) else wanted


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_duration(value: Any) -> bool:
    return _is_number(value) and bool(value > 0)


def _are_exceptions(kinds: object) -> bool:
    return isinstance(kinds, tuple) and all(
        isinstance(kind, type) and issubclass(kind, BaseException)
        for kind in cast("tuple[object, ...]", kinds)
    )


def _are_names(value: object) -> bool:
    # Checking an iterator would consume it, and a set has no order.
    if not isinstance(value, (tuple, list)):
        return isinstance(value, str)
    return all(isinstance(name, str) for name in cast("Sequence[object]", value))


def _runs_in_other_process(pool: Executor) -> bool:
    """Return True if a pool is known to run functions in another process."""
    processes = sys.modules.get("concurrent.futures.process")
    if processes is not None and isinstance(pool, processes.ProcessPoolExecutor):
        return True
    return type(pool).__module__.partition(".")[0] == "distributed"
