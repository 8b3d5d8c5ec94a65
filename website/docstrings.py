"""Extension of griffe: docstrings and constructors of this package as its pages show them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import griffe

PLAIN = re.compile(r"^(?P<indent>)>>> .*(?:\n.+)*", re.MULTILINE)
INDENTED = re.compile(r"^(?P<indent> *)>>> .*(?:\n(?P=indent).+)*", re.MULTILINE)
SECTION = re.compile(r"^Example:$", re.MULTILINE)
ROOT = Path(__file__).resolve().parent.parent
PAGE = re.compile(r"(?P<quote>`*)docs/(?P<path>[a-z/-]+)\.md(?P=quote)")
"""A page of the documentation, as docstrings name it."""


class PackageDocstrings(griffe.Extension):
    """Examples in fences, and `__new__` of a stub as the constructor."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Prepare an object of the package."""
        if obj.docstring:
            # A paragraph that begins with a prompt is no code in Markdown. An indented one is,
            # except in a section, which loses its indent.
            examples = INDENTED if SECTION.search(obj.docstring.value) else PLAIN
            value = examples.sub(r"\g<indent>```pycon\n\g<0>\n\g<indent>```", obj.docstring.value)
            obj.docstring.value = PAGE.sub(link_to_page, value)
        if obj.is_class and "__new__" in obj.members and "__init__" not in obj.members:
            constructor = obj.members["__new__"]
            if isinstance(constructor, griffe.Function):
                constructor.name = "__init__"
                constructor.parameters["cls"].name = "self"
                obj.members["__init__"] = constructor
                del obj.members["__new__"]


def link_to_page(named: re.Match[str]) -> str:
    """Return a link to a page, from the pages in ``reference/api``, with its title as the text."""
    text = (ROOT / named[0].strip("`")).read_text("utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    return f"[{title}](../../{named['path']}.html)"
