"""The Python blocks of Markdown pages, standalone or with a stated context.

The paragraph right before a block may say that it `continues the block above` or `continues the
first block`, and which names are defined, as in "Given a `model`:".
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

_CONTINUES = re.compile(r"\bcontinues\s+the\s+(block\s+above|first\s+block)\b", re.IGNORECASE)
_GIVEN = re.compile(r"\bgiven\b(.*)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A block and the context that the text before it states."""

    block: Block
    predecessor: Example | None
    given: frozenset[str]

    @property
    def bound(self) -> frozenset[str]:
        """The names that are bound after the block, including those of its predecessor."""
        before = self.predecessor.bound if self.predecessor else frozenset[str]()
        return _names(self.block.code)[0] | self.given | before

    @property
    def needed(self) -> frozenset[str]:
        """The names that neither the block nor its base binds."""
        before = self.predecessor.bound if self.predecessor else frozenset[str]()
        return _names(self.block.code)[1] - before

    def run(self, page: str, **given: Any) -> Any:
        """Run the block in a new namespace, after its base.

        Args:
            page: Name of the page in tracebacks.
            **given: Names that the page says are given.

        Returns:
            The namespace, and a coroutine to await if the block contains `await`.
        """
        namespace, _ = (
            self.predecessor.run(page, **given)
            if self.predecessor
            else ({"__name__": "__page__"}, None)
        )
        namespace.update({name: given[name] for name in self.given})
        # Empty lines in front, so that a traceback has the line number of the page.
        source = "\n" * (self.block.line - 1) + self.block.code
        code = compile(source, page, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        return namespace, eval(code, namespace)


def examples(markdown: str) -> list[Example]:
    """Return the Python blocks of a page, in order.

    Raises:
        ValueError: The first block continues another.
    """
    lines = markdown.splitlines()
    found: list[Example] = []
    for block in blocks(markdown):
        if block.language not in ("python", "py"):
            continue
        before = _paragraph(lines[: block.line - 2])
        marker = _CONTINUES.search(before)
        if marker and not found:
            raise ValueError(f"the block in line {block.line} has no block to continue")
        base = found[0 if "first" in marker[1].lower() else -1] if marker else None
        given = _GIVEN.search(before)
        names = re.findall(r"`([A-Za-z_]\w*)`", given[1]) if given else []
        found.append(Example(block, base, frozenset(names)))
    return found


def _paragraph(lines: list[str]) -> str:
    """Return the last paragraph of a text."""
    return "\n".join(lines).rstrip().rpartition("\n\n")[2]


def _names(code: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that a block binds, and its free names."""
    # Inside a function, `await` is allowed.
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
