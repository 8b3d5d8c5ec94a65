"""The Python blocks of Markdown pages: each stands alone, or the text before it says what it needs.

The paragraph right before a block may say that it `goes on from the block above` or `goes on from
the first block`, and which names are there, as in "Given a `model`:".
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markdown_blocks import Block, blocks

_GOES_ON = re.compile(r"\bgoes on\s+from\s+the\s+(block\s+above|first\s+block)\b", re.IGNORECASE)
_GIVEN = re.compile(r"\bgiven\b(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block, and what the text before it says that it needs."""

    block: Block
    goes_on_from: Example | None
    given: frozenset[str]

    @property
    def bound(self) -> frozenset[str]:
        """The names that it leaves behind, with those that it goes on from."""
        before = self.goes_on_from.bound if self.goes_on_from else frozenset[str]()
        return _names(self.block.code)[0] | self.given | before

    @property
    def needed(self) -> frozenset[str]:
        """The names that it has from nowhere: not from itself, not from what it goes on from."""
        before = self.goes_on_from.bound if self.goes_on_from else frozenset[str]()
        return _names(self.block.code)[1] - before

    def run(self, page: str, **given: Any) -> Any:
        """Runs it in a namespace of its own, behind what it goes on from.

        Args:
            page: What tracebacks call the page.
            **given: The names that the page says are there.

        Returns:
            The namespace and, where the block awaits something, what is to be awaited.
        """
        namespace, _ = (
            self.goes_on_from.run(page, **given)
            if self.goes_on_from
            else ({"__name__": "__page__"}, None)
        )
        namespace.update({name: given[name] for name in self.given})
        # Empty lines in front, so that a traceback names the page's own line.
        source = "\n" * (self.block.line - 1) + self.block.code
        code = compile(source, page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        return namespace, eval(code, namespace)


def examples(markdown: str) -> list[Example]:
    """The Python blocks of a page, in order.

    Raises:
        ValueError: The first of them says that it goes on.
    """
    lines = markdown.splitlines()
    found: list[Example] = []
    for block in blocks(markdown):
        if block.language not in ("python", "py"):
            continue
        before = _paragraph(lines[: block.line - 2])
        marker = _GOES_ON.search(before)
        if marker and not found:
            raise ValueError(f"the block in line {block.line} has none to go on from")
        base = found[0 if "first" in marker[1].lower() else -1] if marker else None
        given = _GIVEN.search(before)
        names = re.findall(r"`([A-Za-z_]\w*)`", given[1]) if given else []
        found.append(Example(block, base, frozenset(names)))
    return found


def _paragraph(lines: list[str]) -> str:
    """The last paragraph of a text."""
    return "\n".join(lines).rstrip().rpartition("\n\n")[2]


def _names(code: str) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a block binds, and those that it needs from elsewhere."""
    # In a function it may await.
    wrapped = "async def block():\n" + textwrap.indent(code, " ") + " pass\n"
    [table] = symtable.symtable(wrapped, "block", "exec").get_children()
    free = {
        symbol.get_name()
        for scope in _scopes(table)
        for symbol in scope.get_symbols()
        if symbol.is_global() and symbol.is_referenced()
    }
    bound = frozenset(symbol.get_name() for symbol in table.get_symbols() if symbol.is_local())
    return bound, frozenset(free - set(vars(builtins)) - {"__name__"})


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _scopes(child)
