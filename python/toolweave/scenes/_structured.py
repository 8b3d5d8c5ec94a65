"""Structured replies: JSON that is validated and repaired like the arguments of tools."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from .._core import InvalidToolCall, TextMessage
from ..agent._loop import ReplyLoop
from ..exceptions import ValidationError
from ..kinds import Role, SceneStopReason
from ..output._reading import JsonReader
from ..protocols import ModelOptions
from ._ends import CUT_OFF_MESSAGES, StopRun
from ._model_turn import ModelTurn
from ._state import user

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .._core import Repair
    from ._state import RunState

T = TypeVar("T")

_log = logging.getLogger("toolweave.scenes")

_MAX_BYTES = 100_000
_MAX_PROBLEMS = 20
_MAX_SHOWN = 80


class InvalidReply(Exception):  # noqa: N818 - of a reply
    """A reply that fits its schema but is invalid for another reason.

    Args:
        problem: The problem, for the model to read.
        stop: The end of the run if the next reply is invalid too.
    """

    def __init__(self, problem: str, stop: StopRun) -> None:
        super().__init__(problem)
        self.stop = stop


async def ask_for(
    state: RunState,
    prompt: str,
    schema: Mapping[str, Any],
    use: Callable[[dict[str, Any], bool], T],
    *,
    accepted: Mapping[str, Any],
    noun: str,
    failure: str,
) -> tuple[T, str | None]:
    """Ask the model for JSON, and once more with the problem if the reply is invalid.

    The schema is part of the options, for providers that enforce it, and of the prompt, for others.

    Args:
        state: The run.
        prompt: The question, which follows the conversation; the scenes are listed after it.
        schema: The schema that the model is shown.
        use: Function that converts the JSON to a value, or raises `InvalidReply`. Its second
            argument is True for the second reply.
        accepted: The schema that the reply must fit; it may require less than `schema`.
        noun: The noun for the reply in messages: ``plan``, ``decision``.
        failure: The sentence of the `Error` step if no reply can be read.

    Returns:
        The value, and a sentence about repairs if the reply needed any.

    Raises:
        ModelError: A request failed, or a reply broke off.
        StopRun: The second reply is invalid too, or the budget is exceeded.
    """
    conversation = [*state.system(), *state.messages]
    question = prompt + state.scenes.describe()
    reader = JsonReader(accepted, _MAX_BYTES)
    options = replace(state.settings.options or ModelOptions(), response_schema=schema)
    form = f"Answer with JSON only, of this schema: {json.dumps(schema)}"
    for retrying in (False, True):
        # An empty reply is treated like any other that violates the schema.
        message = user(f"{question}\n\n{form}")
        turn = ModelTurn(state, state.scenes.plain, emits=False)
        reply = await turn.run([*conversation, message], options=options, loop=ReplyLoop(1))
        state.check_budget()
        text = reply.text
        read = reader.read(text, truncated=reply.finish_reason in CUT_OFF_MESSAGES)
        if isinstance(read, InvalidToolCall):
            problem, wrong = _invalid_reply(failure, text, read)
        else:
            try:
                value = use(read.arguments, retrying)
            except InvalidReply as invalid:
                problem, wrong = str(invalid), invalid.stop
            else:
                return value, _record_repairs(state, noun, read.repairs)
        if retrying:
            raise wrong
        _log.warning("a structured reply is invalid", extra={"what": noun, "problem": problem})
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
    """Record repairs, and return the sentence about them."""
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


def strict_object(**properties: Any) -> dict[str, Any]:
    """Return a schema for providers that enforce schemas: all fields are required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
