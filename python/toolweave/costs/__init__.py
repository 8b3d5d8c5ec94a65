"""Costs: prices of tokens, meters that add up costs, and budgets.

    >>> from toolweave import UsageUpdate
    >>> prices = PriceTable({"gpt-4o": Price("2.50", "10", cached_input="1.25")})
    >>> meter = CostMeter(prices)
    >>> delta = meter.add("gpt-4o-2024-08-06", UsageUpdate(1_000, 200, 800))
    >>> delta.cost, meter.total.amount
    (Decimal('0.0035'), Decimal('0.0035'))
    >>> Budget("0.003").exceeded(meter.total)
    True

All amounts are `Decimal`, never floats. A `CostMeter` adds up the usage of requests; the costs of
the deltas that it returns sum up exactly to its total. Cached input tokens are part of the input
tokens and are charged once. Tokens of a model without a price are counted, but their cost is None,
since unknown is not free; a budget refuses such models unless it has `unpriced="allow"`.
`published_prices` returns the prices of providers. `estimate_tokens` is for providers that do not
report usage.
"""

from __future__ import annotations

from .._public import claim_exports
from ._estimate import estimate_tokens, estimate_usage
from ._meter import Budget, Cost, CostDelta, CostMeter, Usage
from ._prices import Price, PriceTable
from ._published import PublishedPrices, published_prices

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

claim_exports(globals())
