"""Tests of reading scores from replies and ranking by them, in the bindings."""

from __future__ import annotations

import json
import math
import pickle
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paths import CASES
from toolweave import (
    Ranking,
    RankingResult,
    ReplyReader,
    SchemaError,
    ScoredReply,
    Validator,
    structure_schema,
)

FOLDER = CASES / "selection"
STRUCTURE = {"score": "integer between 0 and 100", "name": "the name", "limit": "integer 1-9"}


def load_cases(name: str) -> Any:
    return json.loads((FOLDER / name).read_text(encoding="utf-8"))


def reader(structure: Any = STRUCTURE) -> ReplyReader:
    return ReplyReader(None if structure is None else structure_schema(structure))


@pytest.mark.parametrize(
    ("structure", "case"),
    [
        pytest.param(group["structure"], case, id=case["name"])
        for group in load_cases("replies.json")
        for case in group["replies"]
    ],
)
def test_golden_replies_are_read(structure: Any, case: dict[str, Any]) -> None:
    reading = reader(structure).read(case["reply"])
    assert reading.score == case["score"]
    assert reading.parameters == case["parameters"]
    assert reading.error == case["error"]
    assert reading.ignored == tuple(case["ignored"])
    assert [repair.kind for repair in reading.repairs] == case["repairs"]


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=case["name"]) for case in load_cases("rankings.json")]
)
def test_golden_rankings_are_decided(case: dict[str, Any]) -> None:
    ranking = Ranking(case["tools"], case["specificity"], **case["policy"])
    decided = [ranking.offer((at, score) for at, score in turn) for turn in case["turns"]]
    assert decided == case["decided"]
    result = ranking.finish()
    assert result == RankingResult(case["winner"], case["order"], case["reason"], case["ties"])


replies = st.dictionaries(
    st.sampled_from(["score", "Score", "name", "limit", "why"]),
    st.none()
    | st.booleans()
    | st.integers(-50, 150)
    | st.text(max_size=5)
    | st.lists(st.integers()),
)


@given(replies)
def test_a_reply_is_read_the_same_as_text_and_as_a_mapping(reply: dict[str, Any]) -> None:
    read = reader().read(reply)
    assert reader().read(json.dumps(reply)) == read
    assert reader().read(MappingProxyType(reply)) == read
    assert reader().read(f"Here it is:\n```json\n{json.dumps(reply, indent=2)}\n```\n") == read


@given(replies)
def test_parameters_are_valid_or_have_violations(reply: dict[str, Any]) -> None:
    schema = structure_schema({name: text for name, text in STRUCTURE.items() if name != "score"})
    reading = reader().read(reply)
    assert Validator(schema).is_valid(reading.parameters) == (not reading.violations)
    assert (reading.error is None) == (reading.score is not None and not reading.violations)
    assert reading.score is None or 0 <= reading.score <= 100


@given(st.text(max_size=60) | st.text(alphabet='{}[]":,score 851%`\n', max_size=60))
def test_no_text_raises(text: str) -> None:
    reading = reader().read(text)
    assert (reading.score is None) == (reading.error is not None and not reading.violations)


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        ({"score": math.nan}, "the reply is not JSON at /score: nan is not a JSON number"),
        ({"score": {1}}, "the reply is not JSON at /score: set is not a JSON type"),
        ({1: 85}, "the reply is not JSON at the top: key 1 is not a string"),
        (None, "the reply is null, not a JSON object with a score"),
        ([85], "the reply is a list, not a JSON object with a score"),
        (object(), "the reply is not JSON at the top: object is not a JSON type"),
    ],
)
def test_an_invalid_return_value_of_a_scorer_is_an_error_with_a_reason(
    reply: Any, error: str
) -> None:
    reading = reader().read(reply)
    assert (reading.score, reading.parameters, reading.error) == (None, {}, error)


def test_a_circular_reply_is_an_error() -> None:
    reply: dict[str, Any] = {"score": 85}
    reply["name"] = reply
    assert "nested deeper" in str(reader().read(reply).error)


def test_a_scored_reply_has_its_errors_and_repairs() -> None:
    reading = reader().read('{"score": "85%", "limit": 50, "why": 1, \'name\': "x"}')
    assert (reading.score, reading.ignored) == (85.0, ("why",))
    [violation] = reading.violations
    assert (violation.path, violation.keyword) == ("/limit", "maximum")
    assert [repair.kind for repair in reading.repairs] == ["quotes"]
    match reading:
        case ScoredReply(85.0, parameters, str(error)):
            assert parameters == {"limit": 50, "name": "x"}
            assert error == "the parameters cannot be used: /limit: 50 is not at most 9"
        case _:
            pytest.fail(repr(reading))
    assert repr(reading).startswith("ScoredReply(score=85.0, parameters={'limit': 50")


def test_a_scored_reply_is_immutable() -> None:
    reading = reader().read('{"score": 85, "name": "x"}')
    reading.parameters["name"] = "y"
    assert reading.parameters == {"name": "x"}


def test_scored_replies_compare_by_value() -> None:
    one, other = reader().read('{"score": 85}'), reader().read('{"score": "85"}')
    assert one == other
    assert one != reader().read('{"score": 86}')
    assert one != 85.0
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)


def test_an_invalid_schema_is_refused() -> None:
    with pytest.raises(SchemaError):
        ReplyReader({"type": "score"})
    wrong: Any = [1]
    with pytest.raises(TypeError):
        ReplyReader(wrong)


outcomes = st.lists(
    st.tuples(st.none() | st.sampled_from([0.0, 69.9, 70, 80, 80.5, 90.0, 100]), st.integers(0, 2)),
    max_size=7,
)


@given(outcomes, st.randoms(use_true_random=False), st.none() | st.just(90.0))
def test_the_same_scores_give_the_same_winner_in_every_order(
    tools: list[tuple[float | None, int]], random: Any, early_stop: float | None
) -> None:
    names = ["search", *map(str, range(1, len(tools)))][: len(tools)]
    scores = list(enumerate(score for score, _ in tools))
    specificity = [specific for _, specific in tools]

    def rank(limit: float | None) -> RankingResult:
        order = random.sample(scores, len(scores))
        ranking = Ranking(names, specificity, early_stop=limit)
        for outcome in order:
            if ranking.offer([outcome]):
                break
        return ranking.finish()

    waited = rank(None)
    result = rank(early_stop)
    if result.reason == "early_stop":
        assert result.winner is not None
        assert (tools[result.winner][0] or 0) >= 90
    else:
        assert result == waited


def test_an_invalid_ranking_is_refused() -> None:
    ranking = Ranking(iter(["a", "b"]))
    ranking.offer([(0, 85)])
    with pytest.raises(ValueError, match="already has an outcome"):
        ranking.offer([(0, None)])
    with pytest.raises(IndexError, match="position must be less than"):
        ranking.offer([(2, None)])
    with pytest.raises(ValueError, match="one value for each"):
        Ranking(["a"], [1, 2])
    with pytest.raises(ValueError, match="early_stop must be a finite number"):
        Ranking(["a"], early_stop=math.inf)
    wrong: Any = [(0, "85")]
    with pytest.raises(TypeError):
        Ranking(["a"]).offer(wrong)
    assert ranking.finish().winner == 0


def test_a_result_is_plain_data() -> None:
    result = RankingResult(1, (1, 0), "threshold", ())
    assert pickle.loads(pickle.dumps(result)) == result
    assert hash(result) == hash(RankingResult(1, [1, 0], "threshold", []))
    match result:
        case RankingResult(1, (first, *_), reason):
            assert (first, reason) == (1, "threshold")
        case _:
            pytest.fail(repr(result))
