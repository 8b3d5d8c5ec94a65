"""An agent that answers questions about the weather."""

from __future__ import annotations

from toolweave import Agent, Model

FORECASTS = {"Oslo": ["rain", "sun", "sun"], "Bergen": ["rain", "rain", "rain"]}


def forecast(city: str, days: int = 1) -> list[str]:
    """Return the weather of the next days, at most three, in a city."""
    if days > 3:
        raise ValueError("days must be at most 3")
    return FORECASTS[city][:days]


def weather_agent(model: Model) -> Agent:
    return Agent(model, [forecast], instructions="Answer in one sentence.")
