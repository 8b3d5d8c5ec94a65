"""What a docstring says: of the tool, of its parameters, of its result.

Google, NumPy and Sphinx style are told apart by their headings and read by griffe. A docstring
without any is text, and griffe is not needed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

DocstringStyle: TypeAlias = Literal["google", "numpy", "sphinx"]
"""How a docstring is written."""


class Documentation(NamedTuple):
    """What a docstring says, flat."""

    description: str | None = None
    """What the function does: the text without the sections."""
    parameters: Mapping[str, str] = MappingProxyType({})
    """What each parameter is."""
    returns: str | None = None
    """What comes back."""


# The headings that the three styles know, for `re.VERBOSE`. In the middle of prose none is one.
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
    """The style of the sections of a docstring, by the first heading; None if it has none."""
    found: list[tuple[int, DocstringStyle]] = []
    for style, heading in _HEADINGS.items():
        if (match := re.search(heading, text, re.MULTILINE | re.VERBOSE)) is not None:
            found.append((match.start(), style))
    return min(found)[1] if found else None


def read_docstring(text: str | None) -> Documentation:
    """Reads a docstring, indented as `inspect.getdoc` gives it."""
    if text is None or not text.strip():
        return Documentation()
    style = style_of(text)
    if style is None:
        return Documentation(text.strip())

    from griffe import Docstring

    # Griffe would warn of every parameter whose type is only in the signature.
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
    """A section of a docstring, as griffe has it."""

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
            # What it raises, examples in Python: for readers of the code.
            return


def _named(item: Any) -> str:
    text = _one_line(item.description)
    return f"{item.name}: {text}" if item.name else text


def _one_line(text: object) -> str:
    return " ".join(str(text or "").split())
