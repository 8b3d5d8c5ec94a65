"""Budgets and models without a price."""

from __future__ import annotations

from typing import Any

import pytest

import toolweave as tw
from calculator_scenes import get_weather, result_of
from coroutine_tests import on_a_loop
from toolweave import SceneManager, SceneStopReason, UnpricedModelError
from toolweave.costs import Budget, Price, published_prices
from toolweave.models.fallback import FallbackModel
from toolweave.summary import Summarizer
from toolweave.testing import ScriptedModel

PRICES = {"m1": Price(1_000_000, 1_000_000)}


def named_model(name: str, *replies: Any) -> ScriptedModel:
    return ScriptedModel(*replies, name=name)


@pytest.mark.parametrize(
    "model",
    [
        named_model("m2"),
        FallbackModel(named_model("m1"), named_model("m2")),
        FallbackModel(FallbackModel(named_model("m2")), named_model("m1")),
    ],
    ids=["alone", "in a chain", "in a chain of a chain"],
)
def test_a_budget_requires_a_price_for_every_model(model: Any) -> None:
    with pytest.raises(
        UnpricedModelError, match=r"a budget of 0\.001 USD .*'m2' has no price; pass"
    ):
        SceneManager(model, prices=PRICES, budget="0.001")
    SceneManager(model, prices=PRICES, budget=Budget("0.001", unpriced="allow"))
    SceneManager(model, prices={**PRICES, "m2": Price(0, 0)}, budget="0.001")
    SceneManager(model, prices=PRICES)


def test_a_budget_requires_a_price_for_the_summarizer() -> None:
    summarizer = Summarizer(named_model("small"))
    with pytest.raises(UnpricedModelError, match="'small' has no price"):
        SceneManager(named_model("m1"), prices=PRICES, budget=1, summarizer=summarizer)


def test_the_error_for_a_budget_without_prices_suggests_published_prices() -> None:
    with pytest.raises(UnpricedModelError) as caught:
        SceneManager(named_model("m1"), budget=1)
    assert caught.value.model == "m1"
    assert "there are no prices" in str(caught.value)
    assert "published_prices()" in str(caught.value)
    priced = named_model("gpt-4o-2024-08-06")
    SceneManager(priced, prices=published_prices(), budget=1)


@on_a_loop
async def test_the_budget_of_a_request_is_checked_before_the_model_is_asked() -> None:
    model = named_model("m2", "Hello!")
    manager = SceneManager(model, prices=PRICES)
    manager.scene("Weather Report", "Tells the weather").tool(get_weather)
    with pytest.raises(UnpricedModelError, match="'m2' has no price"):
        await manager.run(tw.SceneRequest("Hi!", budget="0.001"))
    assert not model.requests
    request = tw.SceneRequest("Hi!", budget=Budget("0.001", unpriced="allow"))
    assert (await manager.run(request)).text == "Hello!"


@on_a_loop
async def test_a_model_without_a_price_during_a_run_ends_it() -> None:
    model = named_model("m1", "<Weather_Report/>", "It goes on and on.", "And on.")
    manager = SceneManager(model, prices=PRICES, budget=100_000)
    manager.scene("Weather Report", "Tells the weather").tool(get_weather)
    model.name = "m2"
    result = await result_of(manager, "Hi!")
    assert result.stop_reason is SceneStopReason.BUDGET
    assert "the model 'm2' has no price" in str(result.error)
    assert len(model.requests) == 1
