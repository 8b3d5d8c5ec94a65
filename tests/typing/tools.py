"""Types of tools: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Literal

from typing_extensions import assert_type

from toolweave import (
    FunctionContract,
    RateLimit,
    RetryPolicy,
    Tool,
    ToolContext,
    Toolset,
    Validator,
    parse,
    tool,
)


@tool
def bare(a: int, b: str = "") -> float:
    return a + len(b)


@tool("named", timeout=5, retries=RetryPolicy(3), rate_limit=RateLimit(2))
def named(a: int) -> str:
    return str(a)


@tool(name="other", description="Does.", schema={"type": "object"}, cache=60)
async def awaited(a: int, *, context: ToolContext) -> str:
    return context.call_id * a


@tool()
async def yielding(a: int) -> AsyncIterator[int]:
    yield a


@tool(FunctionContract("f"), requires_approval=lambda call: call.name == "f")
def served(a: int) -> None: ...


class Thing:
    @tool
    def method(self, a: int) -> str:
        return str(a)

    @tool(sequential=True)
    async def label(self, a: int) -> str:
        return str(a)


async def calling(thing: Thing) -> None:
    assert_type(bare(1, b="x"), float)
    assert_type(bare.function(1), float)
    assert_type(named(1), str)
    assert_type(await awaited(1, context=_context()), str)
    assert_type([number async for number in yielding(1)], list[int])
    assert_type(tool(bare.function, name="x", after="y")(1), float)
    assert_type(tool(bare.function)(1), float)
    assert_type(served(1), None)
    assert_type(thing.method(1), str)
    assert_type(await thing.label(1), str)
    assert_type(Thing.method(thing, 1), str)
    assert_type(tool(thing.method.function)(1), str)

    bare("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    named()  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    thing.method("1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def making() -> None:
    made = Tool.from_schema("f", {"type": "object"}, bare.function, timeout=2)
    assert_type(made(1), float)
    assert_type(Tool.from_contract(FunctionContract("f"), bare.function)(1), float)
    assert_type(Tool.from_contract({"name": "f"}, bare.function)(1), float)
    assert_type(bare.replace(timeout=None)(1), float)

    tool(bare.function, timeout="5")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
    tool(bare.function, time_out=5)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    tool("f", pool="threads")  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]


def reading() -> None:
    assert_type(bare.name, str)
    assert_type(bare.description, str | None)
    assert_type(bare.contract, FunctionContract)
    assert_type(bare.validator, Validator | None)
    assert_type(bare.context_parameter, str | None)
    assert_type(bare.bind({"a": 1}), dict[str, Any])
    assert_type(bare.timeout, float | None)
    assert_type(bare.after, tuple[str, ...])
    assert_type(bare.rate_limit, RateLimit | None)
    style: Literal["sync", "async", "generator"] = bare.style
    del style


def collecting() -> None:
    def plain(a: int) -> int:
        return a

    tools = Toolset([bare, awaited, plain, FunctionContract("f"), "g"], handlers={"f": plain})
    assert_type(tools.get("bare"), Tool[..., Any] | None)
    assert_type([each.name for each in tools], list[str])
    assert_type(tools.contracts, tuple[FunctionContract, ...])
    assert_type(tools.snapshot(), Toolset)
    parse("", tools)
    parse("", [bare])
    Toolset([3])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]


def _context() -> ToolContext:
    raise NotImplementedError
