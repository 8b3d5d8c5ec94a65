"""The recorded stories of the playground, and how a person asks for one."""

from __future__ import annotations

import json
from importlib.resources import files

from paging import ChatPage

STORIES = {
    file.name.partition("-")[2].removesuffix(".json"): json.loads(file.read_text("utf-8"))
    for file in (files("toolweave.playground") / "data" / "stories").iterdir()
    if file.name.endswith(".json")
}


def play_story(page: ChatPage, name: str) -> None:
    """Takes the suggestion of a story."""
    page.take(STORIES[name]["prompt"])
