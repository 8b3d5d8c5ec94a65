"""Steps and results of runs."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, cast

from ..executor._results import to_json_value
from ..kinds import SceneStatus, SceneStopReason
from ..natural._output import output_of, short_output
from ..output._schema import Output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import Repair
    from .._messages import Message


@dataclass(frozen=True)
class SceneStep:
    """One step of a run.

    The usage and the cost of a reply are on the first step after that reply and on no other, so the
    amounts of all steps sum up to the totals.
    """

    status: SceneStatus
    """The kind of step."""
    scene: str | None = None
    """The name of the scene, as given."""
    function: str | None = None
    """The name of the tool."""
    message: str | None = None
    """The text of the model, or a sentence about the step; the final text on the last step, a piece
    of text on a `Streaming` step."""
    error: str | None = None
    """The full text of an error, without secrets; None if there was none."""
    call_id: str | None = None
    """The id of the call."""
    arguments: Mapping[str, Any] | None = None
    """The arguments of the call."""
    result: str | None = None
    """The result of the call, as the model reads it."""
    input_tokens: int = 0
    """Tokens of the prompts since the last step, cached ones included."""
    output_tokens: int = 0
    """Tokens of the replies since the last step."""
    cost: Decimal | None = None
    """The cost since the last step; None if there was none or the price is unknown."""
    total_cost: Decimal = Decimal(0)
    """The cost of the run so far, for models with a price."""
    fatal: bool = False
    """True if an `Error` ends the run."""
    stop_reason: SceneStopReason | None = None
    """The stop reason; on the last step only."""
    total_input_tokens: int = 0
    """Tokens of all prompts of the run so far."""
    total_output_tokens: int = 0
    """Tokens of all replies of the run so far."""
    estimated: bool = False
    """True if the tokens are an estimate because the provider did not report them."""
    interaction_id: str | None = None
    """The id that the client sends with the result of an `AwaitingClient` step."""
    duration: float | None = None
    """The run time of the tool, in seconds."""
    conversation: str | None = None
    """The key of the conversation."""
    message_id: str | None = None
    """The id of the message that has the text of a `Streaming` or `Running` step, or the call."""
    reference: str | None = None
    """The reference in the log of the exception behind `error`; None if it was raised on
    purpose."""
    notice: str | None = None
    """A sentence about unexpected markup in a text, or about repairs of a plan or decision."""

    @property
    def is_last(self) -> bool:
        """True if the run ends with this step."""
        return self.status is SceneStatus.COMPLETED

    def to_dict(self) -> dict[str, Any]:
        """Return the step as a JSON object: camelCase names, amounts as strings, None omitted."""
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
    """A call that a run has executed."""

    scene: str
    """The name of the scene, as given."""
    function: str
    """The name of the tool."""
    call_id: str
    """The id of the call."""
    arguments: Mapping[str, Any]
    """The arguments of the call."""
    result: str
    """The result, as the model reads it."""
    is_error: bool
    """True if the call failed."""


@dataclass(frozen=True, repr=False)
class SceneResult(Generic[Output]):
    """The result of a run. Its repr is one line, with the text shortened and without messages."""

    text: str
    """The final text: the answer of the last scene."""
    stop_reason: SceneStopReason
    """The reason why the run ended."""
    conversation: str
    """The key of the conversation, for the next request."""
    scenes: tuple[str, ...]
    """The scenes in the order in which they were entered."""
    executed: tuple[ExecutedTool, ...]
    """The calls in order of execution."""
    messages: tuple[Message, ...]
    """All messages of the conversation, without texts of actors."""
    new_messages: tuple[Message, ...]
    """The messages that this run added."""
    input_tokens: int
    """Tokens of all prompts of the run."""
    output_tokens: int
    """Tokens of all replies of the run."""
    total_cost: Decimal
    """The cost of the run, for models with a price."""
    estimated: bool
    """True if some of the tokens are estimates."""
    unpriced: tuple[str, ...]
    """The models without a price, whose cost is not in `total_cost`."""
    iterations: int
    """Number of requests to models."""
    awaiting: tuple[SceneStep, ...] = ()
    """The `AwaitingClient` steps of calls that wait for the client."""
    error: str | None = None
    """The error that ended the run; None if there was none."""
    exception: BaseException | None = field(default=None, compare=False)
    """The exception that ended the run; None if there was none."""
    notice: str | None = None
    """A sentence about markup in the final text of a call that was not run."""
    repairs: tuple[Repair, ...] = ()
    """The repairs of plans and decisions of the model, in order."""

    _output: Any = None

    @property
    def output(self) -> Output:
        """The output of the run: the text, unless the manager or the run has an output type.

        Raises:
            OutputError: The run ended without a valid output.
        """
        return cast("Output", output_of(self._output))

    def __repr__(self) -> str:
        return (
            f"SceneResult({short_output(self._output, self.text)}, "
            f"stop_reason={self.stop_reason.value!r}, scenes={self.scenes}, "
            f"iterations={self.iterations}, tokens={self.input_tokens + self.output_tokens})"
        )
