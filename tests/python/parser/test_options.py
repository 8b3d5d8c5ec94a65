"""Errors for invalid tools and options, which name them and state what would be valid."""

from __future__ import annotations

import time
from typing import Any

import pytest

import toolweave as tw
from parser_replies import TOOLS

PING = "<Ping/>"


@pytest.mark.parametrize(
    ("tools", "error", "says"),
    [
        ("Ping", TypeError, "list"),
        (b"Ping", TypeError, "tool"),
        (3, TypeError, "int"),
        ([3], TypeError, "tool"),
        ([None], TypeError, "tool"),
        ([""], tw.ContractError, "empty"),
        (["a b"], tw.ContractError, "a b"),
        (["<x>"], tw.ContractError, "x"),
        (["A", "A"], tw.ContractError, '"A"'),
        (["tool_call"], tw.ContractError, "tool_call"),
        (["tool_response"], tw.ContractError, "tool_response"),
        (["think"], tw.ContractError, "reasoning_tags"),
        (["\ud800"], UnicodeEncodeError, "surrogates"),
        ([{}], tw.ContractError, "name"),
        ([{"name": 1}], tw.ContractError, "name"),
        ([{"name": "A", "parameters": []}], tw.ContractError, "A"),
        ([{"name": "A", "parameters": {"type": "array"}}], tw.ContractError, "/type"),
        ([{"name": "A", "parameters": {"properties": 3}}], tw.ContractError, "/properties"),
        ([{"name": "A", "parameters": {"$ref": "http://a.b/c"}}], tw.SchemaError, r"/\$ref"),
        ([{"name": "A", "parameters": {"$ref": "file:///etc/passwd"}}], tw.SchemaError, "fetched"),
        ([{"name": "A", "parameters": {"$ref": "#/nowhere"}}], tw.SchemaError, r"/\$ref"),
        ([{"name": "A", "parameters": {"$schema": "http://a.b/c"}}], tw.SchemaError, "fetched"),
        (
            [{"name": "A", "parameters": {"properties": {"x": {"pattern": "("}}}}],
            tw.SchemaError,
            "/properties/x/pattern",
        ),
    ],
)
def test_invalid_tools_are_named(tools: Any, error: type[Exception], says: str) -> None:
    for make in (
        lambda: tw.Parser(tools),
        lambda: tw.parse("", tools),
        lambda: tw.parse_stream([], tools),
    ):
        with pytest.raises(error, match=says):
            make()


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"colour": 1}, TypeError, "colour"),
        ({"repair": "all"}, ValueError, "schema"),
        ({"repair": None}, TypeError, "repair"),
        ({"repair": True}, TypeError, "repair"),
        ({"deltas": "no"}, TypeError, "bool"),
        ({"deltas": None}, TypeError, "bool"),
        ({"dialects": "natural"}, TypeError, "dialects"),
        ({"dialects": ()}, ValueError, "natural"),
        ({"dialects": ["klingon"]}, ValueError, "klingon"),
        ({"dialects": [1]}, TypeError, "dialects"),
        ({"reasoning_tags": "think"}, TypeError, "reasoning_tags"),
        ({"reasoning_tags": [None]}, TypeError, "reasoning_tags"),
        ({"reasoning_tags": ["<think>"]}, ValueError, "brackets"),
        ({"reasoning_tags": [""]}, ValueError, "reasoning tag"),
        ({"in_code": "both"}, ValueError, "text"),
        ({"in_code": None}, TypeError, "in_code"),
        ({"limits": {}}, TypeError, "Limits"),
        ({"limits": 3}, TypeError, "Limits"),
        ({"id_factory": "x"}, TypeError, "id_factory"),
    ],
)
def test_invalid_options_are_named(options: Any, error: type[Exception], says: str) -> None:
    for make in (
        lambda: tw.Parser(TOOLS, **options),
        lambda: tw.parse("", TOOLS, **options),
        lambda: tw.parse_stream([], TOOLS, **options),
    ):
        with pytest.raises(error, match=says):
            make()


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        ({"max_depth": 0}, ValueError),
        ({"max_depth": 129}, ValueError),
        ({"max_depth": -1}, OverflowError),
        ({"max_calls": -1}, OverflowError),
        ({"max_calls": 2**70}, OverflowError),
        ({"max_tag_bytes": 15}, ValueError),
        ({"max_calls": "3"}, TypeError),
        ({"max_calls": 3.0}, TypeError),
        ({"max_calls": None}, TypeError),
        ({"max_words": 3}, TypeError),
    ],
)
def test_invalid_limits_are_refused(limits: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        tw.Limits(**limits)
    with pytest.raises(TypeError):
        tw.Limits(3)  # type: ignore[misc]


@pytest.mark.parametrize("max_tag_bytes", [512, 2**64 - 1])
def test_limits_may_be_as_large_as_numbers_get(max_tag_bytes: int) -> None:
    most = 2**64 - 1
    limits = tw.Limits(
        max_argument_bytes=most,
        max_repair_bytes=most,
        max_tag_bytes=max_tag_bytes,
        max_calls=most,
    )
    reply = f'<Any>{{"a": 1,}}</Any>{PING}<tool_call name="Any"> x</tool_call>'
    events = tw.parse(reply, TOOLS, limits=limits)
    assert [e.name for e in events if isinstance(e, tw.ToolCall)] == ["Any", "Ping"]
    assert isinstance(events[-1], tw.InvalidToolCall)


def test_tools_come_in_many_forms_and_none_at_all_is_fine() -> None:
    contract = tw.FunctionContract("Ping")
    openai = {"type": "function", "function": {"name": "Ping", "parameters": {"type": "object"}}}
    for tools in (["Ping"], ("Ping",), iter(["Ping"]), [contract], [openai], {"Ping": contract}):
        assert isinstance(tw.parse(PING, tools)[-1], tw.ToolCall)
    for none in ([], (), None, {}):
        assert tw.parse(PING, none) == (tw.TextDelta(PING),)


@pytest.mark.parametrize(
    "pattern", [r"^(a+)+$", r"^(a+)+(?=b)$", r"^(?:(a|aa)+)\1$", r"^(([a-z])+.)+[A-Z]+$"]
)
def test_a_runaway_pattern_is_stopped(pattern: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    reply = '<A>{"a": "' + "a" * 5_000 + '!"}</A>' + "<A/>"
    begin = time.process_time()
    events = tw.parse(reply, [{"name": "A", "parameters": schema}])
    assert time.process_time() - begin < 5
    ends = [e for e in events if isinstance(e, tw.ToolCall | tw.InvalidToolCall)]
    assert isinstance(ends[0], tw.InvalidToolCall)
    assert ends[0].kind == "schema_violation"
    assert isinstance(ends[1], tw.ToolCall)


def test_an_endlessly_recursive_schema_is_refused() -> None:
    for schema in (
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"properties": {"a": {"$ref": "#"}}, "type": "object"},
    ):
        nested = '{"a": ' * 100 + "{}" + "}" * 100
        try:
            events = tw.parse(f"<A>{nested}</A>", [{"name": "A", "parameters": schema}])
        except tw.SchemaError:
            continue
        assert isinstance(events[-1], tw.ToolCall | tw.InvalidToolCall)
