"""Parsing of docstrings: descriptions of the tool, its parameters and its result.

The style (Google, NumPy or Sphinx) is recognized by the headings, and griffe parses the sections.
A docstring without headings is plain text and does not need griffe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

DocstringStyle: TypeAlias = Literal["google", "numpy", "sphinx"]
"""Style of a docstring."""


class Documentation(NamedTuple):
    """Contents of a docstring."""

    description: str | None = None
    """Text without the sections."""
    parameters: Mapping[str, str] = MappingProxyType({})
    """Descriptions of parameters, by name."""
    returns: str | None = None
    """Description of the result."""


# Headings of the three styles, for `re.VERBOSE`. They are not recognized inside of prose.
_HEADINGS: Mapping[DocstringStyle, str] = {
    "google": r"""^(?i:args|arguments|params|parameters|keyword\ args|keyword\ arguments
        |other\ args|other\ arguments|other\ params|other\ parameters|raises|exceptions|returns
        |yields|receives|warns|warnings|examples?|attributes|functions|methods|classes|modules
        |deprecated):[ ]*\n(?:[ ]*\n)*[ ]+\S""",
    "numpy": r"""^(?i:parameters|other\ parameters|returns|yields|receives|raises|warns|examples
        |attributes|functions|methods|classes|modules|deprecated)[ ]*\n-{3,}[ ]*$""",
    "sphinx": r"""^:(?:param|parameter|arg|argument|key|keyword|type|raises?|except|exception
        |returns?|rtype|var|ivar|cvar|vartype)\b[^:\n]*:""",
}


def style_of(text: str) -> DocstringStyle | None:
    """Return the style of a docstring by its first heading; None without headings."""
    found: list[tuple[int, DocstringStyle]] = []
    for style, heading in _HEADINGS.items():
        if (match := re.search(heading, text, re.MULTILINE | re.VERBOSE)) is not None:
            found.append((match.start(), style))
    return min(found)[1] if found else None


def read_docstring(text: str | None) -> Documentation:
    """Parse a docstring, indented as `inspect.getdoc` returns it."""
    if text is None or not text.strip():
        return Documentation()
    style = style_of(text)
    if style is None:
        return Documentation(text.strip())

    from griffe import Docstring

    # Without this, griffe warns about every parameter whose type is only in the signature.
    sections: list[Any] = Docstring(text).parse(style, warnings=False)
    paragraphs: list[str] = []
    parameters: dict[str, str] = {}
    returned: dict[str, str] = {}
    for section in sections:
        _read(section, paragraphs, parameters, returned)
    return Documentation(
        "\n\n".join(paragraphs) or None,
        parameters,
        returned.get("returns") or returned.get("yields"),
    )


class _Section(Protocol):
    """Section of a docstring, as griffe parses it."""

    kind: str
    title: str | None
    value: Any


def _read(
    section: _Section,
    paragraphs: list[str],
    parameters: dict[str, str],
    returned: dict[str, str],
) -> None:
    kind: str = section.kind
    value: Any = section.value
    match kind:
        case "text":
            paragraphs.append(str(value).strip())
        case "admonition" if value.kind != "example":
            title = section.title or str(value.kind).capitalize()
            paragraphs.append(f"{title}: {str(value.contents).strip()}")
        case "parameters" | "other parameters":
            for item in value:
                for name in str(item.name).split(","):
                    parameters[name.strip().lstrip("*")] = _one_line(item.description)
        case "returns" | "yields":
            texts = [_named(item) for item in value]
            returned[kind] = "; ".join(text for text in texts if text)
        case _:
            # Exceptions and examples are for readers of the code.
            return


def _named(item: Any) -> str:
    text = _one_line(item.description)
    return f"{item.name}: {text}" if item.name else text


def _one_line(text: object) -> str:
    return " ".join(str(text or "").split())
