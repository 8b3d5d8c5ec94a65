"""`SearchIndex` from Python."""

from __future__ import annotations

import json
from typing import Any

import pytest

from paths import CASES
from toolweave import SearchIndex

FILE = CASES / "search" / "queries.json"


@pytest.mark.parametrize(
    ("documents", "case"),
    [
        pytest.param(group["documents"], case, id=case["query"] or "nothing")
        for group in json.loads(FILE.read_text(encoding="utf-8"))
        for case in group["queries"]
    ],
)
def test_golden_queries_find_their_documents(
    documents: list[list[tuple[str, int]]], case: dict[str, Any]
) -> None:
    index = SearchIndex(((text, weight) for text, weight in document) for document in documents)
    found = index.search(case["query"], len(documents))
    assert [position for position, _ in found] == case["found"]
    assert index.search(case["query"], 1) == found[:1]
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)


def test_a_lone_surrogate_is_not_a_word() -> None:
    index = SearchIndex([[("mail \ud800", 1)]])
    assert [position for position, _ in index.search("\udfff mail", 1)] == [0]
    assert index.search("\ud800", 1) == []


@pytest.mark.parametrize(
    ("documents", "error"),
    [
        ([[("a", 101)]], ValueError),
        ([[("a", -1)]], ValueError),
        ([["a"]], TypeError),
        ([[("a", "b")]], TypeError),
        ([[(1, 1)]], TypeError),
        ([1], TypeError),
        (None, TypeError),
    ],
)
def test_an_invalid_document_is_an_error(documents: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        SearchIndex(documents)
