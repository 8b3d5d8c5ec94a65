"""Docstrings in three styles, and those in none."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest
from griffe import Docstring
from hypothesis import assume, given
from hypothesis import strategies as st

from toolweave import tool
from toolweave.tools._docstrings import read_docstring, style_of

GOOGLE = """Looks up the weather.

Of today only.

Note:
    It is often wrong.

Args:
    city (str): The city,
        in English.
    unit: What degrees
        are in.
    **more: Anything else.

Returns:
    The weather in words.

Raises:
    ValueError: There is no such city.

Example:
    >>> weather("Oslo")
"""

NUMPY = """Looks up the weather.

Of today only.

Parameters
----------
city : str
    The city,
    in English.
unit : {'c', 'f'}, optional
    What degrees
    are in.
**more
    Anything else.

Returns
-------
str
    The weather in words.

Raises
------
ValueError
    There is no such city.
"""

SPHINX = """Looks up the weather.

Of today only.

:param city: The city,
    in English.
:type city: str
:param str unit: What degrees
    are in.
:param more: Anything else.
:returns: The weather in words.
:rtype: str
:raises ValueError: There is no such city.
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_every_style_gives_the_same_documentation(text: str) -> None:
    def weather(city: str, unit: str = "c", **more: int) -> str: ...  # type: ignore[empty-body]

    weather.__doc__ = text
    contract = tool(weather).contract
    assert contract.description is not None
    assert contract.description.startswith("Looks up the weather.\n\nOf today only.")
    assert contract.to_dict()["parameters"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city, in English."},
            "unit": {"type": "string", "default": "c", "description": "What degrees are in."},
        },
        "required": ["city"],
        "additionalProperties": {"type": "integer", "description": "Anything else."},
    }
    assert contract.returns == {"type": "string", "description": "The weather in words."}


def test_the_description_is_the_text_without_the_sections() -> None:
    expected = "Looks up the weather.\n\nOf today only."
    assert read_docstring(NUMPY).description == read_docstring(SPHINX).description == expected
    assert read_docstring(GOOGLE).description == f"{expected}\n\nNote: It is often wrong."


def test_annotated_texts_take_precedence_over_the_docstring() -> None:
    from typing import Annotated

    from pydantic import Field

    def f(a: Annotated[int, "One."], b: Annotated[int, Field(description="Two.")], c: int) -> None:
        """Accept arguments.

        Args:
            a: Another one.
            b: Another two.
            c: Three.
            d: There is no such parameter.
        """

    f.__annotations__.update(a=Annotated[int, "One."], b=Annotated[int, Field(description="Two.")])
    found = tool(f).contract.to_dict()["parameters"]["properties"]
    assert [entry["description"] for entry in found.values()] == ["One.", "Two.", "Three."]


def test_a_tool_without_a_docstring_has_no_description() -> None:
    def f() -> None: ...

    assert tool(f).description is None
    f.__doc__ = "   \n"
    assert tool(f).description is None


def test_the_yields_section_describes_the_result() -> None:
    assert read_docstring("Counts.\n\nYields:\n    The next number.").returns == "The next number."


def test_a_result_of_several_parts_is_described_with_their_names() -> None:
    text = "Finds.\n\nReturns\n-------\nx : int\n    Left.\ny : int\n    Top.\n"
    assert read_docstring(text).returns == "x: Left.; y: Top."


@pytest.mark.parametrize(
    "text",
    [
        "Says: args: are a thing.",
        "Takes arguments.\n\nArgs are not listed.",
        "Uses\nReturns of the day\nfor it.",
        "Ratio 1:param 2: of things.",
        "Reads.\n\n    Args:\n    as code.",
        "Args:",
    ],
)
def test_prose_that_only_looks_like_a_heading_stays(text: str) -> None:
    assert style_of(text) is None
    assert read_docstring(text).description == text


words = st.text("abcXYZ ,.(){}'\"-é", min_size=1, max_size=12).map(str.strip).filter(bool)
lines = words | st.sampled_from(
    ["", "  ", "Args:", "Returns:", "    indented", ":param x: y", "Parameters", "----------", "x:"]
)


@given(st.lists(lines, min_size=1, max_size=6).map("\n".join))
def test_griffe_finds_no_sections_where_it_is_not_used(text: str) -> None:
    text = inspect.cleandoc(text)
    assume(text.strip() and style_of(text) is None)
    for style in ("google", "numpy", "sphinx"):
        sections: list[Any] = Docstring(text).parse(style, warnings=False)
        for section in sections:
            assert section.kind.value in ("text", "admonition"), style


names = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)
sentences = st.from_regex(r"[A-Z][a-z]{1,6}( [a-z]{1,6}){0,3}\.", fullmatch=True)
# A word that is a heading at the start of a line.
HEADING = re.compile(r"^(note|see|warning|todo|tip|info)", re.IGNORECASE)


def google(body: list[str], parameters: dict[str, str], returns: str | None) -> str:
    sections = list(body)
    if parameters:
        entries = "".join(f"\n    {name}: {text}" for name, text in parameters.items())
        sections.append(f"Args:{entries}")
    return "\n\n".join(sections + ([f"Returns:\n    {returns}"] if returns else []))


def numpy(body: list[str], parameters: dict[str, str], returns: str | None) -> str:
    sections = list(body)
    if parameters:
        entries = "".join(f"\n{name} : int\n    {text}" for name, text in parameters.items())
        sections.append(f"Parameters\n----------{entries}")
    return "\n\n".join(sections + ([f"Returns\n-------\nint\n    {returns}"] if returns else []))


def sphinx(body: list[str], parameters: dict[str, str], returns: str | None) -> str:
    fields = [f":param {name}: {text}" for name, text in parameters.items()]
    fields += [f":returns: {returns}"] if returns else []
    return "\n\n".join([*body, "\n".join(fields)] if fields else body)


@given(
    st.lists(sentences.filter(lambda text: not HEADING.match(text)), min_size=1, max_size=3),
    st.dictionaries(names, sentences, max_size=3),
    st.none() | sentences,
)
@pytest.mark.parametrize("write", [google, numpy, sphinx], ids=lambda write: write.__name__)
def test_generated_docstrings_of_every_style_are_parsed(
    write: Any, body: list[str], parameters: dict[str, str], returns: str | None
) -> None:
    found = read_docstring(write(body, parameters, returns))
    assert found.description == "\n\n".join(body)
    assert dict(found.parameters) == parameters
    assert found.returns == returns
