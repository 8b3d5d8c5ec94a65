"""The remaining scenes of a run as plain data, from which a paused run resumes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._request import SceneMode


@dataclass(frozen=True)
class SceneEntry:
    """A scene to enter."""

    scene: str
    """The key of the scene."""
    purpose: str | None = None
    """The purpose that the plan gives; None without a plan."""
    step: int | None = None
    """The number of the step in the plan; None without a plan."""
    depends_on: list[int] = field(default_factory=list[int])
    """The numbers of the steps whose results this step needs."""
    follows: bool = False
    """True if the conversation ends with the answer of another scene."""


@dataclass
class SceneQueue:
    """Scenes still to enter and scenes that have answered."""

    mode: SceneMode
    """The way in which scenes are chosen."""
    pending: list[SceneEntry] = field(default_factory=list[SceneEntry])
    """The scenes to enter; the first one is running."""
    done: list[tuple[SceneEntry, str]] = field(default_factory=list["tuple[SceneEntry, str]"])
    """The scenes that have answered, with their answers."""

    def result_of(self, step: int) -> tuple[SceneEntry, str] | None:
        """Return the entry and the answer of a step of the plan."""
        return next((each for each in self.done if each[0].step == step), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the queue as a JSON object."""
        return {
            "mode": self.mode,
            "queue": [asdict(entry) for entry in self.pending],
            "done": [[asdict(entry), text] for entry, text in self.done],
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> SceneQueue:
        """Create a queue from the output of `to_dict`.

        Raises:
            ValueError: The fields are not such an output.
        """
        try:
            mode: SceneMode = fields["mode"]
            queue = [_entry_from_dict(entry) for entry in fields["queue"]]
            done = [(_entry_from_dict(entry), str(text)) for entry, text in fields["done"]]
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"fields must be an output of SceneQueue.to_dict, got {error!r}"
            ) from error
        return cls(mode, queue, done)


def _entry_from_dict(fields: Mapping[str, Any]) -> SceneEntry:
    return SceneEntry(
        fields["scene"],
        fields.get("purpose"),
        fields.get("step"),
        list(fields.get("depends_on", ())),
        bool(fields.get("follows")),
    )
