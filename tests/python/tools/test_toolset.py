"""`Toolset`: accepted items, order, and concurrent changes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from toolweave import ContractError, FunctionContract, Tool, ToolDefinitionError, Toolset, tool


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(timeout=5)
def ping(host: str) -> str:
    """Ping a host."""
    return host


SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}}
DEFINITION = {"name": "find", "description": "Finds.", "input_schema": SCHEMA}


def find(q: str = "") -> str:
    return q


class Served:
    """Callable object with a contract."""

    contract = FunctionContract("served")

    def __call__(self) -> str:
        return "yes"


def test_a_set_takes_tools_in_every_form_in_their_order() -> None:
    tools = Toolset(
        [add, ping, FunctionContract("search", None, SCHEMA), DEFINITION, "bare", Served()],
        handlers={"search": find, "find": find, "bare": lambda: 1},
    )
    assert [each.name for each in tools] == ["add", "ping", "search", "find", "bare", "served"]
    assert len(tools) == 6
    assert "add" in tools
    assert "sub" not in tools
    assert tools.get("ping") is ping
    assert tools.get("sub") is None
    assert [contract.name for contract in tools.contracts] == [each.name for each in tools]
    assert {each.name for each in tools if each.validator is None} == {"bare", "served"}
    assert repr(Toolset([add])) == "Toolset(['add'])"


def test_a_mapping_is_read_as_by_the_parser() -> None:
    forms: dict[str, Any] = {
        "plus": add,
        "ping": ping,
        "schema": SCHEMA,
        "definition": {"description": "D.", "parameters": SCHEMA},
        "bare": None,
    }
    handlers = {"schema": find, "definition": find, "bare": find}
    tools = Toolset(forms, handlers=handlers)
    assert [each.name for each in tools] == list(forms)
    assert tools.get("definition").description == "D."  # type: ignore[union-attr]
    with pytest.raises(ContractError, match="the key of tool 'ping' must be its name, got 'pong'"):
        Toolset({"pong": ping})


def test_a_toolset_is_accepted_wherever_tools_are() -> None:
    [*_, call] = tw.parse("<add>{'a': 1, 'b': '2'}</add>", Toolset([add]))
    assert isinstance(call, tw.ToolCall)
    assert call.arguments == {"a": 1, "b": 2}
    assert [each.name for each in Toolset(Toolset([add, ping]))] == ["add", "ping"]


def test_a_handler_that_is_a_tool_keeps_its_options() -> None:
    [made] = Toolset([FunctionContract("pong")], handlers={"pong": ping})
    assert (made.name, made.timeout, made.function) == ("pong", 5, ping.function)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Toolset([add, add]), ContractError, "'add' is given more than once"),
        (lambda: Toolset(["x"]), ToolDefinitionError, "tool 'x' has no function"),
        (lambda: Toolset([DEFINITION]), ToolDefinitionError, "tool 'find' has no function"),
        (
            lambda: Toolset([add], handlers={"add": add}),
            ToolDefinitionError,
            "tool 'add' must have one function, got its own and a handler",
        ),
        (
            lambda: Toolset([add], handlers={"sub": add, "mul": add}),
            ToolDefinitionError,
            "handlers must be for tools of the set, got 'sub', 'mul'",
        ),
        (lambda: Toolset([{"parameters": {}}]), ContractError, '"name" is missing'),
        (lambda: Toolset(add), TypeError, "put a single tool in a list"),  # type: ignore[arg-type]
        (lambda: Toolset("add"), TypeError, "put a single tool in a list: \\['add'\\]"),
        (lambda: Toolset(ping), TypeError, "put a single tool in a list"),  # type: ignore[arg-type]
        (lambda: Toolset(7), TypeError, "put a single tool in a list"),  # type: ignore[arg-type]
        (lambda: Toolset([7]), TypeError, "the subject of a tool must be a function, got 7"),  # type: ignore[list-item]
    ],
)
def test_invalid_tools_are_an_error(
    make: Callable[[], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        make()


class Thing:
    @tool
    def act(self, a: int) -> int:
        return a


def test_an_unbound_method_is_an_error() -> None:
    assert [each.name for each in Toolset([Thing().act])] == ["act"]
    with pytest.raises(ToolDefinitionError, match=r"'act' must be bound, got a method.*thing\.act"):
        Toolset([Thing.act])


def test_an_error_in_a_type_is_raised_when_the_tool_is_added() -> None:
    @tool
    def f(a: threading.Lock) -> None: ...

    with pytest.raises(ToolDefinitionError, match="parameter 'a'"):
        Toolset([f])


def test_adding_and_removing_is_counted() -> None:
    tools = Toolset([add])
    assert tools.version == 0
    assert tools.add(ping) is ping
    assert tools.add(DEFINITION, find).name == "find"
    assert (tools.version, len(tools.contracts)) == (2, 3)
    assert tools.remove("ping") is ping
    assert (tools.version, [each.name for each in tools.contracts]) == (3, ["add", "find"])
    with pytest.raises(ContractError, match="'find' is given more than once"):
        tools.add(find)
    with pytest.raises(KeyError, match="there is no tool 'ping'; there are: 'add', 'find'"):
        tools.remove("ping")
    assert tools.version == 3


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abcd")), max_size=12))
def test_a_set_is_an_ordered_dict_of_its_tools(steps: list[tuple[bool, str]]) -> None:
    tools, model = Toolset(), dict[str, Tool[..., Any]]()
    for adds, name in steps:
        try:
            if adds:
                made = tools.add(tool(add, name=name))
                assert name not in model
                model[name] = made
            else:
                assert tools.remove(name) is model.pop(name)
        except (ContractError, KeyError):
            assert (name in model) is adds
        assert list(tools) == list(model.values())
        assert [contract.name for contract in tools.contracts] == list(model)


def test_a_snapshot_stays_as_it_was() -> None:
    tools = Toolset([add])
    before = tools.snapshot()
    tools.add(ping)
    tools.remove("add")
    assert [each.name for each in before] == ["add"]
    assert [contract.name for contract in before.contracts] == ["add"]
    assert (before.version, tools.version) == (0, 2)
    before.add(ping)
    assert [each.name for each in tools] == ["ping"]


def test_a_toolset_may_change_during_iteration() -> None:
    tools = Toolset([add, ping])
    seen = []
    for each in tools:
        seen.append(each.name)
        tools.remove(each.name)
        tools.add(tool(each, name=f"{each.name}_again"))
    assert seen == ["add", "ping"]
    assert [each.name for each in tools] == ["add_again", "ping_again"]


def test_no_tool_is_lost_when_many_threads_add() -> None:
    tools = Toolset()
    barrier = threading.Barrier(8)

    def add(thread: int) -> None:
        barrier.wait()
        for number in range(20):
            tools.add(tool(add, name=f"t{thread}_{number}"))
            assert len(tools.contracts) >= number

    threads = [threading.Thread(target=add, args=(thread,)) for thread in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tools) == tools.version == len(tools.contracts) == 160
