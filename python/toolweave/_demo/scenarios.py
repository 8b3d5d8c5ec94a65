"""The scenarios of the playground: prompts with recorded or hand-written replies, and their model.

A scenario is a JSON file with a prompt, a label, and the replies to each request, which may depend
on the results. Most replies are recorded from real models, with their timing. The others are
hand-written, for behaviour that no model could be made to show, and labelled as such. A
hand-written reply may contain ``{result}``, which is replaced by the last results.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from .._core import TextMessage, ToolAggregateMessage
from ..kinds import Role
from ..models import closing
from ..models.recording import RecordedReply
from ..models.replay import ReplayModel
from .recordings import Recording, recordings
from .resources import read_folder

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping, Sequence

    from .._core import FunctionContract
    from .._messages import Message, Update
    from ..protocols import ModelOptions

Kind: TypeAlias = Literal["agent", "scenes", "selection"]
"""Kind of a scenario: an agent, a manager of scenes, or an agent with a selected tool."""

BY_HAND = "written by hand"
NOT_RECORDED = "(The reply to this was not recorded.)"

_PIECE = re.compile(r"\s*\S{1,5}|\s+$")
"""Pieces of hand-written replies, about the size of a token."""

_PIECE_MS = 40
_FIRST_MS = 300

MAX_PAUSE = 0.15
"""Maximum pause between two pieces of a recorded reply, in seconds: the recorded models ran on one
busy processor."""


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
    return tuple(_scenario(name, fields) for name, fields in read_folder("scenarios"))


def scenario_for(prompt: str) -> Scenario | None:
    """Return the scenario of a prompt, ignoring case and spaces.

    Prompts of recordings without a scenario are found as well.
    """
    wanted = _normalized(prompt)
    known = (*scenarios(), *map(_of_recording, recordings()))
    return next((each for each in known if _normalized(each.prompt) == wanted), None)


def alternatives(turn: object) -> list[dict[str, Any]]:
    """Return the alternatives of a turn in a scenario file: one, or a list."""
    return cast("list[dict[str, Any]]", turn if isinstance(turn, list) else [turn])


def reply_of(prompt: str, fields: Mapping[str, Any]) -> RecordedReply | str:
    """Parse a reply of a scenario: a reference to a recording, a text, or a recorded reply."""
    if "recording" in fields:
        return next(each.reply for each in recordings() if each.name == fields["recording"])
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
        name=name,
        label=fields["label"],
        prompt=prompt,
        kind=cast("Kind", fields.get("kind", "agent")),
        turns=tuple(turns),
        scores=fields.get("scores"),
    )


def pace(speed: float | None) -> str:
    """Describe the pace of recorded replies.

    Args:
        speed: Multiple of the recorded pace; None for no pauses.
    """
    if speed is None:
        return "played without pauses"
    times = "" if speed == 1 else f"at {speed:g} times their pace, "
    return f"played {times}with pauses shortened to at most {MAX_PAUSE / speed:.2g} s"


class ScenarioModel:
    """A model that replays the replies of a scenario.

    Args:
        scenario: The scenario.
        messages_so_far: Callback for the conversation so far, whose results affect replies.
        speed: Multiple of the recorded pace; None for no pauses.
        turn: Number of replies that were given before.
    """

    native_tools = False
    provider = "replay"

    def __init__(
        self,
        scenario: Scenario,
        messages_so_far: Callable[[], Sequence[Message]],
        *,
        speed: float | None,
        turn: int = 0,
    ) -> None:
        self._scenario = scenario
        self._messages = messages_so_far
        self._speed = speed
        self._turn = turn
        self.name: str = scenario.turns[0][0].model or "script"
        """Name of the recorded model."""

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[FunctionContract] = (),
        options: ModelOptions | None = None,
    ) -> AsyncIterator[Update]:
        """Stream the next reply of the scenario."""
        reply = self._scenario.reply(self._turn, _results(self._messages()))
        self._turn += 1
        replay = ReplayModel(
            [reply],
            match="order",
            speed=self._speed,
            max_pause=MAX_PAUSE / (self._speed or 1),
        )
        async with closing(replay.stream(messages, tools=tools, options=options)) as updates:
            async for update in updates:
                yield update


def position(messages: Sequence[Message]) -> int:
    """Return the number of replies with calls since the last user message."""
    return len(_replies(messages))


def _results(messages: Sequence[Message]) -> list[str]:
    """Return the results of the last reply."""
    for calls in _replies(messages).values():
        return [result.result for message in reversed(calls) for result in message.tool_results]
    return []


def _replies(messages: Sequence[Message]) -> dict[str, list[ToolAggregateMessage]]:
    """Return the calls since the last user message by reply, the latest first."""
    found: dict[str, list[ToolAggregateMessage]] = {}
    for number, message in enumerate(reversed(messages)):
        if isinstance(message, TextMessage) and message.role is Role.USER:
            break
        if isinstance(message, ToolAggregateMessage):
            found.setdefault(message.generation_id or f"{number}", []).append(message)
    return found
