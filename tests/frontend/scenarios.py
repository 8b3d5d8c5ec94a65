"""The recorded scenarios of the playground."""

from __future__ import annotations

import json
from importlib.resources import files

from paging import ChatPage

SCENARIOS = {
    file.name.partition("-")[2].removesuffix(".json"): json.loads(file.read_text("utf-8"))
    for file in (files("toolweave._demo.playground") / "data" / "scenarios").iterdir()
    if file.name.endswith(".json")
}


def play_scenario(page: ChatPage, name: str) -> None:
    """Send the suggestion of a scenario."""
    page.take(SCENARIOS[name]["prompt"])
