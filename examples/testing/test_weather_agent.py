"""Tests of the agent: scripted replies, and replies of a model that were recorded once."""

from __future__ import annotations

import os

from weather_agent import weather_agent

from toolweave.models.http import HttpModel
from toolweave.testing import (
    RecordedModelFixture,
    ScriptedModel,
    call,
    expect_calls,
    expect_trajectory,
)


def test_a_forecast_is_asked_for_each_city() -> None:
    model = ScriptedModel(
        '<forecast>{"city": "Oslo"}</forecast><forecast>{"city": "Bergen"}</forecast>',
        "It rains in both.",
    )
    result = weather_agent(model).run_sync("Does it rain in Oslo and Bergen?")
    expect_calls(
        result, call("forecast", city="Bergen"), call("forecast", city="Oslo"), any_order=True
    )


def test_the_model_reads_why_a_call_failed() -> None:
    model = ScriptedModel(
        '<forecast>{"city": "Oslo", "days": 9}</forecast>',
        '<forecast>{"city": "Oslo", "days": 3}</forecast>',
        "Rain, then sun.",
    )
    result = weather_agent(model).run_sync("How will this week be in Oslo?")
    expect_trajectory(result, requests=3, errors=1, corrected="forecast")
    assert "days must be at most 3" in model.requests[1].messages[-1].text


def test_a_question_gets_its_answer(recorded_model: RecordedModelFixture) -> None:
    url = os.environ.get("MODEL_URL", "")
    model = recorded_model(lambda: HttpModel(url, "example", provider="example", native_tools=True))
    result = weather_agent(model).run_sync("Do I need an umbrella in Oslo tomorrow?")
    [made] = expect_calls(result, call("forecast", city="Oslo", days=lambda days: days >= 2))
    assert made.result is not None
    assert made.result.value == ["rain", "sun"]
    expect_trajectory(result, max_requests=2, text=lambda text: "umbrella" in text)
