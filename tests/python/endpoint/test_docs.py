"""Documentation of endpoints: its blocks run, and its defaults are correct."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from markdown_blocks import blocks
from paths import DOCS
from servers.dialects import openai_calls, openai_text
from servers.raw import raw_server
from servers.scripts import events
from toolweave import HttpModel

PAGE = (DOCS / "explanation/endpoint.md").read_text("utf-8")
WRITTEN = re.findall(r"`(HttpModel\(.+?\))` \|", PAGE)


def test_its_block_asks_an_endpoint() -> None:
    [block] = [block for block in blocks(PAGE) if block.language == "python"]
    replies = (
        events(*openai_calls([("call_1", "get_weather", ['{"city":', ' "Oslo"}'])])),
        events(*openai_text(["It rains."])),
    )
    with raw_server(*replies) as server:
        code = block.code.replace("http://127.0.0.1:8080/v1", server.url).replace(
            "# result", "result"
        )
        namespace: dict[str, Any] = {}
        exec(compile(code, "endpoint.md", "exec"), namespace)
    assert namespace["result"].text == "It rains."
    assert len(server.requests) == 2


def test_it_shows_a_constructor_for_each_endpoint() -> None:
    assert len(WRITTEN) == 5


@pytest.mark.parametrize("written", WRITTEN)
def test_each_constructor_makes_a_model(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-key")
    model = eval(written, {"HttpModel": HttpModel, "os": __import__("os"), "key": "sk-key"})
    assert isinstance(model, HttpModel)


def test_its_defaults_are_those() -> None:
    parameters = inspect.signature(HttpModel).parameters
    rows = re.findall(r"^\| `(\w+)` \| (none|\d+)(?: s)? \|", PAGE, flags=re.MULTILINE)
    assert len(rows) == 5
    for name, shown in rows:
        default = parameters[name].default
        assert default is None if shown == "none" else default == float(shown)
