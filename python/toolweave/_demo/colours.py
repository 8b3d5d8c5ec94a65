"""A coloured screen. Needs `rich`, which the extra `cli` installs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .screens import MARGIN, Line, LineKind, harmless, visible

if TYPE_CHECKING:
    from typing_extensions import Self

STYLES: dict[LineKind, str] = {
    LineKind.TITLE: "bold reverse",
    LineKind.NOTE: "dim",
    LineKind.USER: "bold",
    LineKind.PROMPT: "dim cyan",
    LineKind.TEXT: "default",
    LineKind.THINKS: "italic dim",
    LineKind.HELD: "yellow",
    LineKind.CALL: "bold blue",
    LineKind.ARGS: "blue",
    LineKind.REPAIRED: "magenta",
    LineKind.STARTS: "bold green",
    LineKind.WORKS: "dim green",
    LineKind.RESULT: "green",
    LineKind.FAILED: "red",
    LineKind.INVALID: "bold red",
    LineKind.ALL: "bold",
    LineKind.SKIPPED: "dim",
    LineKind.INVENTED: "bold red",
    LineKind.HISTORY: "cyan",
    LineKind.END: "bold",
}
HELD = "black on yellow"


class ColourScreen:
    """A terminal where finished lines scroll up, with one growing line below them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown: LineKind | None = None
        # Exists only while a line grows: an empty one would leave a gap, and a restarted one
        # would erase as many lines as it had before.
        self._growing: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_raised: object) -> None:
        self._stop()

    def show(self, line: Line) -> None:
        """Print a finished line in place of the growing one."""
        self._stop()
        text = Text(harmless(line.text), style=STYLES[line.kind])
        if line.kind == LineKind.TITLE:
            text.pad(1)
        if line.kind in (LineKind.TITLE, LineKind.END):
            self._console.print(Padding(text, (1, 0, 0, 0), expand=False))
        else:
            self._console.print(self._row(line.kind, text))
        self._shown = line.kind

    def grow(self, line: Line | None, held: str) -> None:
        """Redraw the growing line and the held-back text."""
        rows: list[Table] = []
        if line is not None and line.text:
            rows.append(self._row(line.kind, Text(harmless(line.text), style=STYLES[line.kind])))
        if held:
            text = Text().append(visible(held), HELD).append("  held back", "dim yellow")
            rows.append(self._row(LineKind.HELD, text))
        if not rows:
            self._stop()
            return
        if self._growing is None:
            self._growing = Live(console=self._console, auto_refresh=False, transient=True)
            self._growing.start()
        self._growing.update(Group(*rows), refresh=True)

    def _row(self, kind: LineKind, text: Text) -> Table:
        """Return a line with its kind in front, which only the first line of a kind shows."""
        row = Table.grid(padding=(0, 1, 0, 0))
        row.add_column(width=MARGIN - 2, justify="right", no_wrap=True)
        row.add_column(overflow="fold")
        row.add_row(Text("" if kind == self._shown else kind.value, style="dim"), text)
        return row

    def _stop(self) -> None:
        if self._growing is not None:
            self._growing.stop()
            self._growing = None
