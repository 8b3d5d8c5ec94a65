"""The recorded scenarios of the playground."""

from __future__ import annotations

from paging import ChatPage
from toolweave._demo.scenarios import scenarios

SCENARIOS = {scenario.name: scenario for scenario in scenarios()}


def play_scenario(page: ChatPage, name: str) -> None:
    """Send the suggestion of a scenario."""
    page.take(SCENARIOS[name].prompt)
