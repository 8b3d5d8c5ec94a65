"""Prompts with placeholders, and schemas from examples, as Python sees them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paths import CASES, SHARED
from toolweave import PromptTemplate, Validator, structure_schema

FOLDER = CASES / "registry"
FILES = SHARED / "data" / "nlweb"

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


def load_cases(name: str, label: str = "name") -> list[Any]:
    read = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return [pytest.param(case, id=case[label]) for case in read]


@pytest.mark.parametrize("case", load_cases("templates.json"))
def test_golden_templates_are_filled(case: dict[str, Any]) -> None:
    template = PromptTemplate(case["text"])
    assert template.text == case["text"]
    assert template.placeholders == tuple(case["placeholders"])
    assert template.render(case["values"]) == case["rendered"]
    assert template.render(MappingProxyType(case["values"])) == case["rendered"]


@pytest.mark.parametrize("case", load_cases("phrases.json", "phrase"))
def test_golden_phrases_are_read(case: dict[str, Any]) -> None:
    schema = structure_schema({"p": case["phrase"]})
    assert schema["properties"]["p"] == case["schema"]
    assert schema.get("required", []) == (["p"] if case.get("required") else [])


@pytest.mark.parametrize("case", load_cases("structures.json"))
def test_golden_structures_become_schemas(case: dict[str, Any]) -> None:
    schema = structure_schema(case["structure"])
    assert json.dumps(schema) == json.dumps(case["schema"])
    Validator(schema)


@given(plain)
def test_any_json_value_becomes_a_schema(structure: Any) -> None:
    Validator(structure_schema(structure))


@given(st.text(max_size=20), st.text(alphabet="{}a. ", max_size=12))
def test_values_are_not_rendered_as_templates(value: str, around: str) -> None:
    template = PromptTemplate(f"{around}.{{a.b}}.{around}")
    assert template.render({"a.b": value}) == template.render({"a.b": "\x01"}).replace(
        "\x01", value
    )


def test_only_values_of_placeholders_in_the_prompt_are_requested() -> None:
    class Asked(Mapping[str, str]):
        def __init__(self) -> None:
            self.names: list[str] = []

        def __getitem__(self, name: str) -> str:
            self.names.append(name)
            raise KeyError(name)

        def __iter__(self) -> Any:
            raise AssertionError

        def __len__(self) -> int:
            raise AssertionError

    asked = Asked()
    assert PromptTemplate("{a.b} {c} {a.b}").render(asked) == " {c} "
    assert asked.names == ["a.b", "c", "a.b"]


def test_an_exception_of_the_values_is_raised_unchanged() -> None:
    class Broken(dict[str, str]):
        def __missing__(self, name: str) -> str:
            raise ZeroDivisionError(name)

    with pytest.raises(ZeroDivisionError, match=r"a\.b"):
        PromptTemplate("{a.b}{c.d}").render(Broken())


@pytest.mark.parametrize("value", [None, 1, b"x", ["x"]])
def test_a_value_is_text(value: Any) -> None:
    with pytest.raises(TypeError, match=r'the value of "a\.b" must be a str, got'):
        PromptTemplate("{a.b}").render({"a.b": value})
    with pytest.raises(TypeError, match="values must be a mapping"):
        PromptTemplate("").render(value)


def test_a_lone_surrogate_is_replaced() -> None:
    assert PromptTemplate("<{a.b}>").render({"a.b": "\ud800"}).startswith("<\ufffd")


def test_a_template_is_plain_data() -> None:
    template = PromptTemplate("{a.b}")
    assert template == PromptTemplate("{a.b}")
    assert template != PromptTemplate("{a.c}")
    assert pickle.loads(pickle.dumps(template)) == template
    assert repr(template) == "PromptTemplate(text='{a.b}')"
    assert len({template, PromptTemplate("{a.b}")}) == 1


def test_a_value_that_is_not_json_has_no_schema() -> None:
    with pytest.raises(TypeError, match="not JSON at /a"):
        structure_schema({"a": {1, 2}})


def test_the_structures_of_real_files_become_schemas() -> None:
    if not FILES.is_dir():
        pytest.skip("set TOOLWEAVE_SHARED to a folder that holds data/nlweb")
    structures = [
        json.loads(element.text or "null")
        for path in sorted(FILES.glob("*.xml"))
        for element in ElementTree.parse(path).iter("returnStruc")
    ]
    assert len(structures) > 20
    kinds: dict[str, Any] = {}
    for structure in structures:
        schema = structure_schema(structure)
        Validator(schema)
        assert list(schema["properties"]) == list(structure)
        assert schema.get("required", []) == [name for name in structure if name == "score"]
        kinds |= {name: kind["type"] for name, kind in schema["properties"].items()}
    strings = {name for name, kind in kinds.items() if kind == "string"}
    assert {name: kinds[name] for name in kinds.keys() - strings} == {
        "score": "integer",
        "queries": "array",
        "variables": "array",
        "places": "array",
        "limit": "integer",
    }
