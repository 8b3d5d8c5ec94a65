"""Types of selection: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import assert_type

from toolweave import (
    RegistrySnapshot,
    Score,
    Selection,
    SelectionPolicy,
    ToolEntry,
    ToolSelector,
    UsageUpdate,
)
from toolweave.models.http import HttpModel
from toolweave.models.openai import OpenAIModel
from toolweave.selection import (
    CallLimiter,
    Decision,
    Scorer,
    ScorerReply,
    ScorerRequest,
    ToolSource,
    as_scorer,
)
from toolweave.selection._calls import (
    CallLimits,
    CallScheduler,
    SupportsTransport,
    TaskTransport,
    Transport,
)
from toolweave.selection._model import NativeScorer


async def texts(prompt: str, schema: dict[str, Any]) -> str:
    return prompt + str(schema)


async def data(prompt: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {prompt: schema}


class OwnScorer:
    name = "own"

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        return ScorerReply({"score": len(request.tools)}, UsageUpdate(1, 2))


class OwnCalls(OwnScorer):
    def make_transport(self, listener: CallScheduler) -> Transport:
        return TaskTransport(self, listener)


class OwnSource:
    fingerprint = "1"

    def tools_for(self, item_type: str, site: str | None = None, /) -> tuple[ToolEntry, ...]:
        return (ToolEntry("search", type=item_type, site=site),)


async def select(registry: RegistrySnapshot) -> None:
    source: ToolSource = OwnSource()
    scorer: Scorer = OwnScorer()
    ToolSelector(registry)
    ToolSelector(source, scorer)
    ToolSelector(registry, texts, limiter=CallLimiter(4), cache_ttl=0)
    ToolSelector(registry, data, SelectionPolicy(strategy="each", early_stop=None))
    assert_type(as_scorer(texts), Scorer)
    model = HttpModel("http://127.0.0.1:8080/v1", "qwen3")
    ToolSelector(registry, model)
    own: list[SupportsTransport] = [NativeScorer(model), OwnCalls()]
    CallScheduler(own[0].make_transport, CallLimits(8.0, 8, CallLimiter(4)))
    selector = ToolSelector(registry, OpenAIModel("gpt-x"))
    selection = await selector.select("x", item_type="Recipe", context={"request.site": "y"})
    assert_type(selection, Selection)
    assert_type(selection.tool, ToolEntry | None)
    assert_type(selection.score, float | None)
    assert_type(selection.ranking, tuple[Score, ...])
    assert_type(selection.decision, Decision)
    assert_type(selection.usage, UsageUpdate | None)
    assert_type(selection.fallback, bool)
    SelectionPolicy(strategy="best")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    ToolSelector(registry, 3)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
