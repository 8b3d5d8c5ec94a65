"""Tools to select from, and scorers whose replies are known."""

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
    """A tool that says its name in its prompt, and whose parameters are texts."""
    structure = {"score": "integer between 0 and 100"}
    structure |= {parameter: f"the {parameter}" for parameter in parameters}
    more.setdefault("prompt", f"The query: {{request.query}}\nFor the tool <{name}>.")
    more.setdefault("return_struc", structure)
    return ToolEntry(name, **more)


def tools(*names: str) -> RegistrySnapshot:
    """A registry of tools without parameters, for every type."""
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
    """A scorer for ``each``: what it says of a tool, how long that takes, and who was asked."""

    replies: Mapping[str, Any]
    """By tool: a score, a whole reply, or what is raised. Whoever is not named is never told of."""
    delays: Mapping[str, float] = field(default_factory=dict)
    """By tool: seconds."""
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
    """A scorer that gives replies in order, the last again and again."""

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
    """Configuration files that the public uses, one a parameter of a test."""
    found = sorted((SHARED / "data" / "nlweb").glob("*.xml"))
    skip = pytest.mark.skip(reason="set TOOLWEAVE_SHARED to a folder that holds data/nlweb")
    return [pytest.param(file, id=file.stem) for file in found] or [
        pytest.param(None, marks=skip, id="no-files")
    ]


def named(tool: str, score: Any = 90, **parameters: Any) -> str:
    """A reply to ``choose``."""
    return json.dumps({"tool": tool, "score": score, "parameters": parameters})
