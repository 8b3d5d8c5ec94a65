"""What can be asked of a tool beyond its function: limits, retries, approval, caching."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, cast

from ..exceptions import ToolDefinitionError

if TYPE_CHECKING:
    from .._core import ToolCall


@dataclass(frozen=True)
class RateLimit:
    """How often a tool may start: `calls` times at once, then as often in every `per` seconds.

    Raises:
        ValueError: There is no such rate.
    """

    calls: int
    """How many calls, at least 1."""
    per: float = 1.0
    """In how many seconds."""
    _: KW_ONLY
    on_limit: Literal["wait", "refuse"] = "wait"
    """What becomes of a call that is too early: it waits, or it fails as ``rate_limited``."""

    def __post_init__(self) -> None:
        if not _is_count(self.calls) or self.calls < 1:
            raise ValueError(f"calls is a whole number from 1, not {self.calls!r}")
        if not _is_duration(self.per):
            raise ValueError(f"per is a number of seconds above 0, not {self.per!r}")
        if self.on_limit not in ("wait", "refuse"):
            raise ValueError(f'on_limit is "wait" or "refuse", not {self.on_limit!r}')


@dataclass(frozen=True)
class RetryPolicy:
    """How often a call that failed for a passing reason is run again, and after which pauses.

    The pause before the second attempt is `initial` seconds. Each further one is `multiplier`
    times as long, up to `maximum`; each is then made longer or shorter by up to `jitter` of it.

    Raises:
        TypeError: `retry_on` holds something that is no class of exceptions.
        ValueError: A number is out of range.
    """

    attempts: int
    """How often the tool is started at most, the first time included."""
    _: KW_ONLY
    initial: float = 0.5
    """The first pause, in seconds."""
    maximum: float = 30.0
    """The longest pause, in seconds, before jitter."""
    multiplier: float = 2.0
    """By how much a pause is longer than the one before it, at least 1."""
    jitter: float = 0.1
    """The share of a pause that is left to chance, from 0 to 1."""
    retry_on: tuple[type[BaseException], ...] = (ConnectionError, TimeoutError)
    """What counts as passing, besides a `TransientToolError`."""

    def __post_init__(self) -> None:
        if not _is_count(self.attempts) or self.attempts < 1:
            raise ValueError(f"attempts is a whole number from 1, not {self.attempts!r}")
        for name in ("initial", "maximum"):
            if not _is_number(value := getattr(self, name)) or value < 0:
                raise ValueError(f"{name} is a number of seconds, not {value!r}")
        if not _is_number(self.multiplier) or self.multiplier < 1:
            raise ValueError(f"multiplier is a number from 1, not {self.multiplier!r}")
        if not _is_number(self.jitter) or not 0 <= self.jitter <= 1:
            raise ValueError(f"jitter is a number from 0 to 1, not {self.jitter!r}")
        if not _are_exceptions(self.retry_on):
            raise TypeError(f"retry_on is a tuple of classes of exceptions, not {self.retry_on!r}")


ConcurrencyKey: TypeAlias = "str | Callable[[Mapping[str, Any]], Hashable]"
"""What calls share that must not run at once: an argument, or a function of the arguments."""

Pool: TypeAlias = 'Executor | Literal["inline"]'
"""Where a blocking function runs: off the loop, or on it."""


class ToolOptions(TypedDict, total=False):
    """How a tool is run. What is left out or None is up to the executor.

    Each of them is an attribute of the same name of `Tool`.
    """

    timeout: float | None
    """How long a call may take, in seconds, from its start."""
    idle_timeout: float | None
    """How long a call may go without progress, in seconds."""
    retries: int | RetryPolicy | None
    """How often a call that failed for a passing reason is run again."""
    max_concurrency: int | None
    """How many calls of the tool run at once."""
    concurrency_key: ConcurrencyKey | None
    """Calls with the same key run one after another."""
    sequential: bool
    """Whether a call runs with no other call of the reply beside it."""
    requires_approval: bool | Callable[[ToolCall], bool]
    """Whether an approver is asked before a call runs."""
    idempotent: bool
    """Whether identical calls that are in flight at the same time may share one run."""
    cache: bool | float | None
    """For how many seconds a result answers identical calls; True is for ever."""
    rate_limit: RateLimit | None
    """How often a call may start."""
    max_result_chars: int | None
    """How long a result may be, in characters, before it is cut."""
    defer_loading: bool
    """Whether the model learns of the tool only when it looks for it.

    It is then not described to the model; ``find_tools`` is, which is offered as soon as there is
    such a tool, and finds them by keywords. From then on the tool is described as any other,
    wherever the history has the call that found it, or one of the tool itself. A call of a tool
    that was not found is validated and run all the same: this saves words, it forbids nothing."""
    metadata: Mapping[str, Any] | None
    """Anything that the application wants to know of the tool."""
    pool: Pool | None
    """Where a blocking function runs."""
    after: str | Sequence[str]
    """Tools whose calls in the same reply have to be over before this one starts."""
    partial_results: bool
    """Whether the last progress is the result of a call that takes too long."""


DEFAULTS: Mapping[str, Any] = {
    "timeout": None,
    "idle_timeout": None,
    "retries": None,
    "max_concurrency": None,
    "concurrency_key": None,
    "sequential": False,
    "requires_approval": False,
    "idempotent": False,
    "cache": None,
    "rate_limit": None,
    "max_result_chars": None,
    "defer_loading": False,
    "metadata": None,
    "pool": None,
    "after": (),
    "partial_results": False,
}


def checked(tool: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All options of a tool: those given, if they make sense, and the defaults.

    Raises:
        TypeError: There is no such option.
        ToolDefinitionError: An option has a value that it cannot have.
    """
    for name in given:
        if name not in DEFAULTS:
            known = ", ".join(DEFAULTS)
            raise TypeError(f"tool {tool!r}: there is no option {name!r}; there are {known}")
    options: dict[str, Any] = {**DEFAULTS, **given}
    for name, value in given.items():
        if (wanted := _expected(name, value)) is not None:
            raise ToolDefinitionError(f"tool {tool!r}: {name} is {wanted}, not {value!r}", tool)
    after = options["after"]
    options["after"] = (after,) if isinstance(after, str) else tuple(after)
    if tool in options["after"]:
        raise ToolDefinitionError(
            f"tool {tool!r}: after names the tool itself; it would wait for ever", tool
        )
    options["metadata"] = dict(options["metadata"] or {})
    if options["cache"] is False:
        options["cache"] = None
    return options


def check_pool(tool: str, pool: Pool | None, style: str, context: str | None) -> None:
    """Whether a function of this style, with or without a context, can run in a pool.

    Raises:
        ToolDefinitionError: It cannot.
    """
    if pool is None or pool == "inline":
        return
    if style != "sync":
        raise ToolDefinitionError(
            f"tool {tool!r}: pool is for functions that block, and this one is async: "
            "leave pool out, it runs on the event loop",
            tool,
        )
    if context is not None and _runs_in_other_process(pool):
        raise ToolDefinitionError(
            f"tool {tool!r}: parameter {context!r} is a ToolContext, which cannot be sent to "
            "another process: leave the parameter out, or run the tool in threads",
            tool,
        )


def _expected(name: str, value: object) -> str | None:
    """What an option should be, if it is not."""
    match name:
        case "timeout" | "idle_timeout":
            return _unless(value is None or _is_duration(value), "a number of seconds above 0")
        case "retries":
            fine = value is None or isinstance(value, RetryPolicy) or _is_count(value)
            return _unless(fine, "a whole number from 0 or a RetryPolicy")
        case "max_concurrency" | "max_result_chars":
            fine = value is None or (_is_count(value) and value != 0)
            return _unless(fine, "a whole number from 1")
        case "concurrency_key":
            fine = value is None or isinstance(value, str) or callable(value)
            return _unless(fine, "the name of an argument or a function of the arguments")
        case "requires_approval":
            fine = isinstance(value, bool) or callable(value)
            return _unless(fine, "True, False or a function of the call")
        case "cache":
            fine = value is None or isinstance(value, bool) or _is_duration(value)
            return _unless(fine, "True, False or a number of seconds above 0")
        case "rate_limit":
            return _unless(value is None or isinstance(value, RateLimit), "a RateLimit")
        case "metadata":
            return _unless(value is None or isinstance(value, Mapping), "a mapping")
        case "pool":
            fine = value is None or value == "inline" or isinstance(value, Executor)
            return _unless(fine, 'a concurrent.futures.Executor or "inline"')
        case "after":
            return _unless(_are_names(value), "the name of a tool or several of them")
        case _:
            return _unless(isinstance(value, bool), "True or False")


def _unless(fine: bool, wanted: str) -> str | None:
    return None if fine else wanted


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
    # An iterator would be used up by looking, and a set has no order.
    if not isinstance(value, (tuple, list)):
        return isinstance(value, str)
    return all(isinstance(name, str) for name in cast("Sequence[object]", value))


def _runs_in_other_process(pool: Executor) -> bool:
    """Whether a pool is known to run what it is given in another process."""
    processes = sys.modules.get("concurrent.futures.process")
    if processes is not None and isinstance(pool, processes.ProcessPoolExecutor):
        return True
    return type(pool).__module__.partition(".")[0] == "distributed"
