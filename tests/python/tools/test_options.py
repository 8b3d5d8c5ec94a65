"""Options of tools, and errors of invalid tools."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict, Unpack

from toolweave import (
    RateLimit,
    RetryPolicy,
    Tool,
    ToolContext,
    ToolDefinitionError,
    ToolOptions,
    tool,
)


def f(a: int = 1) -> int:
    return a


async def awaited(a: int = 1) -> int:
    return a


async def yielding(a: int = 1) -> AsyncIterator[int]:
    yield a


def with_context(context: ToolContext) -> None: ...


DEFAULTS: dict[str, Any] = {
    "timeout": None,
    "idle_timeout": None,
    "retries": None,
    "max_concurrency": None,
    "concurrency_key": None,
    "sequential": False,
    "requires_approval": False,
    "idempotent": False,
    "cache": None,
    "rate_limit": None,
    "max_result_chars": None,
    "defer_loading": False,
    "metadata": {},
    "pool": None,
    "after": (),
    "partial_results": False,
    "prepare": None,
}


def test_every_option_is_an_attribute_with_a_default() -> None:
    made = tool(f)
    assert {name: getattr(made, name) for name in DEFAULTS} == DEFAULTS == made.options
    assert set(ToolOptions.__annotations__) == set(DEFAULTS)


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("timeout", 5, 5),
        ("timeout", 0.1, 0.1),
        ("idle_timeout", 2.0, 2.0),
        ("retries", 0, 0),
        ("retries", RetryPolicy(3), RetryPolicy(3)),
        ("max_concurrency", 1, 1),
        ("concurrency_key", "a", "a"),
        ("concurrency_key", len, len),
        ("sequential", True, True),
        ("requires_approval", callable, callable),
        ("cache", True, True),
        ("cache", False, None),
        ("cache", 60, 60),
        ("rate_limit", RateLimit(2, 1.0), RateLimit(2)),
        ("max_result_chars", 100, 100),
        ("metadata", {"team": "x"}, {"team": "x"}),
        ("metadata", None, {}),
        ("pool", "inline", "inline"),
        ("after", "other", ("other",)),
        ("after", ["b", "c"], ("b", "c")),
        ("partial_results", True, True),
    ],
)
def test_an_option_is_kept(name: str, value: Any, kept: Any) -> None:
    options: Any = {name: value}
    for made in (tool(f, **options), tool(**options)(f), Tool.from_schema("f", {}, f, **options)):
        assert getattr(made, name) == kept


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("timeout", 0, "a number of seconds above 0, got 0"),
        ("timeout", -1.5, "a number of seconds above 0, got -1.5"),
        ("timeout", float("nan"), "a number of seconds above 0, got nan"),
        ("timeout", True, "a number of seconds above 0, got True"),
        ("idle_timeout", "5", "a number of seconds above 0, got '5'"),
        ("retries", -1, "an integer of at least 0 or a RetryPolicy, got -1"),
        ("retries", 1.5, "an integer of at least 0 or a RetryPolicy, got 1.5"),
        ("max_concurrency", 0, "an integer of at least 1, got 0"),
        ("concurrency_key", 3, "the name of an argument or a function of the arguments, got 3"),
        ("sequential", "yes", "True or False, got 'yes'"),
        ("requires_approval", None, "True, False or a function of the call, got None"),
        ("cache", 0, "True, False or a number of seconds above 0, got 0"),
        ("rate_limit", 5, "a RateLimit, got 5"),
        ("max_result_chars", 0, "an integer of at least 1, got 0"),
        ("metadata", ["x"], "a mapping, got ['x']"),
        ("pool", "thread", "a concurrent.futures.Executor or \"inline\", got 'thread'"),
        ("after", {"b"}, "the name of a tool or a list of names, got {'b'}"),
        ("after", [1], "the name of a tool or a list of names, got [1]"),
        ("partial_results", 1, "True or False, got 1"),
    ],
)
def test_an_invalid_option_is_named_with_the_valid_values(
    name: str, value: Any, wanted: str
) -> None:
    options: Any = {name: value}
    with pytest.raises(ToolDefinitionError) as caught:
        tool(f, **options)
    assert str(caught.value) == f"tool 'f': {name} must be {wanted}"
    assert caught.value.tool == "f"


def test_an_unknown_option_is_an_error() -> None:
    options: Any = {"time_out": 5}
    with pytest.raises(TypeError, match=r"tool 'f': option must be one of time.*, got 'time_out'"):
        tool(f, **options)


def test_a_concurrency_key_of_an_unknown_argument_is_an_error() -> None:
    with pytest.raises(ToolDefinitionError, match=r"concurrency_key names 'b'.*it takes 'a'"):
        tool(f, concurrency_key="b")


def test_a_tool_after_itself_is_an_error() -> None:
    with pytest.raises(
        ToolDefinitionError, match="after must name other tools, got the tool itself"
    ):
        tool(f, after="f")


@pytest.mark.parametrize("function", [awaited, yielding])
def test_a_pool_is_for_functions_that_block(function: Callable[..., Any]) -> None:
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(ToolDefinitionError, match="pool must be left out for an async function"),
    ):
        tool(function, pool=pool)


def test_a_context_is_passed_to_threads_but_not_to_other_processes() -> None:
    with ThreadPoolExecutor(1) as threads:
        assert tool(with_context, pool=threads).pool is threads
    with (
        ProcessPoolExecutor(1) as processes,
        pytest.raises(ToolDefinitionError, match="parameter 'context' is a ToolContext"),
    ):
        tool(with_context, pool=processes)


def twice(number: int) -> int:
    return 2 * number


twice_tool = tool(twice)


@tool
def decorated(number: int) -> int:
    return 3 * number


class Thing:
    @tool
    def half(self, number: int) -> int:
        return number // 2


def test_a_tool_can_be_sent_to_another_process() -> None:
    with ProcessPoolExecutor(1) as pool:
        pooled, again = tool(twice, pool=pool), tool(decorated, pool=pool)
        assert pooled.pool is again.pool is pool
        tools = (twice_tool, pooled, decorated, again, Thing().half)
        for made, result in zip(tools, (8, 8, 12, 12, 2), strict=True):
            assert pool.submit(made, number=4).result() == result
            assert pool.submit(made.portable, number=4).result() == result
    assert pooled.portable is twice
    assert decorated.portable is again.portable is decorated


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RateLimit(0), "calls must be an integer of at least 1, got 0"),
        (lambda: RateLimit(1, 0), "per must be a number of seconds above 0, got 0"),
        (
            lambda: RateLimit(1, on_limit="drop"),
            'on_limit must be "wait" or "refuse", got \'drop\'',
        ),  # type: ignore[arg-type]
        (lambda: RetryPolicy(0), "attempts must be an integer of at least 1, got 0"),
        (lambda: RetryPolicy(2, initial=-1), "initial must be a number of seconds, got -1"),
        (
            lambda: RetryPolicy(2, maximum=float("inf")),
            "maximum must be a number of seconds, got inf",
        ),
        (
            lambda: RetryPolicy(2, multiplier=0.5),
            "multiplier must be a number of at least 1, got 0.5",
        ),
        (lambda: RetryPolicy(2, jitter=2), "jitter must be a number from 0 to 1, got 2"),
    ],
)
def test_a_limit_or_policy_out_of_range_is_an_error(
    make: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match="^" + message.replace("(", r"\(") + "$"):
        make()


@pytest.mark.parametrize("kinds", [OSError, (OSError, "x"), [OSError]])
def test_a_policy_retries_on_classes_of_exceptions(kinds: Any) -> None:
    with pytest.raises(TypeError, match="retry_on must be a tuple of exception classes"):
        RetryPolicy(2, retry_on=kinds)


def positional(a: int, /) -> None: ...
def variadic(*items: int) -> None: ...
def unannotated(a: int, b) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001
def no_type(a: "a city") -> None: ...  # type: ignore[valid-type]  # noqa: F722
def unpacked(**keys: Unpack[Keys]) -> None: ...
def no_schema(a: int, b: socket.socket) -> None: ...
def no_json(a: int, b: Callable[[], int]) -> None: ...
def nested(a: list[socket.socket]) -> None: ...
def alias(a: Annotated[int, Field(alias="b")]) -> None: ...
def unfinished(a: Unfinished) -> None: ...


class Keys(TypedDict):
    a: int


class Unfinished(BaseModel):
    missing: Missing  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (positional, "tool 'positional': parameter 'a': it is positional-only.*drop the '/'"),
        (variadic, r"tool 'variadic': parameter '\*items': .*make it a list"),
        (unannotated, "tool 'unannotated': parameter 'b': it has no type; .* b: str"),
        (no_type, "tool 'no_type': parameter 'a': 'a city' is not a type"),
        (unpacked, r"tool 'unpacked': parameter '\*\*keys': write the keys as parameters"),
        (dict, "tool 'dict': a class cannot be a tool"),
        (max, "tool 'max': .* has no signature"),
        (lambda a: a, r"a lambda has no name: tool\(function, name=...\)"),
    ],
)
def test_an_error_in_the_signature_is_raised_at_once(
    function: Callable[..., Any], message: str
) -> None:
    with pytest.raises(ToolDefinitionError, match=message):
        tool(function)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (no_schema, "tool 'no_schema': parameter 'b': its type has no JSON Schema.*socket"),
        (no_json, "tool 'no_json': parameter 'b': its type has no JSON Schema.*Callable"),
        (nested, "tool 'nested': parameter 'a': its type has no JSON Schema.*a pydantic model"),
        (alias, "tool 'alias': parameter 'a': .*an alias is only supported for fields"),
        (unfinished, "tool 'unfinished': parameter 'a': .*(not fully|is not) defined"),
    ],
)
def test_an_error_found_by_pydantic_is_raised_by_the_contract(
    function: Callable[..., Any], message: str
) -> None:
    made = tool(function)
    for _ in range(2):
        with pytest.raises(ToolDefinitionError, match=message):
            _ = made.contract


def test_a_name_that_cannot_stand_in_a_tag_is_an_error() -> None:
    with pytest.raises(ToolDefinitionError, match=r'"a b" contains white space.*name='):
        tool(f, name="a b")


@pytest.mark.parametrize("thing", [None, 3, "f"])
def test_a_subject_that_is_not_callable_is_an_error(thing: Any) -> None:
    with pytest.raises(TypeError, match="the subject of a tool must be a function, got"):
        tool(name="x")(thing)


def test_a_name_or_a_contract_is_given_once() -> None:
    anything: Any = tool
    with pytest.raises(TypeError, match="name must be given once, got 'a' and 'b'"):
        anything("a", name="b")
    with pytest.raises(TypeError, match="tool 'f': name, description and schema must be left out"):
        anything(tool(f).contract, name="b")


class Custom(Executor):
    """Executor of an unknown kind."""


def test_any_executor_is_a_pool() -> None:
    pool = Custom()
    assert tool(with_context, pool=pool).pool is pool
