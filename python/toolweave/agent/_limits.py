"""Limits of use, and the usage of a run with all the runs inside it."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, cast

from .._aio.tasks import wait_until_done
from .._checks import check_count
from .._core import UsageUpdate
from ..costs import PriceTable, estimate_tokens
from ..costs._spending import Spending, current_meter
from ..kinds import StopReason
from ..models._requests import is_large
from ..natural._usage import is_slow_to_estimate, usage_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._messages import Message
    from ..costs import Budget, Cost, Usage
    from ..natural import ReplyRun
    from ..protocols import ChatModel


@dataclass(frozen=True, kw_only=True)
class UsageLimits:
    """Limits of the use of models in a run, including the runs inside it; None for no limit.

    Requests and calls are counted before they start, so their limits are never exceeded. The
    tokens of a request are known only when it has ended: no request is sent once a limit is
    reached, and no call of a reply that exceeds one is run. Requests in flight count with the
    estimated tokens of their prompt and one token of output, so that of two concurrent requests
    for the last token one is refused.

    Example:
        >>> UsageLimits(requests=5, total_tokens=20_000)
        UsageLimits(requests=5, total_tokens=20000)

    Raises:
        ValueError: A limit is not an integer of at least 0.
    """

    requests: int | None = None
    """Maximum number of requests to models."""
    tool_calls: int | None = None
    """Maximum number of tool calls, valid or not. If the calls of a reply exceed it, none runs."""
    input_tokens: int | None = None
    """Maximum number of tokens of the prompts, including cached ones."""
    output_tokens: int | None = None
    """Maximum number of tokens of the replies."""
    total_tokens: int | None = None
    """Maximum number of tokens of prompts and replies."""

    def __post_init__(self) -> None:
        for each in fields(self):
            check_count(each.name, getattr(self, each.name), none=True)

    def __repr__(self) -> str:
        given = ((each.name, getattr(self, each.name)) for each in fields(self))
        return f"UsageLimits({', '.join(f'{name}={n}' for name, n in given if n is not None)})"

    @property
    def limit_tokens(self) -> bool:
        """True if a limit is about tokens."""
        return (self.input_tokens, self.output_tokens, self.total_tokens) != (None, None, None)


class LimitReached(NamedTuple):
    """The limit or the budget that ends a run."""

    reason: StopReason
    """The stop reason: ``usage_limit`` or ``budget``."""
    message: str
    """The limit, and what was used."""


@dataclass
class _Tokens:
    """Numbers of tokens, and what they cost at least."""

    inputs: int = 0
    outputs: int = 0
    cost: Decimal = Decimal(0)


class RunUsage:
    """Usage of a run, which counts in the runs around it as well.

    Thread-safe: a tool may run an agent on an event loop of another thread. A request is counted
    in all runs or, if a limit of one of them refuses it, in none.

    Args:
        limits: The limits of the run; None for no limits.
        prices: The prices of tokens; those of the run around it if not given.
        budget: The budget of the run; None for no limit.
        spending: The costs of the run, with prices and a budget of their own.
    """

    def __init__(
        self,
        limits: UsageLimits | None = None,
        *,
        prices: PriceTable | None = None,
        budget: Budget | None = None,
        spending: Spending | None = None,
    ) -> None:
        around = current_meter.get()
        outer = around if isinstance(around, RunUsage) else None
        if prices is None:
            prices = PriceTable({}) if outer is None else outer.spending.prices
        self._limits = UsageLimits() if limits is None else limits
        self._lock: threading.Lock = threading.Lock() if outer is None else outer._lock
        self._runs: tuple[RunUsage, ...] = (self,) if outer is None else (self, *outer._runs)
        self.depth = len(self._runs)
        """Number of runs that this one is inside of, and itself."""
        self.spending: Spending = Spending(prices, budget) if spending is None else spending
        """The costs and the budget."""
        self.requests = 0
        """Number of requests to models, those in flight included."""
        self.tool_calls = 0
        """Number of calls that models have made."""
        self._reported = [0, 0, 0]
        self._in_flight = _Tokens()

    @property
    def cost(self) -> Cost:
        """The cost of all requests that have ended."""
        return self.spending.total

    @property
    def reported(self) -> UsageUpdate:
        """The tokens of all requests that have ended, as far as providers report them."""
        return UsageUpdate(*self._reported)

    @property
    def holds_calls(self) -> bool:
        """True if calls have to wait for the end of their reply, since a limit may refuse them."""
        return any(
            run.spending.budget is not None
            or run._limits.tool_calls is not None
            or run._limits.limit_tokens
            for run in self._runs
        )

    async def start_request(
        self, model: ChatModel, prompt: Sequence[Message]
    ) -> RequestUsage | LimitReached:
        """Count a request that is about to be sent, unless a limit refuses it."""
        tokens = 0
        if self.holds_calls and is_large(prompt):
            tokens = await asyncio.to_thread(estimate_tokens, prompt)
        elif self.holds_calls:
            tokens = estimate_tokens(prompt)
        with self._lock:
            reached = next(self._refusals(), None)
            if reached is not None:
                return reached
            expected = [
                _Tokens(tokens, 1, run.spending.expected_cost(model, tokens)) for run in self._runs
            ]
            for run, each in zip(self._runs, expected, strict=True):
                run.requests += 1
                run._reserve(each, 1)
        return RequestUsage(self, model, expected)

    async def try_request(self, model: ChatModel, prompt: Sequence[Message]) -> RequestUsage | None:
        """Count a request that is about to be sent; None if a limit refuses it."""
        started = await self.start_request(model, prompt)
        return started if isinstance(started, RequestUsage) else None

    def start_calls(self, calls: int) -> LimitReached | None:
        """Count the calls of a reply, unless a limit refuses them."""
        with self._lock:
            for run in self._runs:
                limit = run._limits.tool_calls
                if limit is not None and run.tool_calls + calls > limit:
                    used = f"{run.tool_calls} of {limit} made, {calls} more in the reply"
                    return _limit_reached("tool_calls", used)
            exceeded = self._exceeded() if calls else None
            if exceeded is None:
                for run in self._runs:
                    run.tool_calls += calls
        return exceeded

    def exceeded(self) -> LimitReached | None:
        """Return the limit that the requests so far have exceeded, or None."""
        with self._lock:
            return self._exceeded()

    def close(self, request: RequestUsage, usage: Usage | None, *, estimated: bool) -> None:
        """Add the usage of a request that has ended."""
        with self._lock:
            for run, expected in zip(self._runs, request.expected, strict=True):
                run._reserve(expected, -1)
                if usage is None:
                    continue
                run.spending.add(request.model, usage, estimated=estimated)
                if not estimated:
                    run._reported[0] += usage.input_tokens
                    run._reported[1] += usage.output_tokens
                    run._reported[2] += usage.cached_input_tokens

    def _reserve(self, tokens: _Tokens, sign: int) -> None:
        self._in_flight.inputs += sign * tokens.inputs
        self._in_flight.outputs += sign * tokens.outputs
        self._in_flight.cost += sign * tokens.cost

    def _refusals(self) -> Iterator[LimitReached]:
        """Yield the limits that refuse another request."""
        for run in self._runs:
            limit = run._limits.requests
            if limit is not None and run.requests >= limit:
                yield _limit_reached("requests", f"{run.requests} of {limit} made")
            expected = run._in_flight
            for name, limit, used, in_flight in run._tokens():
                if used + in_flight >= limit:
                    shown = f"{used} of {limit} used"
                    shown += f", {in_flight} in flight" if in_flight else ""
                    yield _limit_reached(name, shown)
            error = run.spending.budget_error_with(expected.cost)
            if error is not None:
                yield LimitReached(StopReason.BUDGET, error)

    def _exceeded(self) -> LimitReached | None:
        for run in self._runs:
            for name, limit, used, _ in run._tokens():
                if used > limit:
                    return _limit_reached(name, f"{used} of {limit} used")
            error = run.spending.budget_error
            if error is not None:
                return LimitReached(StopReason.BUDGET, error)
        return None

    def _tokens(self) -> Iterator[tuple[str, int, int, int]]:
        """Yield the limits of tokens by name, each with the tokens used and those in flight."""
        total, expected = self.spending.total, self._in_flight
        inputs, outputs = total.input_tokens, total.output_tokens
        for name, used, in_flight in (
            ("input_tokens", inputs, expected.inputs),
            ("output_tokens", outputs, expected.outputs),
            ("total_tokens", inputs + outputs, expected.inputs + expected.outputs),
        ):
            limit = cast("int | None", getattr(self._limits, name))
            if limit is not None:
                yield name, limit, used, in_flight


class RequestUsage:
    """A counted request, whose usage is added when it has ended.

    Args:
        run: The usage of the run.
        model: The model, which may be replaced by the one that has answered.
        expected: The reserved tokens in each of the runs.
    """

    def __init__(self, run: RunUsage, model: ChatModel, expected: Sequence[_Tokens]) -> None:
        self._run = run
        self.model = model
        self.expected = expected
        self.is_open = True
        """True until the request has ended."""

    def close(self, usage: Usage, *, estimated: bool = False) -> None:
        """Add the usage of the request. Only the first call counts."""
        if self.is_open:
            self.is_open = False
            self._run.close(self, usage, estimated=estimated)

    async def close_with(self, reply: ReplyRun) -> None:
        """Add the usage of a reply, reported or estimated. Only the first call counts.

        If the caller is cancelled, the usage is added all the same.
        """
        cancellation: asyncio.CancelledError | None = None
        if not self.is_open:
            return
        if is_slow_to_estimate(reply):
            estimating = asyncio.ensure_future(asyncio.to_thread(usage_of, reply))
            cancellation = await wait_until_done(estimating)
            used = estimating.result()
        else:
            used = usage_of(reply)
        if used is None:
            self.abandon()
        else:
            self.close(used.usage, estimated=used.estimated)
        if cancellation is not None:
            raise cancellation

    def abandon(self) -> None:
        """End a request without usage, such as one that failed. Ignored after `close`."""
        if self.is_open:
            self.is_open = False
            self._run.close(self, None, estimated=False)


def _limit_reached(name: str, used: str) -> LimitReached:
    what = name.replace("_", " ")
    return LimitReached(StopReason.USAGE_LIMIT, f"Limit of {what} reached: {used}")
