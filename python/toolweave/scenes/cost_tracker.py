"""What a run has used and spent, and which step tells of it."""

from __future__ import annotations

import functools
import logging
from typing import TYPE_CHECKING, Any

from .._core import TextMessage, ToolAggregateMessage
from ..costs import Cost, CostMeter, estimate_usage
from ..costs.amounts import plus
from ..kinds import FinishReason
from .options import model_identity

if TYPE_CHECKING:
    from decimal import Decimal

    from ..costs import Budget, PriceTable, Usage
    from ..natural import ReplyRun
    from ..protocols import ChatModel

_log = logging.getLogger("toolweave.scenes")


class CostTracker:
    """Charges replies, and hands what they cost to the next step.

    Args:
        prices: What tokens cost.
        budget: How much may be spent.
    """

    def __init__(self, prices: PriceTable, budget: Budget | None) -> None:
        self._meter = CostMeter(prices)
        self._budget = budget
        self.before = Cost(currency=prices.currency)
        """What the conversation has cost before."""
        self._unpriced: str | None = None
        self._unreported = _NOTHING
        self._reported_totals: dict[str, Any] = {}
        self.requests = 0
        """How often a model was asked."""

    @property
    def total(self) -> Cost:
        """What the run has spent."""
        return self._meter.total

    @property
    def conversation_total(self) -> Cost:
        """What the conversation has cost, this run included."""
        return self.before + self._meter.total

    @property
    def budget_error(self) -> str | None:
        """What to say if more is spent than the budget allows, or nobody knows whether it is."""
        budget = self._budget
        if budget is None:
            return None
        if self._unpriced is not None:
            return (
                f"Budget of {budget.limit:f} {self.total.currency} cannot hold: "
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
        """Charges a reply for what the provider says, or for an estimate where it says nothing.

        Args:
            model: Who has answered.
            reply: What it has said, as far as it came.
        """
        used = reply.usage
        if used is not None:
            self.add(model, used)
        elif reply.finish_reason is not FinishReason.MISSING or reply.messages or reply.calls:
            self.add(model, _estimated(reply), estimated=True)

    def add(self, model: ChatModel, usage: Usage, *, estimated: bool = False) -> None:
        """Charges what a request has used.

        Args:
            model: Who has answered.
            usage: What it has used.
            estimated: Whether that is an estimate.
        """
        name, provider = model_identity(model)
        delta = self._meter.add(name, usage, provider=provider, estimated=estimated)
        if delta.cost is None and self._budget is not None:
            _log.warning("a model has no price, so no budget holds for it", extra={"model": name})
            if self._budget.unpriced == "refuse":
                self._unpriced = name
        self._unreported = _plus(
            self._unreported,
            (delta.cost, delta.input_tokens, delta.output_tokens, delta.estimated),
        )

    def tell(self) -> dict[str, Any]:
        """The fields of the next step, which takes what was charged since the last one."""
        cost, inputs, outputs, estimated = self._unreported
        self._unreported = _NOTHING
        total = self.total
        self._reported_totals = {
            "total_cost": total.amount,
            "total_input_tokens": total.input_tokens,
            "total_output_tokens": total.output_tokens,
        }
        return {
            "cost": cost,
            "input_tokens": inputs,
            "output_tokens": outputs,
            "estimated": estimated,
            **self._reported_totals,
        }

    def reported_totals(self) -> dict[str, Any]:
        """The totals of the last step: for one that belongs to a reply that may be over already."""
        return self._reported_totals


def _estimated(reply: ReplyRun) -> Usage:
    request = reply.request
    written = [each for each in reply.messages if not isinstance(each, ToolAggregateMessage)]
    # Calls are there before the message that they make with their results, which nobody wrote.
    called = [TextMessage(f"{call.name} {call.raw}") for call in reply.calls]
    return estimate_usage(request.messages, [*written, *called], tools=request.tools)


_Unreported = tuple["Decimal | None", int, int, bool]
_NOTHING: _Unreported = (None, 0, 0, False)


def _plus(one: _Unreported, other: _Unreported) -> _Unreported:
    costs = [cost for cost in (one[0], other[0]) if cost is not None]
    total = functools.reduce(plus, costs) if costs else None
    return total, one[1] + other[1], one[2] + other[2], one[3] or other[3]
