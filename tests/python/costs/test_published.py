"""The published prices in the package."""

from __future__ import annotations

import datetime
import json
import re
import subprocess
import sys
from decimal import Decimal
from importlib import resources
from typing import Any

import pytest

from toolweave import UnpricedModelError, UsageUpdate
from toolweave.costs import CostMeter, Price, PriceTable, published_prices

DATA = resources.files("toolweave.costs").joinpath("data/prices.json")


def table() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(DATA.read_text(encoding="utf-8"))
    return found


def test_the_table_is_small_and_names_its_source() -> None:
    assert len(DATA.read_bytes()) < 150_000
    prices = published_prices()
    assert re.fullmatch(r"litellm [\d.]+, litellm/\w+\.json", prices.source)
    assert prices.licence == "MIT, Copyright (c) 2023 Berri AI"
    assert datetime.date(2026, 11, 1) <= prices.date <= datetime.date.today()  # noqa: DTZ011
    assert prices.currency == "USD"


def test_each_entry_is_well_formed_and_costs_something() -> None:
    fields = table()
    assert set(fields["makers"]) <= set(fields["models"])
    names = 0
    for provider, models in fields["models"].items():
        assert models, provider
        assert "/" not in provider
        for name, written in models.items():
            assert name == name.strip() != ""
            assert all(re.fullmatch(r"\d+(\.\d*[1-9])?", price) for price in written), name
            assert 2 <= len(written) <= 3
            price = Price(*written, per=fields["per"])
            # No model costs more than this, so a slip of a power of ten shows.
            assert 0 < price.input + price.output < 2_000, name
            assert price.cached_input is None or price.cached_input <= price.input, name
            assert published_prices()[f"{provider}/{name}"] == price
            names += 1
    assert names > 1_000


@pytest.mark.parametrize(
    ("model", "provider", "found"),
    [
        ("gpt-4o", None, "gpt-4o"),
        ("gpt-4o", "openai", "openai/gpt-4o"),
        ("openai/gpt-4o", None, "openai/gpt-4o"),
        ("gpt-4o", "azure.ai.openai", "azure/gpt-4o"),
        ("gpt-4o-2031-01-31", None, "gpt-4o"),
        ("openai/gpt-4o-mini-2031-01-31", None, "openai/gpt-4o-mini"),
        ("claude-sonnet-4-5-20310131", "anthropic", "anthropic/claude-sonnet-4-5"),
        ("claude-3-5-haiku@20310131", "gcp.vertex_ai", "vertex_ai/claude-3-5-haiku"),
        ("gpt-4o", "my-proxy", "gpt-4o"),
        ("my-proxy/gpt-4o", None, None),
        ("gpt-4o-maxi", None, None),
        ("gpt-4o-mini-turbo", "openai", None),
        ("gpt-4o:free", None, None),
        ("gpt", None, None),
        ("GPT-4o", None, None),
        ("", None, None),
    ],
)
def test_names_are_found_by_provider_and_date_and_never_guessed(
    model: str, provider: str | None, found: str | None
) -> None:
    assert published_prices().find(model, provider) == found


def test_every_name_finds_itself() -> None:
    prices = published_prices()
    for name in prices:
        assert prices.find(name) == name


def test_a_name_without_a_price_is_an_error_with_the_nearest_names() -> None:
    prices = published_prices()
    with pytest.raises(
        UnpricedModelError, match=r"'gpt-4o-maxi' has no price; the nearest"
    ) as caught:
        prices.price_of("gpt-4o-maxi")
    assert "'gpt-4o-mini'" in str(caught.value)
    assert caught.value.model == "gpt-4o-maxi"
    with pytest.raises(LookupError, match=r"^'zzzzzzzzzzzz' has no price$"):
        prices.price_of("zzzzzzzzzzzz")
    assert prices.price_of("gpt-4o-2031-01-31") == prices["gpt-4o"]


def test_own_prices_override_published_ones_in_meters() -> None:
    own = PriceTable({**published_prices(), "gpt-4o": Price(1, 2)})
    assert own.price_of("gpt-4o") == Price(1, 2)
    delta = CostMeter(published_prices()).add("gpt-4o-maxi", UsageUpdate(1, 1))
    assert delta.cost is None
    paid = CostMeter(published_prices()).add("gpt-4o", UsageUpdate(1_000_000, 0))
    assert paid.cost == Decimal("2.5")


def test_the_table_is_read_at_the_first_call_only() -> None:
    program = (
        "import io, sys; opened = []\n"
        "sys.addaudithook(lambda event, args: event == 'open' and opened.append(str(args[0])))\n"
        "import toolweave.costs as costs\n"
        "read = lambda: sum(name.endswith('prices.json') for name in opened)\n"
        "assert read() == 0; costs.published_prices(); costs.published_prices(); print(read())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "1"
