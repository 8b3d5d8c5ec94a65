"""Costs: exact, charged once, and unknown without a price."""

from __future__ import annotations

import decimal
import json
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave import UsageMessage, UsageUpdate
from toolweave.costs import Budget, Cost, CostDelta, CostMeter, Price, PriceTable

amounts = st.decimals(0, 1_000, allow_nan=False, allow_infinity=False, places=8)
prices = st.builds(
    Price, amounts, amounts, st.none() | amounts, st.sampled_from([1, 3, 1_000, 1_000_000])
)
tokens = st.integers(0, 2**40)
usages = st.builds(UsageUpdate, tokens, tokens, tokens)
models = st.sampled_from(["a", "b", "b-mini", "unknown"])


def meter_of(
    table: PriceTable, requests: list[tuple[str, UsageUpdate]]
) -> tuple[CostMeter, list[CostDelta]]:
    meter = CostMeter(table)
    return meter, [meter.add(model, usage) for model, usage in requests]


@given(prices, prices, st.lists(st.tuples(models, usages), max_size=30))
def test_the_deltas_sum_up_to_the_total_exactly(
    one: Price, other: Price, requests: list[tuple[str, UsageUpdate]]
) -> None:
    meter, deltas = meter_of(PriceTable({"a": one, "b": other}), requests)
    known = [delta.cost for delta in deltas if delta.cost is not None]
    assert sum(known, Decimal(0)) == meter.total.amount
    assert not deltas or deltas[-1].total == meter.total.amount
    assert meter.total.requests == len(requests)
    assert meter.total.input_tokens == sum(delta.input_tokens for delta in deltas)


@given(prices, st.lists(usages, max_size=20), st.integers(0, 20))
def test_costs_of_parts_add_up_to_the_cost_of_the_whole(
    price: Price, requests: list[UsageUpdate], cut: int
) -> None:
    table = PriceTable({"a": price})
    whole, _ = meter_of(table, [("a", usage) for usage in requests])
    first, _ = meter_of(table, [("a", usage) for usage in requests[:cut]])
    rest = CostMeter(table, start=first.total)
    for usage in requests[cut:]:
        rest.add("a", usage)
    second, _ = meter_of(table, [("a", usage) for usage in requests[cut:]])
    assert rest.total == whole.total == first.total + second.total


@given(prices, usages)
def test_the_decimal_context_of_the_caller_has_no_effect(price: Price, usage: UsageUpdate) -> None:
    expected = CostMeter(PriceTable({"a": price})).add("a", usage)
    with decimal.localcontext() as context:
        context.prec = 1
        context.traps[decimal.Inexact] = True
        assert CostMeter(PriceTable({"a": price})).add("a", usage) == expected


@given(st.lists(usages, max_size=10))
def test_a_cost_is_the_same_after_json(requests: list[UsageUpdate]) -> None:
    table = PriceTable({"a": Price("0.1", "0.3", "0.07")})
    meter, _ = meter_of(table, [(["a", "x"][at % 2], usage) for at, usage in enumerate(requests)])
    assert Cost.from_dict(json.loads(json.dumps(meter.total.to_dict()))) == meter.total


@given(st.dictionaries(st.text(min_size=1), prices), st.sampled_from(["USD", "EUR"]))
def test_a_table_is_the_same_after_json(entries: dict[str, Price], currency: str) -> None:
    table = PriceTable(entries, currency)
    copy = PriceTable.from_json(json.dumps(table.to_dict()))
    assert (dict(copy), copy.currency) == (entries, currency)


def test_cached_tokens_are_part_of_the_input_and_are_charged_once() -> None:
    price = Price("2.50", "10", cached_input="1.25")
    assert price.cost(1_000_000, 0) == Decimal("2.50")
    assert price.cost(1_000_000, 0, 1_000_000) == Decimal("1.25")
    assert price.cost(1_000_000, 100_000, 400_000) == Decimal("1.5") + Decimal("0.5") + 1


def test_cached_tokens_cost_as_much_as_others_if_there_is_no_price_for_them() -> None:
    assert Price(3, 15).cost(1_000, 0, 900) == Price(3, 15).cost(1_000, 0)


def test_more_cached_tokens_than_there_are_tokens_are_not_charged() -> None:
    assert Price(2, 0, 1).cost(10, 0, 99) == Decimal("0.00001")
    delta = CostMeter(PriceTable({"m": Price(2, 0, 1)})).add("m", UsageUpdate(10, 0, 99))
    assert (delta.cached_input_tokens, delta.cost) == (10, Decimal("0.00001"))


def test_a_price_per_thousand_equals_one_per_million() -> None:
    assert Price("0.0025", "0.01", per=1_000).cost(123, 45) == Price("2.5", "10").cost(123, 45)


def test_a_float_is_taken_as_it_is_written() -> None:
    assert Price(0.1, 0.3) == Price("0.1", "0.3")
    assert PriceTable.from_json('{"prices": {"m": {"input": 0.1, "output": 3}}}')["m"] == Price(
        "0.1", "3"
    )


def test_a_model_without_a_price_is_counted_and_its_cost_is_unknown() -> None:
    meter = CostMeter(PriceTable({"known": Price(1, 1)}))
    delta = meter.add("other", UsageUpdate(1_000, 10))
    assert (delta.cost, delta.priced_as, delta.total) == (None, None, 0)
    meter.add("other", UsageUpdate(1, 1))
    meter.add("known", UsageUpdate(1_000_000, 0))
    assert meter.total == Cost(Decimal(1), "USD", 3, 1_001_001, 11, 0, False, ("other",))


def test_an_estimate_marks_the_delta_and_the_total() -> None:
    meter = CostMeter(PriceTable({"m": Price(1, 1)}))
    assert not meter.add("m", UsageUpdate(1, 1)).estimated
    assert not meter.total.estimated
    assert meter.add("m", UsageUpdate(1, 1), estimated=True).estimated
    assert meter.add("m", UsageUpdate(1, 1)).estimated is False
    assert meter.total.estimated


def test_the_usage_may_be_a_message() -> None:
    meter = CostMeter(PriceTable({"m": Price(1, 1)}))
    assert meter.add("m", UsageMessage(500_000, 500_000)).cost == 1


def test_amounts_are_written_without_exponents() -> None:
    meter = CostMeter(PriceTable({"m": Price("0.0001", 100_000)}))
    assert str(meter.add("m", UsageUpdate(1, 0)).cost) == "1E-10"
    assert meter.total.to_dict()["amount"] == "0.0000000001"
    meter.add("m", UsageUpdate(0, 1_000_000_000))
    assert meter.total.to_dict()["amount"] == "100000000.0000000001"


TABLE = PriceTable(
    {
        "gpt-4": Price(30, 60),
        "gpt-4o": Price("2.5", 10),
        "gpt-4o-mini": Price("0.15", "0.6"),
        "azure/gpt-4o": Price(3, 12),
        "claude-sonnet-4": Price(3, 15),
        "llama3": Price(0, 0),
    }
)


@pytest.mark.parametrize(
    ("model", "provider", "found"),
    [
        ("gpt-4o", None, "gpt-4o"),
        ("gpt-4o-2024-08-06", None, "gpt-4o"),
        ("gpt-4o-mini", None, "gpt-4o-mini"),
        ("gpt-4o-mini-2024-07-18", None, "gpt-4o-mini"),
        ("gpt-4-turbo", None, "gpt-4"),
        ("gpt-4.1", None, None),
        ("gpt-4omni", None, None),
        ("gpt", None, None),
        ("", None, None),
        ("openai/gpt-4o", None, "gpt-4o"),
        ("openrouter/openai/gpt-4o-mini", None, "gpt-4o-mini"),
        ("azure/gpt-4o", None, "azure/gpt-4o"),
        ("azure/gpt-4o-2024-08-06", None, "azure/gpt-4o"),
        ("gpt-4o", "azure", "azure/gpt-4o"),
        ("gpt-4o", "openai", "gpt-4o"),
        ("claude-sonnet-4@20250514", "anthropic", "claude-sonnet-4"),
        ("llama3:8b", None, "llama3"),
    ],
)
def test_a_model_is_found_by_its_name_or_a_prefix_of_it(
    model: str, provider: str | None, found: str | None
) -> None:
    assert TABLE.find(model, provider) == found
    delta = CostMeter(TABLE).add(model, UsageUpdate(1_000_000, 0), provider=provider)
    assert delta.priced_as == found
    assert delta.cost == (None if found is None else TABLE[found].input)


def test_a_budget_is_exceeded_by_more_than_its_limit() -> None:
    budget = Budget("0.50", scope="conversation")
    assert not budget.exceeded(Decimal("0.50"))
    assert budget.exceeded(Decimal("0.500000000001"))
    assert budget.exceeded(Cost(Decimal(1)))
    assert budget.remaining(Decimal("0.2")) == Decimal("0.3")
    assert budget.remaining(Decimal(1)) == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Price(-1, 0), "input must be from 0 to 1000000000000000, got -1"),
        (lambda: Price("two", 0), "input must be a number such as '2.50', got 'two'"),
        (lambda: Price(0, float("nan")), "output must be from 0"),
        (lambda: Price(0, 0, "inf"), "cached_input must be from 0"),
        (lambda: Price(0, 0, per=0), "per must be an integer of at least 1, got 0"),
        (lambda: Budget("-0.1"), "limit must be from 0"),
        (lambda: Budget(1, scope="run"), "scope must be 'request' or 'conversation', got 'run'"),  # type: ignore[arg-type]
        (lambda: PriceTable({"": Price(1, 1)}), "a string that is not empty, got ''"),
        (lambda: PriceTable({"m": {"input": 1}}), "the price of 'm': a price must have 'output'"),
        (
            lambda: PriceTable({"m": {"input": 1, "output": 1, "per_token": 1}}),
            "the price of 'm': a field of a price must be one of input, output",
        ),
        (lambda: PriceTable.from_json("[]"), "a price table must be an object with `prices`"),
        (
            lambda: PriceTable.from_dict({"prices": []}),
            "a price table must be an object with `prices`",
        ),
        (
            lambda: Cost.from_dict({"requests": -1}),
            "`requests` must be an integer of at least 0, got -1",
        ),
        (
            lambda: Cost.from_dict({"unpriced": "gpt"}),
            "`unpriced` must be a list of names, got 'gpt'",
        ),
        (lambda: Cost() + Cost(currency="EUR"), "cannot add EUR to USD"),
        (
            lambda: CostMeter(PriceTable({}, "EUR"), start=Cost()),
            "start must be in the currency of the prices, EUR, got USD",
        ),
    ],
)
def test_invalid_values_are_refused_with_a_message(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("value", [True, None, [1]])
def test_a_price_must_be_a_number(value: Any) -> None:
    with pytest.raises(
        TypeError, match="input must be a Decimal, an int, a float or a string of digits"
    ):
        Price(value, 1)
    with pytest.raises(TypeError, match="the price of 'm' must be a Price or a dict of its fields"):
        PriceTable({"m": value})
