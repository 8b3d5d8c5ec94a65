"""Everything this package raises.

ToolweaveError
├── ConsolidationError        (also a ValueError)
├── ContractError             (also a ValueError)
├── InvalidJSONError          (also a ValueError)
├── MessageError              (also a ValueError)
├── SchemaError               (also a ValueError)
└── ValidationError           (also a ValueError)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._core import Violation


class ToolweaveError(Exception):
    """The base of every exception in this package."""

    # Subclasses hand all they carry to `Exception`, so that they survive
    # pickling; the message is the first of it.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ConsolidationError(ToolweaveError, ValueError):
    """A history cannot be written as text."""

    def __init__(self, message: str, index: int) -> None:
        super().__init__(message, index)
        self.index = index
        """The position of the message that is at fault, from 0."""


class ContractError(ToolweaveError, ValueError):
    """A function contract cannot be used."""

    def __init__(self, message: str, tool: str, place: str = "") -> None:
        super().__init__(message, tool, place)
        self.tool = tool
        """The name of the tool, as given; empty where there was none."""
        self.place = place
        """Where in its schema, as a JSON Pointer; empty for the whole."""


class InvalidJSONError(ToolweaveError, ValueError):
    """Text is not JSON, or nothing that can be made into JSON."""

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(message, line, column)
        self.line = line
        """The line of the text where it stops being JSON, from 1."""
        self.column = column
        """The column of that line, from 1."""


class MessageError(ToolweaveError, ValueError):
    """A message cannot be read, or cannot be said in the form that was asked for."""

    def __init__(self, message: str, index: int | None = None, path: str = "") -> None:
        super().__init__(message, index, path)
        self.index = index
        """The position of the message, where there was a list of them."""
        self.path = path
        """Where in the message, as a JSON Pointer; empty for the message as a whole."""


class SchemaError(ToolweaveError, ValueError):
    """A JSON Schema cannot be used."""

    def __init__(self, message: str, path: str) -> None:
        super().__init__(message, path)
        self.path = path
        """Where in the schema, as a JSON Pointer; empty for the whole schema."""


class ValidationError(ToolweaveError, ValueError):
    """A value does not fit its schema."""

    def __init__(self, message: str, violations: tuple[Violation, ...]) -> None:
        super().__init__(message, violations)
        self.violations = violations
        """In which ways it does not fit: at least one."""
