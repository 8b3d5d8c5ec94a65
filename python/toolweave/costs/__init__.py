"""Costs: what tokens cost, what a run has cost so far, and when that is too much.

    >>> from toolweave import UsageUpdate
    >>> prices = PriceTable({"gpt-4o": Price("2.50", "10", cached_input="1.25")})
    >>> meter = CostMeter(prices)
    >>> delta = meter.add("gpt-4o-2024-08-06", UsageUpdate(1_000, 200, 800))
    >>> delta.cost, meter.total.amount
    (Decimal('0.0035'), Decimal('0.0035'))
    >>> Budget("0.003").exceeded(meter.total)
    True

All amounts are `Decimal`, never floats. A `CostMeter` takes the usage of one request after another;
the deltas that it gives sum up to its total, to the last digit. Cached input tokens are part of the
input tokens and are charged once. The tokens of a model without a price are counted, and its cost
is None: unknown is not free, and a budget holds for priced models alone unless it says
`unpriced="allow"`. `published_prices` has what providers ask. `estimate_tokens` is for providers
that do not count.
"""

from __future__ import annotations

from .estimate import estimate_tokens, estimate_usage
from .meter import Budget, Cost, CostDelta, CostMeter, Usage
from .prices import Price, PriceTable
from .published import PublishedPrices, published_prices

__all__ = [
    "Budget",
    "Cost",
    "CostDelta",
    "CostMeter",
    "Price",
    "PriceTable",
    "PublishedPrices",
    "Usage",
    "estimate_tokens",
    "estimate_usage",
    "published_prices",
]
