"""Replies of real models, recorded delta by delta as their server sent them."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from ..models.recording import RecordedReply
from ..models.replay import ReplayModel

RECORDED_ON = datetime.date(2025, 5, 12)
"""What the recorded models were told that today is."""

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
    deltas: list[str]
    delta_ms: list[int]
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

    @property
    def reply(self) -> RecordedReply:
        """What the model said, and when."""
        fields = {
            "model": self.model,
            "prompt": self.prompt,
            "deltas": self.deltas,
            "delta_ms": self.delta_ms,
            "finish_reason": self.finish_reason,
        }
        return RecordedReply.from_dict(fields)

    def replay(self, speed: float | None) -> ReplayModel:
        """The model, `speed` times as fast as it was but for long pauses; at once if None."""
        return ReplayModel([self.reply], speed=speed)


def recordings() -> tuple[Recording, ...]:
    """All recordings that come with the package, in their order."""
    folder = files("toolweave.play") / "streams"
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
                deltas=data["deltas"],
                delta_ms=data["delta_ms"],
            )
        )
    return tuple(found)


def _read(file: Any) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))
