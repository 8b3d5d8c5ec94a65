"""Everything this package raises.

ToolweaveError
├── ContractError             (also a ValueError)
└── MessageError              (also a ValueError)
"""

from __future__ import annotations


class ToolweaveError(Exception):
    """The base of every exception in this package."""

    # Subclasses hand all they carry to `Exception`, so that they survive
    # pickling; the message is the first of it.
    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class ContractError(ToolweaveError, ValueError):
    """A function contract cannot be used."""

    def __init__(self, message: str, tool: str, place: str = "") -> None:
        super().__init__(message, tool, place)
        self.tool = tool
        """The name of the tool, as given."""


class MessageError(ToolweaveError, ValueError):
    """A message cannot be read, or cannot be said in the form that was asked for."""

    def __init__(self, message: str, index: int | None = None, path: str = "") -> None:
        super().__init__(message, index, path)
        self.index = index
        """The position of the message, where there was a list of them."""
        self.path = path
        """Where in the message, as a JSON Pointer; empty for the message as a whole."""
        """The name of the tool, as given; empty where there was none."""
        self.place = place
        """Where in its schema, as a JSON Pointer; empty for the whole."""
