"""Diagnostics of registries."""

from typing import Any, Literal, final

from typing_extensions import Self

@final
class Diagnostic:
    """An error or warning about a `tools.xml`, with its location."""

    __match_args__ = ("code", "severity", "message", "line", "column", "length", "hint")

    def __new__(
        cls,
        code: str,
        severity: Literal["error", "warning"],
        message: str,
        line: int = 1,
        column: int = 1,
        *,
        length: int = 1,
        hint: str | None = None,
    ) -> Self: ...
    @property
    def code(self) -> str:
        """The code, such as ``TW001``; see docs/explanation/registry.md."""

    @property
    def severity(self) -> Literal["error", "warning"]:
        """The severity: an error prevents loading, a warning does not."""

    @property
    def message(self) -> str:
        """A sentence that describes the problem."""

    @property
    def line(self) -> int:
        """The line, from 1."""

    @property
    def column(self) -> int:
        """The column in characters, from 1."""

    @property
    def length(self) -> int:
        """Number of characters of that line concerned, at least 1."""

    @property
    def hint(self) -> str | None:
        """A sentence that suggests a solution."""
    def __replace__(self, **changes: Any) -> Diagnostic: ...
