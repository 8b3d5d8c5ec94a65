"""The dialects of models, by their names and by their chat templates."""

from __future__ import annotations

import copy
import csv
import json
import logging
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from dialect_cases import FILES, TOOLS, read
from paths import CASES, SHARED
from toolweave import Dialect

FOLDER = CASES / "dialect_models"
NAMES: dict[str, list[str]] = json.loads((FOLDER / "names.json").read_text("utf-8"))
TEMPLATES: list[dict[str, str]] = json.loads((FOLDER / "templates.json").read_text("utf-8"))
EVERY_NAME = [(name, dialect) for dialect, names in NAMES.items() for name in names]

# Templates of models, most of them under licences of their own.
COLLECTED = SHARED / "data" / "chat_templates"
ALIASES = {"deepseek_v4": "deepseek_v32", "granite3": "granite"}


@pytest.mark.parametrize(("name", "dialect"), EVERY_NAME)
def test_a_model_is_known_by_its_name(name: str, dialect: str) -> None:
    assert Dialect.for_model(name).name == dialect
    assert Dialect.for_model(name.upper()).name == dialect
    assert Dialect.for_model(f"some-folder/{name}").name == dialect


def test_there_are_names_for_every_dialect_of_models() -> None:
    assert set(NAMES) == {*Dialect.names()} - {"react"}


@given(st.text())
def test_any_text_may_be_a_name_or_a_template(text: str) -> None:
    assert Dialect.for_model(text).name in Dialect.names()
    assert Dialect.from_template(text).name in Dialect.names()


@pytest.mark.parametrize("case", TEMPLATES, ids=[case["name"] for case in TEMPLATES])
def test_a_template_shows_its_dialect(case: dict[str, str]) -> None:
    assert Dialect.from_template(case["template"]).name == case["dialect"]
    # Whatever the name says.
    for name in ("Qwen/Qwen3-32B", "unknown"):
        assert Dialect.for_model(name, template=case["template"]).name == case["dialect"]


def test_there_is_a_template_for_every_dialect_that_has_one() -> None:
    assert {case["dialect"] for case in TEMPLATES} == {*Dialect.names()} - {"json"}


def test_the_collected_templates_show_their_dialects() -> None:
    manifest = COLLECTED / "MANIFEST.tsv"
    # They are not part of the repository; the excerpts above are.
    if not manifest.exists():
        return
    with manifest.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["file"] != "-"]
    for row in rows:
        template = (COLLECTED / row["file"]).read_text("utf-8")
        expected = ALIASES.get(row["dialect"], row["dialect"])
        assert Dialect.from_template(template).name == expected, row["file"]
    assert len(rows) > 20


def test_an_unknown_model_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "toolweave.parser"):
        for _ in range(3):
            assert Dialect.for_model("an-unknown-model-7b").name == "natural"
    assert [vars(record)["model"] for record in caplog.records] == ["an-unknown-model-7b"]


def test_dialects_are_plain_values() -> None:
    hermes = Dialect.named("hermes")
    assert hermes == Dialect.for_model("qwen3:8b") != Dialect.named("natural")
    assert hermes != "hermes"
    assert len({hermes, Dialect.named("hermes")}) == 1
    assert repr(hermes) == "Dialect.named('hermes')"
    assert pickle.loads(pickle.dumps(hermes)) == copy.deepcopy(hermes) == hermes
    assert "Qwen3" in hermes.models
    assert all(Dialect.named(name).models for name in Dialect.names())
    with pytest.raises(AttributeError):
        hermes.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        Dialect()


def test_dialects_may_be_named_in_any_form() -> None:
    reply = '<tool_call>{"name": "Ping", "arguments": {}}</tool_call>'
    hermes = Dialect.named("hermes")
    given: list[Any] = ["auto", ["hermes"], ("natural", "hermes"), hermes, [hermes], {"hermes"}]
    for dialects in given:
        [call] = [e for e in tw.parse(reply, ["Ping"], dialects=dialects) if type(e) is tw.ToolCall]
        assert call.dialect == "hermes"
    assert tw.parse(reply, ["Ping"], dialects=["natural"]) == (tw.TextDelta(reply),)


def test_a_dialect_knows_which_tools_it_can_name() -> None:
    for name in Dialect.names():
        assert Dialect.named(name).can_name("get_weather")
    assert Dialect.named("natural").can_name("get-weather")
    assert not Dialect.named("pythonic").can_name("get-weather")


def one_call(dialect: str) -> dict[str, Any]:
    """Return the first golden case of a dialect with a single call."""
    return next(
        case
        for case in FILES[dialect]
        if len(case["calls"]) == 1 and dialect in case["read_by"] and "options" not in case
    )


ONE_CALL = {dialect: one_call(dialect) for dialect in FILES if dialect != "reasoning"}


@given(name=st.text(st.characters(exclude_categories=["Z", "C"]) | st.sampled_from("aZ5_-.:/")))
@pytest.mark.parametrize("dialect", ONE_CALL)
def test_a_tool_is_called_or_its_name_is_refused(dialect: str, name: str) -> None:
    case = ONE_CALL[dialect]
    [call] = case["calls"]
    tools = [{**tool, "name": name} for tool in TOOLS if tool["name"] == call["name"]]
    try:
        parser = tw.Parser(tools, dialects=(dialect,))
    except tw.ContractError:
        return
    seen = read(parser, [case["reply"].replace(call["name"], name)])
    expected = {**call, "name": name}
    if "id" in call:
        expected["id"] = call["id"].replace(call["name"], name)
    assert (seen.calls, seen.invalid) == ([expected], [])


def test_an_unknown_dialect_is_answered_with_the_known_ones() -> None:
    for use in (lambda: tw.Parser([], dialects=["qwen"]), lambda: Dialect.named("qwen")):
        with pytest.raises(ValueError, match='"qwen" is not a dialect') as raised:
            use()
        for name in Dialect.names():
            assert name in str(raised.value)
        assert "hermes (Qwen2.5, Qwen3" in str(raised.value)


@pytest.mark.parametrize(
    "name",
    [
        "response",
        "result",
        "tool_result",
        "results",
        "invoke",
        "parameter",
        "function",
        "tools",
        "function_calls",
        "tool_calls",
        "TOOLCALL",
        "tool",
        "tool_input",
        "arg_key",
        "call",
    ],
)
def test_a_tool_may_have_the_name_of_a_tag_in_another_dialect(name: str) -> None:
    for dialects in ("auto", ("natural",)):
        events = tw.parse(f'<{name}>{{"a": 1}}</{name}>', [name], dialects=dialects)
        assert [(e.name, e.dialect) for e in events if type(e) is tw.ToolCall] == [
            (name, "natural")
        ]
