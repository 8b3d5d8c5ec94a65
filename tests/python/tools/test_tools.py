"""`tool`, applied to functions, methods and other callables."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import pickle
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Annotated, Any, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

import toolweave as tw
from toolweave import ToolContext, ToolDefinitionError, tool

if TYPE_CHECKING:
    from toolweave import ToolContext as OnlyForCheckers


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers.

    Args:
        a: The first.
        b: The second.
    """
    return a + b


class Counter:
    def __init__(self, start: int) -> None:
        self.start = start

    @tool(timeout=3)
    def plus(self, step: int) -> int:
        """Counts on."""
        return self.start + step

    @tool
    @classmethod
    def called(cls, suffix: str) -> str:
        return cls.__name__ + suffix

    @classmethod
    @tool
    def named(cls, suffix: str) -> str:
        return cls.__name__ + suffix

    @staticmethod
    @tool
    def twice(number: int) -> int:
        return 2 * number

    @tool
    @staticmethod
    def thrice(number: int) -> int:
        return 3 * number

    def plain(self, step: int) -> int:
        return self.start - step

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counter) and other.start == self.start

    __hash__ = None


class Adder:
    """Add a fixed number."""

    def __init__(self, fixed: int) -> None:
        self.fixed = fixed

    async def __call__(self, number: int) -> int:
        return number + self.fixed


def properties(made: Any) -> dict[str, Any]:
    found: dict[str, Any] = made.contract.parameters["properties"]
    return found


@given(st.integers(), st.integers())
def test_calling_the_tool_is_calling_the_function(a: int, b: int) -> None:
    assert add(a, b) == add(a, b=b) == add(b=b, a=a) == add.function(a, b) == a + b


def test_a_bare_tool_is_named_and_described_by_its_function() -> None:
    assert add.name == "add"
    assert add.description == "Add two numbers."
    assert add.contract.to_dict() == {
        "name": "add",
        "description": "Add two numbers.",
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"type": "integer", "description": "The first."},
                "b": {"type": "integer", "default": 1, "description": "The second."},
            },
            "required": ["a"],
            "additionalProperties": False,
        },
        "returns": {"type": "integer"},
    }


def test_a_tool_looks_like_its_function() -> None:
    assert (add.__name__, add.__qualname__, add.__module__) == ("add", "add", __name__)  # type: ignore[attr-defined]
    assert add.__doc__ == add.function.__doc__
    assert inspect.signature(add) == inspect.signature(add.function)
    assert repr(add) == "Tool('add')"


def sample(a: int) -> int:
    """Return the argument."""
    return a


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: tool(sample), "sample"),
        (lambda: tool()(sample), "sample"),
        (lambda: tool("other")(sample), "other"),
        (lambda: tool(name="other")(sample), "other"),
        (lambda: tool(sample, name="other"), "other"),
        (lambda: tool(timeout=5)(sample), "sample"),
        (lambda: tool(tool(sample), name="other"), "other"),
        (lambda: tool(sample, name="math.other"), "math.other"),
    ],
)
def test_every_form_of_the_decorator_makes_the_same_tool(
    make: Callable[[], tw.Tool[..., Any]], name: str
) -> None:
    made = make()
    assert made.name == name
    assert made.function is sample
    assert made.description == "Return the argument."
    assert made.bind({"a": 1}) == {"a": 1}


def test_a_given_description_takes_precedence_over_the_docstring() -> None:
    made = tool(add.function, description="Sums.")
    assert made.description == "Sums."
    assert properties(made)["a"]["description"] == "The first."


def test_a_tool_can_be_made_of_a_tool_with_other_options() -> None:
    slow = tool(sample, timeout=5, idempotent=True)
    slower = tool(slow, timeout=10)
    assert (slower.timeout, slower.idempotent, slow.timeout) == (10, True, 5)
    assert slower.contract is slow.contract


async def double(a: int) -> int:
    await asyncio.sleep(0)
    return a


async def counted(to: int) -> AsyncIterator[int]:
    for number in range(to):
        yield number


@pytest.mark.parametrize(
    ("function", "style"),
    [
        (sample, "sync"),
        (double, "async"),
        (counted, "generator"),
        (functools.partial(double, 1), "async"),
        (Adder(1), "async"),
        (Counter(1).plain, "sync"),
    ],
)
def test_a_tool_has_the_style_of_its_function(function: Any, style: str) -> None:
    assert tool(function, name="f").style == style


def test_async_tools_are_called_as_their_functions_are() -> None:
    async def main() -> None:
        assert await tool(double)(3) == 3
        assert [n async for n in tool(counted)(3)] == [0, 1, 2]

    asyncio.run(main())


def test_the_result_of_an_async_generator_is_what_it_yields() -> None:
    assert tool(counted).contract.returns == {"type": "integer"}
    assert tool(double).contract.returns == {"type": "integer"}


def test_a_sync_generator_is_an_error() -> None:
    def count(to: int) -> Any:
        yield from range(to)

    with pytest.raises(ToolDefinitionError, match=r"tool 'count'.*async def count"):
        tool(count)


def test_a_decorated_method_is_the_tool_of_each_object() -> None:
    one, two = Counter(1), Counter(2)
    assert (one.plus(3), two.plus(3)) == (4, 5)
    assert list(properties(one.plus)) == ["step"]
    assert one.plus.contract is two.plus.contract
    assert one.plus.timeout == 3
    assert one.plus.bind({"step": 1.0}) == {"step": 1}
    assert list(inspect.signature(one.plus).parameters) == ["step"]
    assert Counter.plus(one, 3) == 4


@pytest.mark.parametrize("holder", [Counter, Counter(1)])
def test_methods_of_classes_are_tools_of_the_class(holder: Any) -> None:
    assert holder.called("!") == "Counter!"
    assert holder.named("!") == "Counter!"
    assert holder.twice(4) == 8
    assert holder.thrice(4) == 12
    tools = tw.Toolset([holder.called, holder.named, holder.twice, holder.thrice])
    assert [list(properties(each)) for each in tools] == [["suffix"]] * 2 + [["number"]] * 2
    assert [each(**each.bind({"suffix": "?"})) for each in list(tools)[:2]] == ["Counter?"] * 2


def test_a_bound_method_becomes_a_tool() -> None:
    made = tool(Counter(5).plain)
    assert made.name == "plain"
    assert made(**made.bind({"step": 2})) == 3


def test_an_object_that_can_be_called_becomes_a_tool() -> None:
    made = tool(Adder(5), name="add_five")
    assert made.description == "Add a fixed number."
    assert asyncio.run(made(**made.bind({"number": 2}))) == 7
    assert tool(Adder(5)).name == "Adder"


def test_arguments_of_a_partial_are_not_part_of_the_schema() -> None:
    def shout(text: str, times: int = 1, *, mark: str = "!") -> str:
        return text * times + mark

    made = tool(functools.partial(shout, mark="?"), name="ask")
    assert list(properties(made)) == ["text", "times"]
    assert made(**made.bind({"text": "so", "times": 2})) == "soso?"


def test_a_wrapped_function_keeps_its_types() -> None:
    def logged(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    made = tool(logged(sample))
    assert properties(made) == {"a": {"type": "integer"}}
    assert made(**made.bind({"a": 2})) == 2


def with_context(a: int, context: ToolContext) -> None: ...


def with_annotated(context: Annotated[ToolContext, "ours"], a: int) -> None: ...


def with_optional(a: int, *, context: Optional[ToolContext] = None) -> None: ...  # noqa: UP045


def with_union(a: int, context: ToolContext | None = None) -> None: ...


def with_module(a: int, context: tw.ToolContext) -> None: ...


def with_text(a: int, context: "tw.ToolContext") -> None: ...  # noqa: UP037


@pytest.mark.parametrize(
    "function",
    [with_context, with_annotated, with_optional, with_union, with_module, with_text],
    ids=lambda function: function.__name__,
)
def test_a_context_is_found_and_not_shown(function: Callable[..., Any]) -> None:
    made = tool(function)
    assert made.context_parameter == "context"
    assert list(properties(made)) == ["a"]
    assert made.bind({"a": 1}) == {"a": 1}


def test_a_tool_without_a_context_has_no_parameter_for_one() -> None:
    assert add.context_parameter is None


def test_a_context_imported_under_type_checking_is_recognized() -> None:
    names: dict[str, Any] = {}
    exec("def f(a: int, context: 'ToolContext') -> None: ...", names)
    assert tool(names["f"]).context_parameter == "context"


def test_another_name_imported_under_type_checking_is_an_error() -> None:
    def f(a: int, context: OnlyForCheckers) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"'context'.*'OnlyForCheckers' is not defined"):
        _ = tool(f).contract


def test_two_contexts_are_an_error() -> None:
    def f(one: ToolContext, two: ToolContext | None) -> None: ...

    with pytest.raises(ToolDefinitionError, match=r"'two'.*so is 'one'"):
        tool(f)


def test_types_local_to_the_enclosing_function_are_resolved() -> None:
    class Place(BaseModel):
        city: str

    class Guide:
        @tool
        def visit(self, place: Place) -> str:
            return place.city

    @tool
    def go(place: Place) -> str:
        return place.city

    assert go.bind({"place": {"city": "Oslo"}}) == {"place": Place(city="Oslo")}
    assert Guide().visit.bind({"place": {"city": "Oslo"}}) == {"place": Place(city="Oslo")}


class Model(BaseModel):
    here: bool


def test_a_local_type_is_not_mistaken_for_a_global_of_its_name() -> None:
    class Model(BaseModel):
        there: bool

    @tool
    def f(model: Model) -> None: ...

    assert list(f.contract.parameters["$defs"]["Model"]["properties"]) == ["there"]


def test_a_type_may_be_defined_after_the_tool() -> None:
    names: dict[str, Any] = {"tool": tool}
    exec("@tool\ndef f(late: 'Late') -> int: ...\n", names)
    with pytest.raises(ToolDefinitionError, match="tool 'f': parameter 'late'"):
        _ = names["f"].contract
    exec("class Late:\n    pass\nLate = int", names)
    assert properties(names["f"]) == {"late": {"type": "integer"}}


def test_tools_are_pickled_by_name_like_functions() -> None:
    assert pickle.loads(pickle.dumps(add)) is add
    assert copy.copy(add) is copy.deepcopy(add) is add


def test_tools_without_a_name_of_their_own_are_pickled_by_their_functions() -> None:
    made = pickle.loads(pickle.dumps(tool(sample, name="other", timeout=2)))
    assert (made.name, made.timeout, made.function) == ("other", 2, sample)
    given_schema = tw.Tool.from_schema("raw", {"properties": {"a": {"minimum": 3}}}, sample)
    again = pickle.loads(pickle.dumps(given_schema))
    assert again.contract == given_schema.contract


def test_tools_of_objects_are_pickled_with_them() -> None:
    for made in (Counter(4).plus, Counter.called):
        again = pickle.loads(pickle.dumps(made))
        assert again.contract == made.contract
    assert pickle.loads(pickle.dumps(Counter(4).plus))(1) == 5


def test_a_tool_is_accepted_wherever_tools_are() -> None:
    [start, *_, call] = tw.parse("<add>{'a': 1}</add>", [add])
    assert isinstance(start, tw.ToolCallStart)
    assert isinstance(call, tw.ToolCall)
    assert add(**add.bind(call.arguments)) == 2
    assert "Add two numbers." in tw.render_contracts([add])


def test_changing_an_argument_does_not_change_the_call() -> None:
    def f(a: list[int], b: dict[str, list[int]], c: Any, d: list[str], **rest: Any) -> None:
        for changed in (a, b["x"], c[0], d, rest["e"]):
            changed.append(1)

    arguments = {"a": [], "b": {"x": []}, "c": [[]], "d": [], "e": []}
    call = tw.ToolCall("1", "f", arguments)
    made = tool(f)
    made(**made.bind(call.arguments))
    raw = tw.Tool.from_contract(tw.FunctionContract("f"), f)
    raw(**raw.bind(call.arguments))
    assert call.arguments == {"a": [], "b": {"x": []}, "c": [[]], "d": [], "e": []}
