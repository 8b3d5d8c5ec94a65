"""Scores: one outcome for each reply, by the calls that a live reply would have."""

from __future__ import annotations

import asyncio
import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolweave import Dialect, ToolCall
from toolweave.evaluation import (
    Case,
    NativeCall,
    RawReply,
    ReplyFile,
    Way,
    evaluate,
    score,
)
from toolweave.evaluation._matching import matches, pair_calls, plain
from toolweave.evaluation._outcome import OUTCOMES, judge
from toolweave.evaluation._reading import ReadReply
from toolweave.evaluation._unread import has_unread_call
from toolweave.evaluation._way import VARIANTS, default_ways
from toolweave.natural import NaturalToolUseParser
from toolweave.natural._dialects import can_teach
from toolweave.protocols import ModelOptions
from toolweave.testing import ScriptedModel

WEATHER = {
    "name": "get_weather",
    "description": "Current weather.",
    "parameters": {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
            "days": {"type": "integer"},
        },
        "required": ["city"],
    },
}
TIMER = {
    "name": "set_timer",
    "parameters": {
        "type": "object",
        "properties": {"minutes": {"type": "integer"}},
        "required": ["minutes"],
    },
}
OSLO = {"name": "get_weather", "arguments": {"city": ["Oslo", "Oslo, Norway"]}}
ROME = {"name": "get_weather", "arguments": {"city": ["Rome"]}}


def case(*expected: dict[str, Any], text: str = "How is the weather?") -> Case:
    return Case.from_dict(
        {
            "id": "c",
            "messages": [{"role": "user", "content": text}],
            "tools": [WEATHER, TIMER],
            "expected": list(expected),
        }
    )


def outcome(case: Case, text: str, way: str = "natural", *native: NativeCall) -> str:
    asked = Way.named(way)
    reply = RawReply("c", asked.asked_as, "qwen2.5-coder-1.5b-instruct", text, native)
    report = asyncio.run(score([case], [asked], [reply]))
    return report.results["c", way].outcome


def call(name: str, json: str) -> str:
    return f"<{name}>{json}</{name}>"


GET_OSLO = call("get_weather", '{"city": "Oslo"}')
GET_ROME = call("get_weather", '{"city": "rome"}')
TIMED = call("set_timer", '{"minutes": 3}')


@pytest.mark.parametrize(
    ("expected", "text", "result"),
    [
        ([OSLO], GET_OSLO, "right"),
        ([OSLO], "Let me see. " + call("get_weather", '{"city": "oslo, norway"}'), "right"),
        ([OSLO], call("get_weather", '{"city": "Oslo", "unit": "celsius"}'), "right"),
        ([OSLO], call("get_weather", '{"city": "Oslo", "unit": "fahrenheit"}'), "wrong_arguments"),
        ([OSLO], GET_ROME, "wrong_arguments"),
        ([OSLO, ROME], GET_ROME + "\n" + GET_OSLO, "right"),
        ([OSLO, ROME], GET_OSLO, "missed"),
        ([OSLO, ROME], GET_OSLO + "\n" + GET_OSLO, "wrong_arguments"),
        ([OSLO], GET_OSLO + "\n" + GET_OSLO, "invented"),
        ([OSLO], TIMED, "invented"),
        ([OSLO], GET_OSLO + "\n" + TIMED, "invented"),
        ([OSLO], '<tool_call name="get_wether">{"city": "Oslo"}</tool_call>', "invented"),
        ([OSLO], call("get_weather", '{"city": 3, "unit": "kelvin"}'), "invalid"),
        ([OSLO], '<get_weather>{"city": "Os', "invalid"),
        ([OSLO], "", "empty"),
        ([OSLO], " \n", "empty"),
        ([OSLO], "It is sunny.", "missed"),
        ([OSLO], 'So: {"tool": "get_weather", "args": {"city": "Oslo"}}', "unread"),
        ([OSLO], 'I write get_weather(city="Oslo") here.', "unread"),
        ([OSLO], 'Like so:\n```json\n{"city": "Oslo"}\n```\n', "unread"),
        ([OSLO, ROME], f'{GET_OSLO} and get_weather(city="Rome")', "unread"),
        ([], "It is sunny.", "right"),
        ([], GET_OSLO, "invented"),
        ([], "", "empty"),
        ([], 'I would say {"name": "get_weather", "arguments": {"city": "Oslo"}}.', "unread"),
    ],
)
def test_a_reply_has_the_outcome_that_the_documentation_states(
    expected: list[dict[str, Any]], text: str, result: str
) -> None:
    assert outcome(case(*expected), text) == result


HERMES = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def test_native_counts_what_the_server_recognized_and_recovered_the_rest_as_well() -> None:
    native = NativeCall("get_weather", '{"city": "Oslo"}')
    assert outcome(case(OSLO), "", "native", native) == "right"
    assert outcome(case(OSLO), "", "recovered", native) == "right"
    assert outcome(case(OSLO), HERMES, "native") == "unread"
    assert outcome(case(OSLO), HERMES, "recovered") == "right"
    # A server that leaves the call in the text as well: one call, not two.
    assert outcome(case(OSLO), HERMES, "native", native) == "right"
    assert outcome(case(OSLO), HERMES, "recovered", native) == "right"
    assert outcome(case(OSLO), "", "native", NativeCall("get_weather", "{oslo")) == "invalid"


@pytest.mark.parametrize(
    ("given", "wanted", "right"),
    [
        ({"a": 5}, {"a": [5.0]}, True),
        ({"a": True}, {"a": [1]}, False),
        ({"a": "5"}, {"a": [5]}, False),
        ({}, {"a": ["x", None]}, True),
        ({}, {"a": ["x", ""]}, True),
        ({"a": None}, {"a": ["x", None]}, True),
        ({"a": ""}, {"a": ["x", ""]}, True),
        ({}, {"a": ["x"]}, False),
        ({"b": None}, {}, True),
        ({"b": 1}, {}, False),
        ({"a": "whatever"}, {"a": "any"}, True),
        ({}, {"a": "any"}, True),
        ({"a": ["New York", "LA"]}, {"a": [["new-york", "L.A."]]}, True),
        ({"a": ["LA", "New York"]}, {"a": [["new york", "LA"]]}, False),
        ({"a": {"x": 1, "y": "b"}}, {"a": [{"x": [1, 2], "y": ["B"]}]}, True),
        ({"a": {"x": 3}}, {"a": [{"x": [1, 2]}]}, False),
        ({"a": {"x": 1}}, {"a": [{"x": [1], "y": [None]}]}, True),
        ({"a": [{"x": 1}]}, {"a": [[{"x": [1]}]]}, True),
        ({"a": "Zürich"}, {"a": ["zu\u0308rich"]}, True),
        ({"a": "Zurich"}, {"a": ["Zürich"]}, False),
    ],
)
def test_arguments_match_one_alternative_each(
    given: dict[str, Any], wanted: dict[str, Any], right: bool
) -> None:
    assert matches(given, wanted) is right


@given(st.text() | st.text(alphabet="aSßİ\u0131 ,.-\u0301\u0307\u0331\u0334\u0339\u0345\uff0c"))
@example("\u0339,\u0334")
def test_differences_that_do_not_count_are_removed_once(text: str) -> None:
    assert plain(plain(text)) == plain(text)
    assert plain(f"  {text},") == plain(text)


def test_pairs_do_not_depend_on_the_order() -> None:
    wide = Case.from_dict(
        {**case(OSLO).to_dict(), "expected": [
            {"name": "get_weather", "arguments": {"city": ["Oslo", "Rome"]}},
            {"name": "get_weather", "arguments": {"city": ["Oslo"]}},
        ]}
    ).expected  # fmt: skip
    calls = [("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Rome"})]
    assert pair_calls(calls, wide, {}) == ([], [])
    assert pair_calls(calls[::-1], wide, {}) == ([], [])


CALLS = st.tuples(
    st.sampled_from(["get_weather", "set_timer"]),
    st.dictionaries(st.sampled_from(["city", "minutes", "days"]), st.sampled_from(["Oslo", 3])),
)


@given(st.lists(CALLS, max_size=4), st.lists(CALLS, max_size=4), st.text(max_size=30), st.randoms())
def test_each_reply_has_one_outcome_in_any_order_of_calls(
    made: list[Any], wanted: list[Any], text: str, random: Any
) -> None:
    expected = [
        {"name": name, "arguments": {key: [value] for key, value in arguments.items()}}
        for name, arguments in wanted
    ]
    calls = [ToolCall(f"c{n}", *each) for n, each in enumerate(made)]
    found = judge(case(*expected), ReadReply(text, tuple(calls), ()))
    assert found in OUTCOMES
    random.shuffle(calls)
    assert judge(case(*expected), ReadReply(text, tuple(calls), ())) == found
    exactly = tuple(ToolCall(f"c{n}", *each) for n, each in enumerate(wanted))
    if exactly:
        assert judge(case(*expected), ReadReply(text, exactly, ())) == "right"


JUNK = st.text(alphabet='{}[]()"`:,=\n <>/abtool_callget_weather', max_size=300)


@given(JUNK)
def test_any_text_can_be_searched_for_calls(text: str) -> None:
    has_unread_call(text, case().tools)
    assert outcome(case(OSLO), text) in OUTCOMES


@pytest.mark.growth
@pytest.mark.parametrize("piece", ["{", '{"a":', "[", "```json\n{", "get_weather(", "<tool_call>"])
def test_a_long_hostile_reply_is_searched_in_bounded_time(piece: str) -> None:
    outcome(case(OSLO), piece * 20_000)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("natural", {}),
        ("natural-full", {"style": "full"}),
        ("natural-tool_call-fenced", {"tag": "tool_call", "fenced": True}),
        ("natural+reminder", {"reminder": True}),
        ("hermes", {}),
    ],
)
def test_a_way_is_named_by_its_options(name: str, options: dict[str, Any]) -> None:
    way = Way.named(name)
    assert (way.options, way.tool_mode, way.asked_as) == (options, "natural", name)
    profile = way.profile("m")
    assert profile is not None
    assert {key: getattr(profile, key) for key in options} == options
    assert profile.dialect == way.dialect == re.split("[+-]", name)[0]


@pytest.mark.parametrize(
    "name",
    ["", "klingon", "natural+", "natural+full", "natural-full-full", "Native", "native-full"],
)
def test_an_unknown_way_is_an_error_that_lists_the_parts(name: str) -> None:
    with pytest.raises(ValueError, match=r"a way must .*got ''|a way must .*got '"):
        Way.named(name)


@given(
    st.sampled_from([name for name in Dialect.names() if can_teach(Dialect.named(name))]),
    st.lists(st.sampled_from([*VARIANTS]), min_size=1, unique=True),
)
def test_every_suffix_of_a_way_changes_its_requests(dialect: str, suffixes: list[str]) -> None:
    try:
        ways = [
            Way.named(dialect + "".join(suffixes[:count])) for count in range(len(suffixes) + 1)
        ]
    except ValueError as error:
        assert "changes nothing" in str(error)
        return
    model = ScriptedModel(name="m")
    requests = [way.request(model, case(OSLO), ModelOptions(temperature=0)) for way in ways]
    assert all(request != before for before, request in itertools.pairwise(requests))


def test_a_suffix_of_another_dialect_is_an_error() -> None:
    with pytest.raises(ValueError, match="got 'hermes-full', where -full changes nothing"):
        Way.named("hermes-full")
    with pytest.raises(ValueError, match="where -unstopped changes nothing"):
        Way.named("pythonic-unstopped")


def test_native_ways_share_their_replies_and_only_recovered_is_a_profile() -> None:
    native, recovered = Way.named("native"), Way.named("recovered")
    assert native.asked_as == recovered.asked_as == "native"
    assert native.profile("qwen3:8b") is None
    profile = recovered.profile("qwen3:8b")
    assert profile is not None
    assert (profile.tool_mode, profile.dialect) == ("native", "hermes")


@pytest.mark.parametrize(
    "name",
    [
        "natural",
        "natural-full+reminder",
        "natural-tool_call-fenced-unstopped",
        "hermes",
        "hermes+reminder",
        "glm45",
        "recovered",
    ],
)
def test_a_profile_sends_the_requests_of_its_way(name: str) -> None:
    model = ScriptedModel(name="qwen3:8b", native_tools=True)
    way, options = Way.named(name), ModelOptions(temperature=0)
    asked = case(OSLO)
    parser = NaturalToolUseParser(model, asked.tools, profile=way.profile("qwen3:8b"))
    assert parser.request(asked.messages, options=options) == way.request(model, asked, options)


def test_default_ways_are_natural_the_dialect_of_the_model_and_native() -> None:
    native = ["native", "recovered"]
    assert default_ways("qwen3:8b") == ["natural", "hermes", *native]
    assert default_ways("a model that is not known") == ["natural", *native]
    # A dialect that is only read.
    assert default_ways("ibm-granite/granite-3.3-8b-instruct") == ["natural", *native]


@pytest.mark.parametrize(
    ("option", "error"),
    [
        ({"concurrency": 0}, "concurrency must be an integer of at least 1, got 0"),
        ({"timeout": 0}, "timeout must be a number above 0, or None, got 0"),
        ({"ways": ["natural"]}, "ways must be a sequence of Ways, got one"),
        (
            {"on_progress": lambda: None},
            "on_progress must be a function of the progress or None, called",
        ),
    ],
)
def test_invalid_arguments_of_a_run_are_refused_before_a_request(
    option: dict[str, Any], error: str, tmp_path: Path
) -> None:
    model = ScriptedModel(GET_OSLO)
    ways = option.pop("ways", [Way.named("natural")])
    with (
        ReplyFile(tmp_path / "replies.jsonl") as replies,
        pytest.raises((TypeError, ValueError), match=error),
    ):
        asyncio.run(evaluate(model, [case(OSLO)], ways, replies, **option))
    assert not model.requests
    assert not replies.replies


def test_cases_and_ways_can_be_iterators() -> None:
    ways = [Way.named("natural"), Way.named("hermes")]
    cases, replies = [case(OSLO)], [RawReply("c", way.name, "m", GET_OSLO) for way in ways]
    once: Any = (iter(cases), iter(ways), iter(replies))
    assert asyncio.run(score(*once)) == asyncio.run(score(cases, ways, replies))


def test_a_recommendation_is_the_way_with_the_most_right_cases() -> None:
    cases = [Case.from_dict({**case(OSLO).to_dict(), "id": f"c{number}"}) for number in range(8)]
    ways = [Way.named("natural"), Way.named("natural-fenced"), Way.named("native")]
    replies = [
        RawReply(each.id, way, "m", GET_OSLO if number < right else "Hm.", prompt_tokens=tokens)
        for way, right, tokens in (("natural", 7, 90), ("natural-fenced", 1, 80))
        for number, each in enumerate(cases)
    ]
    replies += [
        RawReply(each.id, "native", "m", "", (NativeCall("get_weather", '{"city": "Oslo"}'),))
        for each in cases
    ]
    report = asyncio.run(score(cases, ways, replies))
    assert [row.way for row in report.table] == ["native", "natural", "natural-fenced"]
    # An application reads native calls and those in the text, so `native` is no choice.
    assert report.recommended == ways[0]
    assert report.probability("natural", "natural-fenced") == pytest.approx(2 / 2**6)
    assert report.probability("natural", "natural") == 1
    totals = report.totals("natural")
    assert (totals.cases, totals.right, totals.missed, totals.prompt_tokens) == (8, 7, 1, 90)
