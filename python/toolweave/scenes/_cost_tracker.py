"""Usage and cost of a run, its budget, and the assignment of costs to steps."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any

from .._core import TextMessage, ToolAggregateMessage
from ..costs import Cost, CostMeter, estimate_usage
from ..costs._amounts import plus
from ..exceptions import UnpricedModelError
from ..kinds import FinishReason
from ..models.fallback import FallbackModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..costs import Budget, CostDelta, PriceTable, Usage
    from ..natural import ReplyRun
    from ..protocols import ChatModel

_log = logging.getLogger("toolweave.scenes")


class CostTracker:
    """Accumulated cost of replies, reported on the step after each reply.

    Args:
        prices: The prices of tokens.
        budget: The budget; None for no limit.
    """

    def __init__(self, prices: PriceTable, budget: Budget | None) -> None:
        self._meter = CostMeter(prices)
        self._budget = budget
        self.previous = Cost(currency=prices.currency)
        """The cost of the conversation before this run."""
        self._unpriced: str | None = None
        self._unreported: list[CostDelta] = []
        self.reported_totals: dict[str, Any] = {}
        """The totals of the last step, for a step of a reply that may have ended already."""
        self.requests = 0
        """Number of requests to models."""

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
        budget = self._budget
        if budget is None:
            return None
        if self._unpriced is not None:
            return (
                f"Budget of {budget.limit:f} {self.total.currency} cannot be enforced: "
                f"the model {self._unpriced!r} has no price"
            )
        spent = self.conversation_total if budget.scope == "conversation" else self.total
        if not budget.exceeded(spent):
            return None
        return (
            f"Budget of {budget.limit:f} {spent.currency} exceeded: "
            f"{spent.amount:f} {spent.currency} spent by the {budget.scope}"
        )

    def charge(self, model: ChatModel, reply: ReplyRun) -> None:
        """Add the cost of a reply, from the usage of the provider or an estimate.

        Args:
            model: The model that answered.
            reply: The reply; it may be incomplete.
        """
        used = reply.usage
        if used is not None:
            self.add(model, used)
        elif reply.finish_reason is not FinishReason.MISSING or reply.messages or reply.calls:
            self.add(model, _estimated(reply), estimated=True)

    def add(self, model: ChatModel, usage: Usage, *, estimated: bool = False) -> None:
        """Add the cost of a request.

        Args:
            model: The model that answered.
            usage: The tokens of the request.
            estimated: True if the usage is an estimate.
        """
        name, provider = _identity(model)
        delta = self._meter.add(name, usage, provider=provider, estimated=estimated)
        if delta.cost is None and self._budget is not None:
            _log.warning(
                "a model has no price, so its cost does not count against the budget",
                extra={"model": name},
            )
            if self._budget.unpriced == "refuse":
                self._unpriced = name
        self._unreported.append(delta)

    def take_unreported(self) -> dict[str, Any]:
        """Return the cost fields of the next step, and reset the amounts since the last one."""
        deltas, self._unreported = self._unreported, []
        costs = [delta.cost for delta in deltas if delta.cost is not None]
        total = self.total
        self.reported_totals = {
            "total_cost": total.amount,
            "total_input_tokens": total.input_tokens,
            "total_output_tokens": total.output_tokens,
        }
        return {
            "cost": functools.reduce(plus, costs) if costs else None,
            "input_tokens": sum(delta.input_tokens for delta in deltas),
            "output_tokens": sum(delta.output_tokens for delta in deltas),
            "estimated": any(delta.estimated for delta in deltas),
            **self.reported_totals,
        }


def check_priced(
    budget: Budget | None, prices: PriceTable, models: Iterable[ChatModel | None]
) -> None:
    """Check that each model that can spend from the budget has a price.

    Raises:
        UnpricedModelError: A model has no price, and the budget does not allow that.
    """
    if budget is None or budget.unpriced == "allow":
        return
    for model in models:
        if isinstance(model, FallbackModel):
            check_priced(budget, prices, model.models)
        elif model is not None:
            name, provider = _identity(model)
            try:
                prices.price_of(name, provider)
            except UnpricedModelError as error:
                raise UnpricedModelError(
                    f"a budget of {budget.limit:f} {prices.currency} needs a price for each model: "
                    f"{error}; pass prices, such as prices=published_prices(), or "
                    f"Budget({str(budget.limit)!r}, unpriced='allow')",
                    name,
                ) from None


def _identity(model: ChatModel) -> tuple[str, str | None]:
    """Return the name and the provider of a model."""
    return str(getattr(model, "name", type(model).__name__)), getattr(model, "provider", None)


def _estimated(reply: ReplyRun) -> Usage:
    request = reply.request
    written = [each for each in reply.messages if not isinstance(each, ToolAggregateMessage)]
    # The results in aggregate messages are not output of the model, so only the calls count.
    called = [TextMessage(f"{call.name} {call.raw}") for call in reply.calls]
    return estimate_usage(request.messages, [*written, *called], tools=request.tools)
