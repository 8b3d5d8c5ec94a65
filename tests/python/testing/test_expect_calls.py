"""`expect_calls`: which calls match, what it reads them from, and its failure messages."""

from __future__ import annotations

import asyncio
import itertools
import re
from typing import Any
from unittest.mock import ANY

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calculator_scenes import ADD, ENTER, manager_of
from toolweave import (
    Agent,
    InvalidToolCall,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolResult,
)
from toolweave.testing import (
    CallMatcher,
    MadeCall,
    RecordingObserver,
    ScriptedModel,
    call,
    expect_calls,
    expect_trajectory,
)


def add(a: int, b: int) -> int:
    return a + b


def messages(*calls: tuple[str, dict[str, Any]]) -> list[ToolAggregateMessage]:
    """Return one message with calls, each of which has a result."""
    made = [ToolCall(f"c{n}", name, arguments) for n, (name, arguments) in enumerate(calls)]
    return [ToolAggregateMessage(made, [ToolResult(each.id, each.name, "ok") for each in made])]


def failure(source: Any, *expected: Any, **options: bool) -> str:
    with pytest.raises(AssertionError) as raised:
        expect_calls(source, *expected, **options)
    return str(raised.value)


BOOK = messages(("book", {"city": "Oslo", "nights": 2, "guests": [{"name": "Ann", "age": 3}]}))


@pytest.mark.parametrize(
    "expected",
    [
        "book",
        call("book", city="Oslo", nights=2, guests=[{"name": "Ann", "age": 3}]),
        call("book", city=ANY, nights=2.0, guests=({"name": ANY, "age": 3},)),
        call("book", ...),
        call("book", ..., nights=int),
        call("book", ..., nights=lambda nights: nights > 1),
        call("book", ..., city=re.compile("^Os")),
        call("book", ..., guests=[{"name": str, "age": pytest.approx(3.0)}]),
    ],
    ids=lambda value: re.sub(" at 0x[0-9a-f]+", "", str(value)),
)
def test_a_call_matches(expected: Any) -> None:
    [made] = expect_calls(BOOK, expected)
    assert (made.name, made.id, made.request) == ("book", "c0", 1)
    assert made.result is not None


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        ("Book", "- Book(...)"),
        (call("book"), "city: unexpected, 'Oslo'"),
        (call("book", ..., city="Bergen"), "city: expected 'Bergen', got 'Oslo'"),
        (call("book", ..., when="now"), "when: expected 'now', but it is missing"),
        (call("book", ..., nights=True), "nights: expected True, got 2"),
        (call("book", ..., nights=bool), "nights: expected bool, got 2"),
        (call("book", ..., city=len("x").bit_count), "city: expected <built-in"),
        (call("book", ..., nights=lambda n: n.upper()), "nights: expected <predicate <lambda>>"),
        (call("book", ..., nights=re.compile("2")), "nights: expected re.compile('2'), got 2"),
        (call("book", ..., guests=[]), "guests: expected 0 items, got 1"),
        (
            call("book", ..., guests=[{"name": "Bo"}]),
            "guests[0].name: expected 'Bo', got 'Ann'\n      guests[0].age: unexpected, 3",
        ),
    ],
    ids=lambda value: re.sub(" at 0x[0-9a-f]+", "", str(value)),
)
def test_a_call_does_not_match(expected: Any, says: str) -> None:
    assert says in failure(BOOK, expected)


def test_true_is_not_one() -> None:
    assert "n: expected 1, got True" in failure(messages(("f", {"n": True})), call("f", n=1))
    assert "n: expected True, got 1" in failure(messages(("f", {"n": 1})), call("f", n=True))


def test_no_calls_are_expected() -> None:
    assert expect_calls([TextMessage("Hi")]) == ()
    assert failure(BOOK).startswith("expected no calls, got 1 call\n")


def test_another_call_than_the_expected_one_is_not_counted_as_it() -> None:
    text = failure(BOOK, call("book", city="Bergen"))
    assert text.startswith("expected 1 call, got 1 call, none of them as expected\n")
    assert failure([TextMessage("Hi")], "book").startswith("expected 1 call, got no calls\n")


def test_a_failure_shows_both_sides() -> None:
    made = messages(("find", {"q": "x"}), ("book", {"city": "Oslo"}), ("find", {"q": "y"}))
    assert failure(made, call("find", q="x"), call("book", city="Bergen")) == (
        "expected 2 calls, got 3 calls, 1 of them as expected\n"
        "  (- expected, + made)\n"
        "    find(q='x') -> 'ok'\n"
        "  - book(city='Bergen')\n"
        "  + book(city='Oslo') -> 'ok'\n"
        "      city: expected 'Bergen', got 'Oslo'\n"
        "  + find(q='y') -> 'ok'"
    )


def test_an_inserted_call_is_the_only_one_that_is_marked() -> None:
    made = messages(("a", {}), ("b", {}), ("c", {}))
    assert re.findall(r"^  [+-].*", failure(made, "b", "c"), re.MULTILINE) == ["  + a() -> 'ok'"]


def test_a_failure_message_is_bounded() -> None:
    huge = {f"key{n}": "x" * 10_000 for n in range(1000)}
    text = failure(messages(*[("x" * 5000, huge)] * 100), *[call("y", **huge)] * 100)
    assert len(text) < 100_000
    assert len(text.splitlines()) < 60
    deep: Any = []
    for _ in range(60):
        deep = [deep]
    assert len(failure(messages(("f", {"a": deep})), call("f", a=1))) < 500


NAMES = st.sampled_from("abc")
EXPECTED = st.one_of(
    NAMES.map(CallMatcher),
    st.builds(lambda name, n: call(name, n=n), NAMES, st.integers(0, 2)),
    st.builds(lambda name, n: call(name, n=n), NAMES, st.just(ANY)),
)
MADE = st.lists(st.tuples(NAMES, st.builds(lambda n: {"n": n}, st.integers(0, 2))), max_size=5)


@given(st.lists(EXPECTED, max_size=5), MADE, st.booleans(), st.booleans())
def test_calls_are_accepted_if_some_assignment_is_right(
    expected: list[CallMatcher], made: Any, any_order: bool, at_least: bool
) -> None:
    source = messages(*made)
    calls = [MadeCall(name, arguments, "") for name, arguments in made]
    choices: Any = itertools.permutations if any_order else itertools.combinations
    right = (at_least or len(expected) == len(calls)) and any(
        all(each.matches(one) for each, one in zip(expected, chosen, strict=True))
        for chosen in choices(calls, len(expected))
    )
    try:
        found = expect_calls(source, *expected, any_order=any_order, at_least=at_least)
    except AssertionError:
        assert not right
    else:
        assert right
        assert all(each.matches(one) for each, one in zip(expected, found, strict=True))
        assert len({one.id for one in found}) == len(expected)


def test_a_general_expectation_leaves_calls_to_the_particular_ones() -> None:
    made = messages(("f", {"n": 1}), ("f", {"n": 2}), ("f", {"n": 3}))
    found = expect_calls(made, "f", call("f", n=ANY), call("f", n=1), any_order=True)
    assert [one.arguments["n"] for one in found][2] == 1


def agent(*replies: Any) -> Agent:
    return Agent(ScriptedModel(*replies), [add])


def test_the_calls_of_a_result_are_those_of_its_run() -> None:
    first = agent('<add>{"a": 1, "b": 1}</add>', "2.").run_sync("1 + 1?")
    second = agent('<add>{"a": 2, "b": 2}</add>', "4.").run_sync(
        "And 2 + 2?", history=first.messages
    )
    [made] = expect_calls(second, call("add", a=2, b=2))
    assert made.result is not None
    assert made.result.value == 4
    assert not made.is_error
    expect_calls(second.messages, call("add", a=1, b=1), call("add", a=2, b=2))


def test_invalid_and_unknown_calls_are_calls() -> None:
    result = agent(
        [ToolCall("x", "add", {"a": "one", "b": 1})],
        [ToolCall("x", "subtract", {}), ToolCall("y", "add", {"a": 1, "b": 1})],
        "2.",
    ).run_sync("1 + 1?")
    bad, unknown, good = expect_calls(result, call("add", a="one", b=1), "subtract", "add")
    assert (bad.request, unknown.request, good.request) == (1, 2, 2)
    assert (bad.is_error, unknown.is_error, good.is_error) == (True, True, False)
    assert "add(a='one', b=1) -> error: 'Invalid arguments" in failure(result, "add")


def test_calls_are_read_from_a_run() -> None:
    async def main() -> None:
        async with agent('<add>{"a": 1, "b": 1}</add>', "2.").open("1 + 1?") as run:
            await run.wait()
            expect_calls(run, "add")

    asyncio.run(main())


def test_calls_are_read_from_the_result_of_scenes() -> None:
    result = asyncio.run(manager_of(ENTER, ADD, "It is 42.").run("15 + 27?"))
    expect_calls(result, "Calculator", call("Add", a=15, b=27))
    expect_trajectory(result, text="It is 42.", stop_reason="completed")


def test_calls_are_read_from_the_messages_of_openai() -> None:
    function = {"name": "add", "arguments": '{"a": 1, "b": 1}'}
    asked = {"role": "user", "content": "1 + 1?"}
    answer = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": function}],
    }
    result = {"role": "tool", "tool_call_id": "c", "content": "2"}
    [made] = expect_calls([asked, answer, result], call("add", a=1, b=1))
    assert made.result is not None
    assert made.result.result == "2"


def test_calls_are_read_from_an_observer() -> None:
    observer = RecordingObserver()
    first, second = ToolCall("c1", "add", {"a": 1}), ToolCall("c2", "add", {"a": 2})
    bad = InvalidToolCall(2, "c3", "sub", "unknown_tool", "<sub>", ())
    observer.on_started(first)
    observer.on_started(second)
    observer.on_progress(first, 0.5)
    observer.on_result(second, ToolResult("c2", "add", "two"))
    observer.on_result(bad, ToolResult("c3", "sub", "no", is_error=True))
    observer.on_started(ToolCall("c2", "add", {"a": 3}))
    made = expect_calls(observer, call("add", a=1), call("add", a=2), "sub", call("add", a=3))
    assert [each.result and each.result.result for each in made] == [None, "two", "no", None]
    assert made[0].request is None


@pytest.mark.parametrize("source", [None, "Hi!", 3, [3]])
def test_what_has_no_calls_is_refused(source: Any) -> None:
    with pytest.raises(TypeError):
        expect_calls(source)


def test_an_expected_call_is_a_name_or_a_description() -> None:
    wrong: Any = ToolCall("c", "add", {})
    with pytest.raises(TypeError, match=r"expected must be the name of a tool or a `call\(...\)`"):
        expect_calls(BOOK, wrong)
    with pytest.raises(TypeError, match=r"others must be \.\.\. or nothing"):
        call("add", {"a": 1})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
