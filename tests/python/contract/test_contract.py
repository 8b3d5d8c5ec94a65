"""`FunctionContract`, and the forms that are accepted wherever tools are expected."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from paths import CASES

FOLDER = CASES / "contract"
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}


def cases(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize("case", cases("definitions.json"), ids=lambda case: case["name"])
def test_definitions_are_read_as_in_the_cases(case: dict[str, Any]) -> None:
    contract = tw.FunctionContract.from_openai(case["definition"])
    assert contract.to_dict() == case["contract"]
    assert contract.to_openai() == case["openai"]
    assert tw.FunctionContract.from_dict(case["contract"]) == contract


@pytest.mark.parametrize("case", cases("errors.json"), ids=lambda case: case["error"][:60])
def test_errors_are_as_in_the_cases(case: dict[str, Any]) -> None:
    with pytest.raises(tw.ContractError) as caught:
        tw.FunctionContract.from_openai(case["definition"])
    assert str(caught.value) == case["error"]
    assert (caught.value.tool, caught.value.place) == (case["tool"], case["place"])


names = st.from_regex(r"[A-Za-z0-9_.-]{1,20}", fullmatch=True).filter(
    lambda name: name.lower() not in ("tool_call", "tool_response")
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
contracts = st.builds(
    tw.FunctionContract,
    names,
    st.none() | texts,
    st.none() | st.just(SCHEMA),
    st.none() | texts | st.just({"type": "string"}),
)


@given(contracts)
def test_a_contract_survives_every_way_of_copying_it(contract: tw.FunctionContract) -> None:
    assert pickle.loads(pickle.dumps(contract)) == contract
    assert copy.deepcopy(contract) == contract
    assert eval(repr(contract), {"FunctionContract": tw.FunctionContract}) == contract
    assert tw.FunctionContract.from_dict(contract.to_dict()) == contract


def test_a_contract_cannot_be_changed() -> None:
    given_schema = copy.deepcopy(SCHEMA)
    contract = tw.FunctionContract("search", parameters=given_schema)
    with pytest.raises(AttributeError):
        contract.name = "other"  # type: ignore[misc]
    given_schema["type"] = "array"
    parameters = contract.parameters
    assert parameters == SCHEMA
    parameters["properties"] = {}
    assert contract.parameters == SCHEMA


def test_a_contract_matches_by_position() -> None:
    match tw.FunctionContract("search", "Finds.", SCHEMA, "Titles."):
        case tw.FunctionContract(name, description, parameters, returns):
            assert (name, description, parameters, returns) == (
                "search",
                "Finds.",
                SCHEMA,
                "Titles.",
            )
    assert hash(tw.FunctionContract("f")) == hash(tw.FunctionContract("f"))
    with pytest.raises(TypeError):
        hash(tw.FunctionContract("f", parameters={}))


class HasContract:
    """Tool of another library."""

    contract = tw.FunctionContract("search", None, SCHEMA)


@pytest.mark.parametrize(
    "tools",
    [
        [tw.FunctionContract("search", None, SCHEMA)],
        (HasContract(),),
        iter([{"type": "function", "function": {"name": "search", "parameters": SCHEMA}}]),
        [{"name": "search", "input_schema": SCHEMA}],
        {"search": SCHEMA},
        {"search": {"parameters": SCHEMA}},
        {"search": HasContract()},
        {"search": tw.FunctionContract("search", None, SCHEMA)},
    ],
)
def test_tools_are_accepted_in_every_form(tools: Any) -> None:
    wanted = tw.render_contracts([tw.FunctionContract("search", None, SCHEMA)])
    assert tw.render_contracts(tools) == wanted


def search(query: str, limit: int = 10) -> str:
    """Search the web."""
    return query * limit


def test_a_function_is_a_tool_as_in_a_toolset() -> None:
    wanted = tw.tool(search).contract
    for tools in ([search], [tw.tool(search)], {"search": search}):
        assert tw.render_contracts(tools) == tw.render_contracts([wanted])
    [found] = tw.Toolset({"find": search})
    assert tw.render_contracts({"find": search}) == tw.render_contracts([found])
    [call] = [
        event
        for event in tw.parse('<search>{"query": "x", "limit": "3"}</search>', [search])
        if isinstance(event, tw.ToolCall)
    ]
    assert call.arguments == {"query": "x", "limit": 3}


def test_bare_names_and_nothing_are_tools_too() -> None:
    assert tw.render_contracts(["a", "b"]) == tw.render_contracts({"a": None, "b": None})
    assert tw.render_contracts([]) == ""


cyclic: dict[str, Any] = {"type": "object"}
cyclic["properties"] = {"self": cyclic}
deep: dict[str, Any] = {}
for _ in range(5000):
    deep = {"not": deep}


@pytest.mark.parametrize(
    ("tools", "error", "says"),
    [
        ("search", TypeError, "put a single one in a list"),
        (tw.FunctionContract("f"), TypeError, "put a single one in a list"),
        (3, TypeError, "a list or a mapping"),
        ([3], TypeError, "a tool must be a FunctionContract"),
        (b"search", TypeError, "a tool must be a FunctionContract"),
        ([print], tw.ToolDefinitionError, "tool 'print'"),
        ([lambda query: query], tw.ToolDefinitionError, "a lambda has no name"),
        (test_bare_names_and_nothing_are_tools_too, TypeError, "put a single one in a list"),
        ({3: None}, TypeError, "named by strings"),
        (["a", "b", "a"], tw.ContractError, "'a'|\"a\""),
        ([["a"]], TypeError, "a tool must be a FunctionContract"),
        ({"f": tw.FunctionContract("g")}, tw.ContractError, "both must agree"),
        ({"f": {"type": "array"}}, tw.ContractError, "/type"),
        ([""], tw.ContractError, "is empty"),
        ([{"name": "f", "parameters": cyclic}], tw.ContractError, "contains itself"),
        ([{"name": "f", "parameters": {"default": object()}}], tw.ContractError, "object"),
        (["\ud800"], ValueError, "surrogate"),
    ],
)
def test_an_invalid_tool_has_a_clear_error(tools: Any, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        tw.render_contracts(tools)


@pytest.mark.parametrize("schema", [cyclic, deep, [], "x", {"a": float("nan")}, {1: 2}])
def test_an_invalid_schema_is_an_error(schema: Any) -> None:
    with pytest.raises(tw.ContractError, match='tool "f"') as caught:
        tw.FunctionContract("f", parameters=schema)
    assert caught.value.tool == "f"


@pytest.mark.parametrize("arguments", [(), (None,), (3,), (b"f",), ("f", 3)])
def test_wrong_types_are_type_errors(arguments: Any) -> None:
    with pytest.raises(TypeError):
        tw.FunctionContract(*arguments)
