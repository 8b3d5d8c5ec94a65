"""Tools with their effective options: a tool's own, or else the executor's defaults."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Literal

from .._aio.single_flight import ResultCache
from ..exceptions import ValidationError
from ..tools import RetryPolicy, Tool
from ._rate_limit import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from concurrent.futures import Executor

    from .._core import FunctionContract, ToolCall
    from ._defaults import Defaults


class Plan:
    """Effective options of one tool. Created once and read for every call."""

    def __init__(self, tool: Tool[..., Any], defaults: Defaults) -> None:
        self.tool = tool
        self.name: str = tool.name
        self.identity = f"{tool.name}#{next(_numbers)}"
        """Cache identity, which differs from that of a previous tool of the same name."""
        self.contract: FunctionContract = tool.contract
        self.function: Callable[..., Any] = tool.function
        self.blocking: Callable[..., Any] = tool.portable
        """Function to submit to a pool."""
        self.style: Literal["sync", "async", "generator"] = tool.style
        self.context_parameter: str | None = tool.context_parameter
        self._validate = None if tool.validator is None else tool.validator.validate
        self._bind: Callable[[Mapping[str, Any]], dict[str, Any]] = tool.bind

        self.timeout = _first_set(tool.timeout, defaults.timeout)
        self.idle_timeout = _first_set(tool.idle_timeout, defaults.idle_timeout)
        self.timed = self.timeout is not None or self.idle_timeout is not None
        self.retries = _retries(_first_set(tool.retries, defaults.retries))
        self.max_result_chars = _first_set(tool.max_result_chars, defaults.max_result_chars)
        self.partial_results: bool = tool.partial_results
        self.pool: Executor | Literal["inline"] | None = _first_set(tool.pool, defaults.pool)

        self.needs_approval: bool | Callable[[ToolCall], bool] = tool.requires_approval
        self.idempotent: bool = tool.idempotent
        self.ttl = _ttl(_first_set(tool.cache, defaults.cache))
        self.limit = limit = _first_set(tool.rate_limit, defaults.rate_limit)
        self.bucket = None if limit is None else TokenBucket(limit, defaults.clock)
        self.refuses = limit is not None and limit.on_limit == "refuse"
        self.max_concurrency: int | None = tool.max_concurrency
        self.key = _key(tool.concurrency_key)
        self.sequential: bool = tool.sequential
        self.after: tuple[str, ...] = tool.after
        self.ordered = self.sequential or bool(self.after)
        """True if the start of a call depends on other calls of its reply."""
        self.limited = self.ordered or self.max_concurrency is not None or self.key is not None
        """True if calls of the tool must be queued for limits of their own."""
        self.shares = self.idempotent or self.ttl is not None
        """True if identical calls can share a result."""
        self.direct = not (self.needs_approval or self.shares)
        """True if a call can start as soon as the scheduler admits it."""

    def prepare_call(self, call: ToolCall) -> dict[str, Any] | None:
        """Return the keyword arguments for a call; None if validating them would take long.

        Raises:
            ValidationError: As `prepare_arguments`.
        """
        if len(call.raw) > _LONG_ARGUMENTS:
            return None
        return self.prepare_arguments(call.arguments)

    def prepare_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Validate arguments and return the keyword arguments of the function.

        Raises:
            ValidationError: The arguments violate the schema or the types of the function.
        """
        if self._validate is not None:
            try:
                self._validate(arguments)
            except ValidationError as error:
                raise ValidationError(
                    str(error), self.tool.violations(arguments, error.violations)
                ) from None
        return self._bind(arguments)


class Plans(dict[str, Plan]):
    """Plans of the tools of a reply, by name.

    Args:
        tools: The tools.
        defaults: Options for tools that do not set their own.
        before: Plans of the previous reply. Tools that are still there keep their plans. A
            tool with other options keeps its rate limit, if that is the same, and its cache.
    """

    def __init__(
        self, tools: Iterable[Tool[..., Any]], defaults: Defaults, before: Iterable[Plan] = ()
    ) -> None:
        earlier = {plan.name: plan for plan in before}
        super().__init__(
            (tool.name, _plan(tool, defaults, earlier.get(tool.name))) for tool in tools
        )
        self.ordered = any(plan.ordered for plan in self.values())
        """True if any tool constrains the order of calls."""


def _plan(tool: Tool[..., Any], defaults: Defaults, before: Plan | None) -> Plan:
    if before is not None and before.tool is tool:
        return before
    plan = Plan(tool, defaults)
    if before is not None and before.function is plan.function:
        plan.identity = before.identity
        if before.limit == plan.limit:
            plan.bucket = before.bucket
    return plan


_numbers = itertools.count()

_LONG_ARGUMENTS = 65_536


def has_long_arguments(call: ToolCall) -> bool:
    """Return True if validating the arguments takes longer than starting a thread."""
    return len(call.raw) > _LONG_ARGUMENTS


def _first_set(own: Any, default: Any) -> Any:
    return default if own is None else own


def _retries(retries: int | RetryPolicy | None) -> RetryPolicy | None:
    if isinstance(retries, RetryPolicy):
        return retries if retries.attempts > 1 else None
    return RetryPolicy(retries + 1) if retries else None


def _ttl(cache: bool | float | None) -> float | None:
    """Return how long results are cached, in seconds; None for no caching."""
    if cache is None or cache is False:
        return None
    return float("inf") if cache is True else float(cache)


def _key(
    key: str | Callable[[Mapping[str, Any]], Hashable] | None,
) -> Callable[[Mapping[str, Any]], Hashable] | None:
    if not isinstance(key, str):
        return key

    def argument(arguments: Mapping[str, Any]) -> Hashable:
        return key, ResultCache.key("", {key: arguments.get(key)})

    return argument
