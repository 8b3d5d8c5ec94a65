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
"""Date of the recordings, which the system prompts state as today."""

SELECTION = ("email-list", "no-closing-tag", "missing-body", "cut-off", "repairs")
"""Recordings that are played by default: under a minute at the recorded pace."""


@dataclass(frozen=True)
class Recording:
    """One reply to one prompt."""

    name: str
    shows: str
    """Subject of the recording."""
    source: str
    """`recorded`, or `written by hand`."""
    model: str | None
    temperature: float | None
    system: str
    """System prompt of the request."""
    prompt: str
    finish_reason: str
    """`stop`, or `length` if the reply was cut off."""
    deltas: list[str]
    delta_ms: list[int]
    """Arrival of each delta, in milliseconds from the request."""

    @property
    def facts(self) -> str:
        """Description of the origin of the reply."""
        if self.model is None:
            return self.source
        today = self.system.partition("Today is ")[2].partition(".")[0]
        return (
            f"{self.source} reply of {self.model}, temperature {self.temperature:g}, "
            f"prompted with the date {today}"
        )

    @property
    def reply(self) -> RecordedReply:
        """The reply with its timing."""
        fields = {
            "model": self.model,
            "prompt": self.prompt,
            "deltas": self.deltas,
            "delta_ms": self.delta_ms,
            "finish_reason": self.finish_reason,
        }
        return RecordedReply.from_dict(fields)

    def replay(self, speed: float | None) -> ReplayModel:
        """Return a model that replays at `speed` times the recorded pace; None for no pauses."""
        return ReplayModel([self.reply], speed=speed)


def recordings() -> tuple[Recording, ...]:
    """Return all recordings of the package, in order."""
    folder = files("toolweave._demo.play") / "streams"
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
