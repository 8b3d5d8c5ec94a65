"""Types of costs: read by mypy and pyright, never run."""

from __future__ import annotations

from decimal import Decimal

from typing_extensions import assert_type

from toolweave import (
    Budget,
    Cost,
    CostDelta,
    CostMeter,
    Price,
    PriceTable,
    TextMessage,
    UsageMessage,
    UsageUpdate,
    estimate_tokens,
)


def metering() -> None:
    prices = PriceTable({"a": Price("2.5", 10, cached_input=1.25), "b": {"input": 1, "output": 2}})
    assert_type(prices["a"], Price)
    assert_type(prices["a"].input, Decimal)
    assert_type(prices.find("a"), str | None)
    meter = CostMeter(prices, start=Cost())
    assert_type(meter.add("a", UsageUpdate(1, 2)), CostDelta)
    assert_type(meter.add("a", UsageMessage(1, 2), provider="openai").cost, Decimal | None)
    assert_type(meter.total, Cost)
    assert_type(meter.total + Cost(), Cost)
    assert_type(Budget(1, "conversation").exceeded(meter.total), bool)
    assert_type(estimate_tokens([TextMessage("Hi!"), "and you?"]), int)

    Budget(1, "run")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    meter.add("a", 17)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Price([1], 2)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
