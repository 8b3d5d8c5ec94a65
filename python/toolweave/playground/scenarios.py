"""The prompts that the playground knows the replies to, and who wrote these.

A scenario is a JSON file: a prompt, what it shows, and what the model says each time that it is
asked, which may depend on the results. Most replies are recorded: a real model wrote them, and
they come as they came. The rest is written by hand, for what no model could be made to do, and says
so. A reply by hand may tell the result that it is about, as ``{result}``.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from ..models.recording import RecordedReply
from ..play.recordings import Recording, recordings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Kind: TypeAlias = Literal["agent", "scenes", "selection"]
"""What answers: an agent, a manager of scenes, or an agent with the tools that were selected."""

BY_HAND = "written by hand"
NOT_RECORDED = "(What the model said to this was not recorded.)"

_PIECE = re.compile(r"\s*\S{1,5}|\s+$")
"""What replies by hand come in: about as much as a token."""

_PIECE_MS = 40
_FIRST_MS = 300


@dataclass(frozen=True)
class Alternative:
    """A reply, and when it is given."""

    text: str | None
    """What the last results have to contain for it; None for anything."""
    reply: RecordedReply | str
    """The reply; a text, if it is written by hand."""

    def fits(self, results: Sequence[str]) -> bool:
        """Whether it is a reply to these results."""
        return self.text is None or any(self.text in result for result in results)

    def reply_to(self, prompt: str, results: Sequence[str]) -> RecordedReply:
        """The reply to these results."""
        if isinstance(self.reply, RecordedReply):
            return self.reply
        return written(prompt, self.reply.replace("{result}", "; ".join(results)))

    @property
    def model(self) -> str | None:
        """Whose reply it is; None if it is written by hand."""
        return None if isinstance(self.reply, str) else self.reply.model


@dataclass(frozen=True)
class Scenario:
    """A prompt with what is said to it."""

    name: str
    """What the file is called, without its number."""
    label: str
    """What it shows, in a few words."""
    prompt: str
    """What the user says."""
    kind: Kind
    """What answers."""
    turns: tuple[tuple[Alternative, ...], ...]
    """What the model says each time that it is asked: the first that fits."""
    scores: Mapping[str, Any] | None = None
    """How the tools of a registry are scored, as a model would say it; by hand, too."""

    @property
    def source(self) -> str:
        """Where the replies come from, for the reader."""
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
        """The label, with what is written by hand of what it shows."""
        if self.scores is not None:
            return f"{self.label} (scores {BY_HAND})"
        return f"{self.label} ({BY_HAND})" if self.turns[0][0].model is None else self.label

    def reply(self, turn: int, results: Sequence[str]) -> RecordedReply:
        """What the model says.

        Args:
            turn: How often it was asked before in this scenario.
            results: The results that it is to answer to.
        """
        if turn < len(self.turns):
            for each in self.turns[turn]:
                if each.fits(results):
                    return each.reply_to(self.prompt, results)
        return written(self.prompt, NOT_RECORDED)


@functools.cache
def scenarios() -> tuple[Scenario, ...]:
    """The scenarios that are suggested, in that order."""
    folder = files("toolweave.playground") / "data" / "scenarios"
    found = sorted(folder.iterdir(), key=lambda file: file.name)
    return tuple(
        _scenario(file.name.removesuffix(".json"), json.loads(file.read_text(encoding="utf-8")))
        for file in found
        if file.name.endswith(".json")
    )


def scenario_for(prompt: str) -> Scenario | None:
    """The scenario that begins with a prompt, whatever its case and spaces.

    Prompts of the recordings that no scenario begins with are known as well.
    """
    wanted = _folded(prompt)
    for scenario in scenarios():
        if _folded(scenario.prompt) == wanted:
            return scenario
    for recording in recordings():
        if _folded(recording.prompt) == wanted:
            return _of_recording(recording)
    return None


def alternatives(turn: object) -> list[dict[str, Any]]:
    """The replies of a turn, in the file of a scenario: one, or a list of them."""
    return cast("list[dict[str, Any]]", turn if isinstance(turn, list) else [turn])


def reply_of(prompt: str, fields: Mapping[str, Any]) -> RecordedReply | str:
    """A reply as a scenario has it: one of the recordings, a text by hand, or recorded here."""
    if "recording" in fields:
        return _recording(fields["recording"]).reply
    if "text" in fields:
        return str(fields["text"])
    return RecordedReply.from_dict({"prompt": prompt, **fields})


def written(prompt: str, text: str) -> RecordedReply:
    """A text as if a model had said it."""
    pieces = _PIECE.findall(text)
    return RecordedReply.from_dict(
        {
            "prompt": prompt,
            "deltas": pieces,
            "delta_ms": [_FIRST_MS + number * _PIECE_MS for number in range(len(pieces))],
            "finish_reason": "stop",
        }
    )


def _folded(prompt: str) -> str:
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
