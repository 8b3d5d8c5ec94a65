"""Replies that are JSON of a certain shape: validated and mended as the arguments of tools are.

Whoever asks gets JSON that fits, however roughly it was written, or an error:

    >>> reader = JsonReader({"type": "object", "properties": {"continue": {"type": "boolean"}}})
    >>> reader.read('Sure: {"continue": "true"}').arguments
    {'continue': True}
    >>> [violation.message for violation in reader.read('{"continue": 1}').violations]
    ['/continue: 1 is not a boolean']
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from .._core import FunctionContract, InvalidToolCall, Limits, Parser, TextMessage
from ..exceptions import ValidationError
from ..kinds import Role, SceneStopReason
from ..protocols import ModelOptions
from .model_turn import CUT_OFF_MESSAGES, ModelTurn
from .state import StopRun, user

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .. import Message, Repair, ToolCall
    from .state import RunState

T = TypeVar("T")

_log = logging.getLogger("toolweave.scenes")

_NAME = "reply"
_MAX_PROBLEMS = 20
_MAX_SHOWN = 80


class InvalidReply(Exception):  # noqa: N818 - of a reply
    """Describes a reply that fits its schema and cannot be used nevertheless.

    Args:
        problem: The fault, for the model to read.
        stop: How the run ends if the next reply is no better.
    """

    def __init__(self, problem: str, stop: StopRun) -> None:
        super().__init__(problem)
        self.stop = stop


class JsonReader:
    """A reader of JSON that models write.

    Args:
        schema: What it has to fit.
    """

    def __init__(self, schema: Mapping[str, Any]) -> None:
        limits = Limits(max_argument_bytes=100_000)
        self._parser = Parser([FunctionContract(_NAME, None, schema)], limits=limits)

    def read(self, text: str, *, truncated: bool = False) -> ToolCall | InvalidToolCall:
        """Read a reply.

        Args:
            text: The reply.
            truncated: Whether it was cut off.
        """
        return self._parser.native_call(_NAME, _NAME, text, truncated=truncated)


async def ask_for(
    state: RunState,
    messages: Sequence[Message],
    prompt: str,
    schema: Mapping[str, Any],
    use: Callable[[dict[str, Any], bool], T],
    *,
    accepted: Mapping[str, Any],
    noun: str,
    failure: str,
) -> tuple[T, str | None]:
    """Ask the model for JSON; once more, with what is wrong, if that cannot be used.

    It is told of the schema where providers can enforce one, and in words, for all others.

    Args:
        stage: The run.
        messages: What the model reads.
        asked: What it is to answer, behind these.
        schema: The schema that it is told.
        use: Makes something of the JSON, or raises `InvalidReply`. It is told whether this is the
            second reply.
        accepted: The schema that its reply has to fit, which may ask for less.
        what: What is asked for, for messages: ``plan``, ``decision``.
        failure: The sentence of the `Error` if there is none that can be read.

    Returns:
        What was made of it, and a sentence on what had to be mended, if anything had to.

    Raises:
        ModelError: The model could not be asked, or broke off.
        Stop: The second reply cannot be used either; or it was too expensive.
    """
    conversation, question = list(messages), prompt
    reader = JsonReader(accepted)
    options = replace(state.settings.options or ModelOptions(), response_schema=schema)
    form = f"Answer with JSON only, of this schema: {json.dumps(schema)}"
    for retrying in (False, True):
        # An empty reply is told like any other that does not fit.
        message = user(f"{question}\n\n{form}")
        turn = ModelTurn(state, state.scenes.plain, emits=False)
        reply = await turn.run([*conversation, message], options=options, max_requests=1)
        state.check_budget()
        text = reply.text
        read = reader.read(text, truncated=reply.finish_reason in CUT_OFF_MESSAGES)
        if isinstance(read, InvalidToolCall):
            problem, wrong = _invalid_reply(failure, text, read)
        else:
            try:
                value = use(read.arguments, retrying)
            except InvalidReply as unusable:
                problem, wrong = str(unusable), unusable.stop
            else:
                return value, _record_repairs(state, noun, read.repairs)
        if retrying:
            raise wrong
        _log.warning("a structured reply cannot be used", extra={"what": noun, "problem": problem})
        conversation += [user(question), TextMessage(text or "{}", role=Role.ASSISTANT)]
        question = f"This {noun} cannot be used. {problem} Make another one."
    raise AssertionError("unreachable")


def _invalid_reply(message: str, text: str, read: InvalidToolCall) -> tuple[str, StopRun]:
    found = "; ".join(violation.message for violation in read.violations[:_MAX_PROBLEMS])
    problem = f"It is not JSON of that schema: {found}."
    error = ValidationError(f"{message}: {found}", tuple(read.violations))
    stop = StopRun(
        SceneStopReason.ERROR, message, error=f"{message}: {found}; it is: {text}", exception=error
    )
    return problem, stop


def _record_repairs(state: RunState, noun: str, repairs: Sequence[Repair]) -> str | None:
    """Keep what was repaired, and return the sentence about it."""
    if not repairs:
        return None
    state.repairs += repairs
    changes = "; ".join(_change(repair) for repair in repairs[:_MAX_PROBLEMS])
    _log.info("a structured reply was repaired", extra={"what": noun, "repairs": changes})
    return f"The {noun} was repaired: {changes}"


def _change(repair: Repair) -> str:
    before, after = (_shown(value) for value in (repair.before, repair.after))
    where = f"{repair.path}: " if repair.path else ""
    return f"{where}{repair.kind}, {before} became {after}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"
