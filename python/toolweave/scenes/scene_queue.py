"""What a run has still to do, as plain data: a run that waits for its client goes on from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .request import SceneMode


@dataclass(frozen=True)
class SceneEntry:
    """A scene to enter."""

    scene: str
    """Its key."""
    purpose: str | None = None
    """What for, where a plan says so."""
    step: int | None = None
    """The number of the step, where there is a plan."""
    depends_on: tuple[int, ...] = ()
    """The steps that it needs the results of."""
    follows: bool = False
    """Whether the conversation ends with the answer of another scene."""


@dataclass
class SceneQueue:
    """What there is to do."""

    mode: SceneMode
    """How scenes are chosen."""
    pending: list[SceneEntry] = field(default_factory=list[SceneEntry])
    """The scenes to enter, the one that is being played first."""
    done: list[tuple[SceneEntry, str]] = field(default_factory=list["tuple[SceneEntry, str]"])
    """The scenes that have answered, and what."""

    def result_of(self, step: int) -> tuple[SceneEntry, str] | None:
        """What came of a step of the plan."""
        return next((each for each in self.done if each[0].step == step), None)

    def to_dict(self) -> dict[str, Any]:
        """The agenda as JSON has it."""
        return {
            "mode": self.mode,
            "queue": [_entry_to_dict(entry) for entry in self.pending],
            "done": [[_entry_to_dict(entry), text] for entry, text in self.done],
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> SceneQueue:
        """Reads what `to_dict` writes.

        Raises:
            ValueError: It is something else.
        """
        try:
            mode: SceneMode = fields["mode"]
            queue = [_entry_from_dict(entry) for entry in fields["queue"]]
            done = [(_entry_from_dict(entry), str(text)) for entry, text in fields["done"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a queue as SceneQueue.to_dict returns it: {error!r}") from error
        return cls(mode, queue, done)


def _entry_to_dict(entry: SceneEntry) -> dict[str, Any]:
    return {**asdict(entry), "depends_on": list(entry.depends_on)}


def _entry_from_dict(fields: Mapping[str, Any]) -> SceneEntry:
    return SceneEntry(
        fields["scene"],
        fields.get("purpose"),
        fields.get("step"),
        tuple(fields.get("depends_on", ())),
        bool(fields.get("follows")),
    )
