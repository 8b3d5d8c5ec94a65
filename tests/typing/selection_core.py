"""Types of readings, rankings and searches: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from typing_extensions import assert_never, assert_type

from toolweave import (
    PromptTemplate,
    Ranking,
    RankingResult,
    ReplyReader,
    ScoredReply,
    SearchIndex,
    Violation,
    structure_schema,
)


def ask(prompt: str, values: Mapping[str, str]) -> str:
    template = PromptTemplate(prompt)
    assert_type(template.placeholders, tuple[str, ...])
    return template.render(values)


def read(structure: object, reply: str | dict[str, Any]) -> float | None:
    reader = ReplyReader(structure_schema(structure))
    reading = reader.read(reply)
    assert_type(reading, ScoredReply)
    assert_type(reading.violations, tuple[Violation, ...])
    match reading:
        case ScoredReply(None, _, error):
            assert_type(error, str | None)
            return None
        case ScoredReply(score, parameters):
            assert_type(parameters, dict[str, Any])
            return score


def decide(scores: dict[str, float | None]) -> str | None:
    ranking = Ranking(scores, early_stop=None)
    assert_type(ranking.offer(enumerate(scores.values())), bool)
    result = ranking.finish()
    assert_type(result, RankingResult)
    assert_type(result.reason, Literal["threshold", "early_stop", "fallback", "none"])
    if result.reason == "threshold" or result.reason == "early_stop":
        assert_type(result.ties, tuple[int, ...])
    elif result.reason == "fallback" or result.reason == "none":
        return None
    else:
        assert_never(result.reason)
    return None if result.winner is None else list(scores)[result.winner]


def search(texts: list[str], query: str) -> list[str]:
    index = SearchIndex([(text, 1)] for text in texts)
    return [texts[position] for position, _ in index.search(query, 3)]
