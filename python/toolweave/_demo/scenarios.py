"""The scenarios of the playground: prompts with recorded or hand-written replies.

A scenario is a JSON file with a prompt, a label, and the replies to each request, which may depend
on the results. Most replies are recorded from real models, with their timing. The others are
hand-written, for behaviour that no model could be made to show, and labelled as such. A
hand-written reply may contain ``{result}``, which is replaced by the last results.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from ..models.recording import RecordedReply
from .recordings import Recording, recordings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Kind: TypeAlias = Literal["agent", "scenes", "selection"]
"""Kind of a scenario: an agent, a manager of scenes, or an agent with a selected tool."""

BY_HAND = "written by hand"
NOT_RECORDED = "(The reply to this was not recorded.)"

_PIECE = re.compile(r"\s*\S{1,5}|\s+$")
"""Pieces of hand-written replies, about the size of a token."""

_PIECE_MS = 40
_FIRST_MS = 300


@dataclass(frozen=True)
class Alternative:
    """A reply and its condition."""

    text: str | None
    """Text that one of the last results must contain; None for any results."""
    reply: RecordedReply | str
    """The reply; a text if it is hand-written."""

    def matches(self, results: Sequence[str]) -> bool:
        """Return true if the condition holds for these results."""
        return self.text is None or any(self.text in result for result in results)

    def reply_to(self, prompt: str, results: Sequence[str]) -> RecordedReply:
        """Return the reply to these results."""
        if isinstance(self.reply, RecordedReply):
            return self.reply
        return written(prompt, self.reply.replace("{result}", "; ".join(results)))

    @property
    def model(self) -> str | None:
        """Name of the recorded model; None if the reply is hand-written."""
        return None if isinstance(self.reply, str) else self.reply.model


@dataclass(frozen=True)
class Scenario:
    """A prompt with its replies."""

    name: str
    """Name of the file, without its number."""
    label: str
    """Label that describes the scenario in a few words."""
    prompt: str
    """Message of the user."""
    kind: Kind
    """Kind of responder."""
    turns: tuple[tuple[Alternative, ...], ...]
    """Alternatives for each reply; the first one whose condition holds is used."""
    scores: Mapping[str, Any] | None = None
    """Scores of the tools of the registry, in the format of a model's reply; hand-written."""

    @property
    def source(self) -> str:
        """Description of the origin of the replies."""
        replies = self._replies
        return replies if self.scores is None else f"the scores are {BY_HAND}; {replies}"

    @property
    def _replies(self) -> str:
        authors = [each.model for turn in self.turns for each in turn]
        models = " and ".join(dict.fromkeys(name for name in authors if name is not None))
        if not models:
            return BY_HAND
        if None not in authors:
            return f"recorded replies of {models}"
        if authors[0] is None:
            return f"the first reply is {BY_HAND}, the others are recorded replies of {models}"
        return f"recorded replies of {models}; the last one is {BY_HAND}"

    @property
    def title(self) -> str:
        """The label, marked if the first reply or the scores are hand-written."""
        if self.scores is not None:
            return f"{self.label} (scores {BY_HAND})"
        return f"{self.label} ({BY_HAND})" if self.turns[0][0].model is None else self.label

    def reply(self, turn: int, results: Sequence[str]) -> RecordedReply:
        """Return a reply of the model.

        Args:
            turn: Number of earlier requests in this scenario.
            results: The last results.
        """
        if turn < len(self.turns):
            for each in self.turns[turn]:
                if each.matches(results):
                    return each.reply_to(self.prompt, results)
        return written(self.prompt, NOT_RECORDED)


@functools.cache
def scenarios() -> tuple[Scenario, ...]:
    """Return the suggested scenarios, in order."""
    folder = files("toolweave._demo.playground") / "data" / "scenarios"
    found = sorted(folder.iterdir(), key=lambda file: file.name)
    return tuple(
        _scenario(file.name.removesuffix(".json"), json.loads(file.read_text(encoding="utf-8")))
        for file in found
        if file.name.endswith(".json")
    )


def scenario_for(prompt: str) -> Scenario | None:
    """Return the scenario of a prompt, ignoring case and spaces.

    Prompts of recordings without a scenario are found as well.
    """
    wanted = _normalized(prompt)
    for scenario in scenarios():
        if _normalized(scenario.prompt) == wanted:
            return scenario
    for recording in recordings():
        if _normalized(recording.prompt) == wanted:
            return _of_recording(recording)
    return None


def alternatives(turn: object) -> list[dict[str, Any]]:
    """Return the alternatives of a turn in a scenario file: one, or a list."""
    return cast("list[dict[str, Any]]", turn if isinstance(turn, list) else [turn])


def reply_of(prompt: str, fields: Mapping[str, Any]) -> RecordedReply | str:
    """Parse a reply of a scenario: a reference to a recording, a text, or a recorded reply."""
    if "recording" in fields:
        return _recording(fields["recording"]).reply
    if "text" in fields:
        return str(fields["text"])
    return RecordedReply.from_dict({"prompt": prompt, **fields})


def written(prompt: str, text: str) -> RecordedReply:
    """Return a hand-written reply in paced pieces."""
    pieces = _PIECE.findall(text)
    return RecordedReply.from_dict(
        {
            "prompt": prompt,
            "deltas": pieces,
            "delta_ms": [_FIRST_MS + number * _PIECE_MS for number in range(len(pieces))],
            "finish_reason": "stop",
        }
    )


def _normalized(prompt: str) -> str:
    return " ".join(prompt.casefold().split())


def _recording(name: str) -> Recording:
    return next(each for each in recordings() if each.name == name)


def _of_recording(recording: Recording) -> Scenario:
    first = Alternative(None, recording.reply)
    return Scenario(recording.name, recording.shows, recording.prompt, "agent", ((first,),))


def _scenario(name: str, fields: Mapping[str, Any]) -> Scenario:
    prompt: str = fields["prompt"]
    turns = [
        tuple(Alternative(each.get("if"), reply_of(prompt, each)) for each in alternatives(turn))
        for turn in fields["replies"]
    ]
    return Scenario(
        name=name.partition("-")[2],
        label=fields["label"],
        prompt=prompt,
        kind=cast("Kind", fields.get("kind", "agent")),
        turns=tuple(turns),
        scores=fields.get("scores"),
    )
