"""Replies of real models, recorded delta by delta as their server sent them."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from ..models.recording import RecordedReply
from ..models.replay import ReplayModel
from .resources import read_folder, read_json

RECORDED_ON = datetime.date(2025, 5, 12)
"""Date of the recordings, which the system prompts state as today."""

SELECTION = ("email-list", "no-closing-tag", "missing-body", "cut-off", "repairs")
"""Recordings that are played by default: under a minute at the recorded pace."""


@dataclass(frozen=True)
class Recording:
    """One reply to one prompt."""

    name: str
    id: str | None
    """Model, markup, temperature and prompt, if it was recorded."""
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
        """The reply with its timing, to the prompt alone."""
        return RecordedReply.from_dict({**vars(self), "system": None})

    def replay(self, speed: float | None) -> ReplayModel:
        """Return a model that replays at `speed` times the recorded pace; None for no pauses."""
        return ReplayModel([self.reply], speed=speed)


def recordings() -> tuple[Recording, ...]:
    """Return all recordings of the package, in order."""
    systems = read_json("recordings/systems.json")
    return tuple(
        Recording(name, **{**fields, "system": systems[fields["system"]]})
        for name, fields in read_folder("recordings")
    )
