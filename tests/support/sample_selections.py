"""Tools to select from, and scorers with fixed replies."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from paths import SHARED
from toolweave import RegistrySnapshot, ToolEntry
from toolweave.selection import ScorerReply, ScorerRequest


def entry(name: str, *parameters: str, **more: Any) -> ToolEntry:
    """Return a tool with its name in its prompt, and with string parameters."""
    structure = {"score": "integer between 0 and 100"}
    structure |= {parameter: f"the {parameter}" for parameter in parameters}
    more.setdefault("prompt", f"The query: {{request.query}}\nFor the tool <{name}>.")
    more.setdefault("return_struc", structure)
    return ToolEntry(name, **more)


def tools(*names: str) -> RegistrySnapshot:
    """Return a registry of tools without parameters, for every type."""
    return RegistrySnapshot.of([entry(name) for name in names])


ITEMS = RegistrySnapshot.of(
    [
        entry("search", "search_query", examples=["Find soups", "Show me cakes"]),
        entry("details", "item_name", examples=["How long does ramen take?"]),
        entry("compare", "item1", "item2", examples=["Ramen or pho?", "Which is hotter, X or Y?"]),
    ]
)
"""Three tools with parameters."""


@dataclass
class Scores:
    """A scorer for ``each``, with fixed replies and delays, that records the tools asked about."""

    replies: Mapping[str, Any]
    """By tool: a score, a whole reply, or an exception to raise. Other tools get no reply."""
    delays: Mapping[str, float] = field(default_factory=dict)
    """Delays in seconds, by tool."""
    asked: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    name: str = "scores"

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        [tool] = request.tools
        assert request.strategy == "each"
        self.asked.append(tool.name)
        try:
            await asyncio.sleep(self.delays.get(tool.name, 0))
            if tool.name not in self.replies:
                await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            self.cancelled.append(tool.name)
            raise
        reply = self.replies[tool.name]
        if isinstance(reply, BaseException):
            raise reply
        return ScorerReply(reply if isinstance(reply, (str, dict)) else {"score": reply})


@dataclass
class ScriptedScorer:
    """A scorer that gives replies in order, repeating the last."""

    replies: Sequence[Any]
    requests: list[ScorerRequest] = field(default_factory=list)
    name: str = "says"

    @property
    def prompts(self) -> list[str]:
        return [request.prompt for request in self.requests]

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        self.requests.append(request)
        reply = self.replies[min(len(self.requests), len(self.replies)) - 1]
        await asyncio.sleep(0)
        if isinstance(reply, BaseException):
            raise reply
        return reply if isinstance(reply, ScorerReply) else ScorerReply(reply)


def public_files() -> list[Any]:
    """Return published configuration files as test parameters."""
    found = sorted((SHARED / "data" / "nlweb").glob("*.xml"))
    skip = pytest.mark.skip(reason="set TOOLWEAVE_SHARED to a folder that holds data/nlweb")
    return [pytest.param(file, id=file.stem) for file in found] or [
        pytest.param(None, marks=skip, id="no-files")
    ]


def named(tool: str, score: Any = 90, **parameters: Any) -> str:
    """Return a reply to ``choose``."""
    return json.dumps({"tool": tool, "score": score, "parameters": parameters})
