"""What a run tells: its steps, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..executor.results import to_json_value
from ..kinds import SceneStatus, SceneStopReason

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .. import Message, Repair


@dataclass(frozen=True)
class SceneStep:
    """One thing that happened in a run.

    What a reply of the model has used and cost stands on the first step after that reply, and only
    there, so that these sum up to the totals.
    """

    status: SceneStatus
    """What it is."""
    scene: str | None = None
    """The scene, by the name that it was given."""
    function: str | None = None
    """The tool."""
    message: str | None = None
    """What there is to read: the text of the model, or a sentence. Of the last step it is the final
    text, of a `Streaming` step the piece of text."""
    error: str | None = None
    """What went wrong, in full but for secrets, where something did."""
    call_id: str | None = None
    """The call that it is about."""
    arguments: Mapping[str, Any] | None = None
    """What the tool is called with."""
    result: str | None = None
    """What the tool answered, as the model reads it."""
    input_tokens: int = 0
    """Tokens of the prompts since the last step, cached ones included."""
    output_tokens: int = 0
    """Tokens of the replies since the last step."""
    cost: Decimal | None = None
    """What was spent since the last step; None where nothing was, or nobody knows the price."""
    total_cost: Decimal = Decimal(0)
    """What the run has spent so far, as far as the prices are known."""
    fatal: bool = False
    """Whether an `Error` ends the run."""
    stop_reason: SceneStopReason | None = None
    """Why the run ended; on the last step only."""
    total_input_tokens: int = 0
    """Tokens of all prompts of the run so far."""
    total_output_tokens: int = 0
    """Tokens of all replies of the run so far."""
    estimated: bool = False
    """Whether its tokens are an estimate, since the provider did not say."""
    interaction_id: str | None = None
    """What the client gives back with the result of an `AwaitingClient` step."""
    duration: float | None = None
    """How long the tool ran, in seconds."""
    conversation: str | None = None
    """The key of the conversation."""
    message_id: str | None = None
    """The message that the text of a `Streaming` or `Running` step, or the call of a step, is part
    of."""
    reference: str | None = None
    """The id under which the log has the exception that `error` tells of, unless that was raised
    on purpose."""
    notice: str | None = None
    """A sentence about something odd in a text, or mended in a decision of the model."""

    @property
    def is_last(self) -> bool:
        """Whether the run ends with it."""
        return self.status is SceneStatus.COMPLETED

    def to_dict(self) -> dict[str, Any]:
        """The step as JSON has it: names in camelCase, amounts as strings, nothing that is None."""
        written: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value is None:
                continue
            if isinstance(value, Enum):
                value = value.value
            head, *rest = each.name.split("_")
            key = head + "".join(word.capitalize() for word in rest)
            written[key] = f"{value:f}" if isinstance(value, Decimal) else to_json_value(value)
        return written


@dataclass(frozen=True)
class ExecutedTool:
    """A call that a run has made."""

    scene: str
    """The scene, by the name that it was given."""
    function: str
    """The tool."""
    call_id: str
    """The call."""
    arguments: Mapping[str, Any]
    """What the tool was called with."""
    result: str
    """What it answered, as the model reads it."""
    is_error: bool
    """Whether it failed."""


@dataclass(frozen=True)
class SceneResult:
    """What came of a run."""

    text: str
    """The final text: what the last scene answered."""
    stop_reason: SceneStopReason
    """Why the run ended."""
    conversation: str
    """The key of the conversation, to go on with."""
    scenes: tuple[str, ...]
    """The scenes that were entered, in that order."""
    executed: tuple[ExecutedTool, ...]
    """The calls that were made, in that order."""
    messages: tuple[Message, ...] = field(repr=False)
    """The whole conversation. What the scenes were told by actors is not part of it."""
    new_messages: tuple[Message, ...] = field(repr=False)
    """What this run has added."""
    input_tokens: int
    """Tokens of all prompts of the run."""
    output_tokens: int
    """Tokens of all replies of the run."""
    total_cost: Decimal
    """What the run has spent, as far as the prices are known."""
    estimated: bool
    """Whether some of the tokens are estimates."""
    unpriced: tuple[str, ...]
    """The models that have no price, and so are not in `total_cost`."""
    iterations: int
    """How often a model was asked."""
    awaiting: tuple[SceneStep, ...] = ()
    """What the client is to do, where the run waits for that."""
    error: str | None = None
    """What ended the run, where it did not end well."""
    exception: BaseException | None = field(default=None, compare=False)
    """The exception that ended the run, where one did."""
    notice: str | None = None
    """A sentence about something odd in the final text: markup of a call that was not run."""
    repairs: tuple[Repair, ...] = ()
    """The changes that the plan and decisions of the model needed, in that order."""
