"""Everything this package raises.

ToolweaveError
└── ContractError             (also a ValueError)
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

    def __init__(self, message: str, tool: str) -> None:
        super().__init__(message, tool)
        self.tool = tool
        """The name of the tool, as given."""
