"""Costs that a budget limits, and the meter of the run that a request belongs to."""

from __future__ import annotations

import contextvars
import logging
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Protocol

from .._checks import check_type
from .._core import TextMessage
from ..exceptions import UnpricedModelError
from ..kinds import Role
from ..models._identity import identify
from ..models.fallback import FallbackModel
from ._amounts import plus
from ._estimate import estimate_usage
from ._meter import Budget, Cost, CostMeter
from ._prices import PriceTable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .._messages import Message
    from ..protocols import ChatModel
    from ._amounts import Number
    from ._meter import CostDelta, Usage
    from ._prices import Price

_log = logging.getLogger("toolweave.costs")


class Spending:
    """Costs of the requests of a run, and the budget that limits them.

    Args:
        prices: The prices of tokens.
        budget: The budget; None for no limit.
    """

    def __init__(self, prices: PriceTable, budget: Budget | None) -> None:
        self._meter = CostMeter(prices)
        self.budget = budget
        """The budget; None for no limit."""
        self.previous = Cost(currency=prices.currency)
        """The cost of the conversation before this run."""
        self._unpriced: str | None = None

    @property
    def prices(self) -> PriceTable:
        """The prices of tokens."""
        return self._meter.prices

    @property
    def total(self) -> Cost:
        """The cost of the run."""
        return self._meter.total

    @property
    def conversation_total(self) -> Cost:
        """The cost of the conversation, this run included."""
        return self.previous + self._meter.total

    @property
    def budget_error(self) -> str | None:
        """The error if the budget is exceeded or cannot be enforced; None otherwise."""
        return self.budget_error_with(Decimal(0))

    def budget_error_with(self, in_flight: Decimal) -> str | None:
        """Return the error if the budget is exceeded or cannot be enforced, or None.

        Args:
            in_flight: The least cost of requests whose usage is not known yet.
        """
        budget = self.budget
        if budget is None:
            return None
        currency = self.total.currency
        if self._unpriced is not None:
            return (
                f"Budget of {budget.limit:f} {currency} cannot be enforced: "
                f"the model {self._unpriced!r} has no price"
            )
        spent = self.conversation_total if budget.scope == "conversation" else self.total
        if not budget.exceeded(plus(spent.amount, in_flight)):
            return None
        error = (
            f"Budget of {budget.limit:f} {currency} exceeded: "
            f"{spent.amount:f} {currency} spent by the {budget.scope}"
        )
        return f"{error}, {in_flight:f} {currency} in flight" if in_flight else error

    def expected_cost(self, model: object, input_tokens: int) -> Decimal:
        """Return the least cost of a request; 0 for a model without a price."""
        name, provider, *_ = identify(model)
        found = self.prices.find(name, provider)
        return Decimal(0) if found is None else self.prices[found].cost(input_tokens, 0)

    def add(self, model: object, usage: Usage, *, estimated: bool = False) -> CostDelta:
        """Add the cost of a request, and return it.

        Args:
            model: The model that answered.
            usage: The tokens of the request.
            estimated: True if the usage is an estimate.
        """
        name, provider, *_ = identify(model)
        delta = self._meter.add(name, usage, provider=provider, estimated=estimated)
        if delta.cost is None and self.budget is not None:
            _log.warning(
                "a model has no price, so its cost does not count against the budget",
                extra={"model": name},
            )
            if self.budget.unpriced == "refuse":
                self._unpriced = name
        return delta


class MeteredRequest(Protocol):
    """A request that a meter counts."""

    def close(self, usage: Usage, *, estimated: bool = False) -> None:
        """Add the usage of the request. Only the first call counts."""
        ...

    def abandon(self) -> None:
        """End a request without usage, such as one that failed. Ignored after `close`."""
        ...


class RequestMeter(Protocol):
    """Counter of the requests of a run, which may refuse one."""

    async def try_request(
        self, model: ChatModel, prompt: Sequence[Message]
    ) -> MeteredRequest | None:
        """Count a request that is about to be sent; None if a limit refuses it."""
        ...


current_meter: contextvars.ContextVar[RequestMeter | None] = contextvars.ContextVar(
    "toolweave_request_meter", default=None
)
"""The meter of the current run; None outside of runs that count their requests."""


def close_request(
    request: MeteredRequest, prompt: Sequence[Message], reported: Usage | None, reply: str
) -> None:
    """Add the usage of a request, estimated if the provider did not report it.

    Args:
        request: The request.
        prompt: The messages that were sent.
        reported: The usage that the provider reported, if any.
        reply: The text of the reply; without a text, the request counts as failed.
    """
    if reported is not None:
        request.close(reported)
    elif reply:
        answer = TextMessage(reply, role=Role.ASSISTANT)
        request.close(estimate_usage(prompt, [answer]), estimated=True)
    else:
        request.abandon()


def prices_of(given: PriceTable | Mapping[str, Price] | None) -> PriceTable:
    """Return the table of prices.

    Raises:
        TypeError: The option is neither a table nor a mapping.
    """
    check_type("prices", given, (PriceTable, Mapping), "a PriceTable or a mapping", none=True)
    return given if isinstance(given, PriceTable) else PriceTable(given or {})


def budget_of(given: Budget | Number | None) -> Budget | None:
    """Return the budget; a number applies to each request.

    Raises:
        TypeError: The option is neither a budget nor a number.
    """
    wanted = "a Budget or a number"
    check_type("budget", given, (Budget, int, float, str, Decimal), wanted, none=True)
    return given if given is None or isinstance(given, Budget) else Budget(given)


def check_priced(models: Iterable[ChatModel], budget: Budget | None, prices: PriceTable) -> None:
    """Check that every model that can spend from a budget has a price.

    Raises:
        UnpricedModelError: A model has none, and the budget refuses such models.
    """
    if budget is None or budget.unpriced == "allow":
        return
    for model in models:
        if isinstance(model, FallbackModel):
            check_priced(model.models, budget, prices)
            continue
        name, provider, *_ = identify(model)
        try:
            prices.price_of(name, provider)
        except UnpricedModelError as error:
            raise UnpricedModelError(
                f"a budget of {budget.limit:f} {prices.currency} needs a price for each model: "
                f"{error}; pass prices, such as prices=published_prices(), or "
                f"Budget({str(budget.limit)!r}, unpriced='allow')",
                name,
            ) from None
