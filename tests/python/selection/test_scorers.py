"""Tests of scorers, of checks of policies, and of traces."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from sample_selections import ITEMS, ScriptedScorer, named
from toolweave import FinishUpdate, ModelOptions, SelectionPolicy, ToolSelector, UsageUpdate
from toolweave.models import as_model
from toolweave.selection import Scorer, ScorerReply, ScorerRequest, as_scorer
from toolweave.testing import ScriptedModel
from tracing_spans import exporter
from virtual_time import run

REQUEST = ScorerRequest("Which?", {"type": "object"}, "choose", "x", ())


def test_a_model_is_asked_for_structured_output_at_temperature_0() -> None:
    model = ScriptedModel(['{"a"', ": 1}", UsageUpdate(7, 3, 2)], name="m1")
    scorer = as_scorer(model)
    assert scorer.name == "m1"
    assert run(scorer.ask(REQUEST)) == ScorerReply('{"a": 1}', UsageUpdate(7, 3, 2))
    [asked] = model.requests
    assert asked.options == ModelOptions(
        temperature=0.0, max_tokens=512, response_schema={"type": "object"}
    )
    assert [message.text for message in asked.messages] == ["Which?"]  # type: ignore[union-attr]


def test_model_options_can_be_given() -> None:
    model = ScriptedModel("{}")
    run(as_scorer(model, options=ModelOptions(seed=4)).ask(REQUEST))
    assert model.requests[0].options == ModelOptions(seed=4, response_schema={"type": "object"})


@pytest.mark.parametrize("reason", ["length", "content_filter", "missing"])
def test_a_reply_that_was_cut_off_is_an_error(reason: Any) -> None:
    model = ScriptedModel(['{"tool": "search", "score": 9', FinishUpdate(reason)])
    selection = run(ToolSelector(ITEMS, model).select("x"))
    assert selection.fallback
    assert selection.errors[0].error == f"ModelError: the reply was cut off ({reason})"


def test_a_function_of_messages_is_asked_as_a_model() -> None:
    async def model(messages: Any) -> str:
        assert "# Tools" in messages[0].text
        return named("details", 90, item_name="x")

    assert run(ToolSelector(ITEMS, as_model(model)).select("x")).score == 90


def test_a_function_of_prompt_and_schema_may_return_a_text_or_a_dict() -> None:
    async def text(prompt: str, schema: dict[str, Any]) -> str:
        assert schema["type"] == "object"
        return named("search", 80, search_query=prompt[:4])

    async def data(prompt: str, schema: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001
        return {"tool": "search", "score": 80, "parameters": {"search_query": "Here"}}

    for scorer in (text, data):
        selection = run(ToolSelector(ITEMS, scorer).select("x"))
        assert (selection.score, selection.parameters) == (80.0, {"search_query": "Here"})


def test_a_scorer_is_returned_unchanged() -> None:
    scorer = ScriptedScorer(["{}"])
    assert as_scorer(scorer) is scorer
    assert isinstance(scorer, Scorer)


def one_argument(prompt: str) -> str:
    return prompt


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (ScriptedModel, "must be an instance, got the class ScriptedModel"),
        (3, "must be a model, or an async function of a prompt and a JSON Schema"),
        (one_argument, r"one_argument\(.*\) .*must take two arguments"),
    ],
)
def test_an_object_that_is_not_a_scorer_is_refused(scorer: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ToolSelector(ITEMS, scorer)


def blocking(prompt: str, schema: dict[str, Any]) -> str:  # noqa: ARG001
    return named("search")


async def odd(prompt: str, schema: dict[str, Any]) -> Any:  # noqa: ARG001
    return 90


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (blocking, "TypeError: the scorer blocking is not async"),
        (odd, "TypeError: the scorer odd returned int"),
    ],
)
def test_an_invalid_answer_of_a_scorer_is_an_error_of_its_tools(scorer: Any, message: str) -> None:
    selection = run(ToolSelector(ITEMS, scorer).select("x"))
    assert selection.fallback
    assert str(selection.errors[0].error).startswith(message)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"strategy": "best"}, ValueError, "strategy must be one of 'choose', 'each', 'batch'"),
        ({"threshold": 101}, ValueError, "threshold must be from 0 to 100, got 101"),
        ({"threshold": float("nan")}, ValueError, "threshold must be from 0 to 100, got nan"),
        ({"threshold": None}, TypeError, "threshold must be a number, got None"),
        ({"threshold": True}, TypeError, "threshold must be a number, got True"),
        ({"early_stop": -1}, ValueError, "early_stop must be from 0 to 100, got -1"),
        ({"timeout": 0}, ValueError, "timeout must be a number of seconds above 0, or None, got 0"),
        ({"timeout": float("inf")}, ValueError, "timeout must be a number of seconds above 0"),
        ({"prefilter": 0}, ValueError, "prefilter must be at least 1, got 0"),
        ({"top": None}, TypeError, "top must be an integer, got None"),
        ({"max_concurrency": 1.5}, TypeError, "max_concurrency must be an integer, got 1.5"),
        ({"attempts": 0}, ValueError, "attempts must be at least 1, got 0"),
        ({"examples": -1}, ValueError, "examples must be at least 0, got -1"),
        ({"fallback": 3}, TypeError, "fallback must be the name of a tool or None, got 3"),
        ({"allowed_handlers": "shop"}, TypeError, r"as in \('shop',\), got one string"),
        ({"allowed_handlers": [""]}, TypeError, "must contain dotted prefixes, got ''"),
    ],
)
def test_an_invalid_policy_is_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        SelectionPolicy(**options)


def test_a_policy_is_immutable() -> None:
    policy = SelectionPolicy(allowed_handlers=["shop"])  # type: ignore[arg-type]
    assert policy.allowed_handlers == ("shop",)
    assert policy == dataclasses.replace(policy)
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.top = 4  # type: ignore[misc]


def test_a_selection_is_one_span_with_the_model_spans_as_children() -> None:
    exporter().clear()
    model = ScriptedModel([named("details", 90, item_name="secret"), UsageUpdate(9, 4)], name="m1")
    run(ToolSelector(ITEMS, model).select("a secret"))
    chat, select = exporter().get_finished_spans()
    assert (select.name, chat.name) == ("select_tool Thing", "chat m1")
    assert chat.parent is not None
    assert chat.parent.span_id == select.context.span_id
    assert dict(select.attributes or {}) == {
        "gen_ai.operation.name": "select_tool",
        "toolweave.selection.strategy": "choose",
        "toolweave.selection.tool": "details",
        "toolweave.selection.decision": "threshold",
        "toolweave.selection.calls": 1,
    }
    assert "secret" not in select.to_json()
