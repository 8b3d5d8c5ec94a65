"""The coloured screen; needs `rich`, which the extra `cli` brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .screens import MARGIN, Kind, Line, visible

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

STYLES: dict[Kind, str] = {
    "title": "bold reverse",
    "note": "dim",
    "user": "bold",
    "prompt": "dim cyan",
    "text": "default",
    "thinks": "italic dim",
    "held": "yellow",
    "call": "bold blue",
    "args": "blue",
    "ready": "bold green",
    "mended": "magenta",
    "result": "green",
    "failed": "red",
    "invalid": "bold red",
    "skipped": "dim",
    "invented": "bold red",
    "history": "cyan",
    "end": "bold",
}
HELD = "black on yellow"


class ColourScreen:
    """A terminal: finished lines scroll up, below them one line grows."""

    def __init__(self, console: Console) -> None:
        self._console = console
        # Lives only while a line grows: an empty one would leave a gap, and one that is
        # started again would erase as many lines as it had before.
        self._growing: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _raised: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._stop()

    def show(self, line: Line) -> None:
        """Print it; what was growing there is part of it, or comes again."""
        self._stop()
        text = Text(line.text, style=STYLES[line.kind])
        if line.kind == "title":
            self._console.print(Padding(Text(f" {line.text} ", style=text.style), (1, 0, 0, 0)))
        elif line.kind == "end":
            self._console.print(Padding(text, (1, 0, 0, 0)))
        else:
            self._console.print(_row(line.kind, text))

    def grow(self, line: Line | None, held: str) -> None:
        """Redraw what grows, and next to it what is held back."""
        if line is None and not held:
            self._stop()
            return
        grown = Text(line.text if line else "", style=STYLES[line.kind] if line else "")
        if held:
            grown.append(visible(held), style=HELD)
        rows = [_row(line.kind if line else "held", grown)]
        if held:
            rows.append(_row("", Text("held back: it may be a call", style="dim yellow")))
        if self._growing is None:
            self._growing = Live(console=self._console, auto_refresh=False, transient=True)
            self._growing.start()
        self._growing.update(Group(*rows), refresh=True)

    def _stop(self) -> None:
        if self._growing is not None:
            self._growing.stop()
            self._growing = None


def _row(label: str, text: Text) -> Table:
    row = Table.grid(padding=(0, 1, 0, 0))
    row.add_column(width=MARGIN - 2, justify="right", no_wrap=True)
    row.add_column(overflow="fold")
    row.add_row(Text(label, style="dim"), text)
    return row
