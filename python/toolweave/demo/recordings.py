"""Replies of real models, recorded delta by delta as their server sent them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .. import FunctionContract

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PAUSE = 0.5
"""Seconds; what a model thinks before its first word is not worth waiting for."""

SELECTION = ("email-list", "no-closing-tag", "missing-body", "cut-off", "repairs")
"""What to play where someone watches: under a minute at the recorded pace."""


@dataclass(frozen=True)
class Recording:
    """One reply to one prompt."""

    name: str
    shows: str
    """Why it is worth a look."""
    source: str
    """`recorded`, or `written by hand`."""
    model: str | None
    temperature: float | None
    system: str
    """The system prompt that the model was given."""
    prompt: str
    finish_reason: str
    """`stop`, or `length` if the model was cut off."""
    deltas: tuple[str, ...]
    delta_ms: tuple[int, ...]
    """When each delta came, in milliseconds from the request."""

    @property
    def facts(self) -> str:
        """Where the reply comes from, for the reader."""
        if self.model is None:
            return self.source
        today = self.system.partition("Today is ")[2].partition(".")[0]
        return (
            f"{self.source} reply of {self.model}, temperature {self.temperature:g}, "
            f"told that today is {today}"
        )

    def chunks(self, speed: float | None) -> Iterator[str]:
        """The deltas, `speed` times as fast as they came but for long pauses; at once if None."""
        before = 0
        for delta, at in zip(self.deltas, self.delta_ms, strict=True):
            if speed is not None:
                time.sleep(min((at - before) / 1000 / speed, MAX_PAUSE))
                before = at
            yield delta


def recordings() -> tuple[Recording, ...]:
    """All recordings that come with the package, in their order."""
    folder = files("toolweave.demo") / "streams"
    systems = _read(folder / "systems.json")
    found: list[Recording] = []
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        number, _, rest = file.name.partition("-")
        if not number.isdigit():
            continue
        data = _read(file)
        found.append(
            Recording(
                name=rest.removesuffix(".json"),
                shows=data["shows"],
                source=data["source"],
                model=data["model"],
                temperature=data["temperature"],
                system=systems[data["system"]],
                prompt=data["prompt"],
                finish_reason=data["finish_reason"],
                deltas=tuple(data["deltas"]),
                delta_ms=tuple(data["delta_ms"]),
            )
        )
    return tuple(found)


def contracts() -> tuple[FunctionContract, ...]:
    """The tools that the models were offered."""
    return tuple(
        FunctionContract(**entry) for entry in _read(files("toolweave.demo") / "contracts.json")
    )


def _read(file: Any) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))
