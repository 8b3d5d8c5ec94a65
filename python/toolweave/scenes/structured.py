"""Replies that are JSON of a certain shape: validated and mended as the arguments of tools are.

Whoever asks gets JSON that fits, however roughly it was written, or an error:

    >>> reader = Reader({"type": "object", "properties": {"continue": {"type": "boolean"}}})
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
from .asking import CUT, Asking
from .stage import Stop, user

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .. import Message, Repair, ToolCall
    from .stage import Stage

T = TypeVar("T")

_log = logging.getLogger("toolweave.scenes")

_NAME = "reply"
_MOST = 20
_LONGEST_SHOWN = 80


class Unusable(Exception):  # noqa: N818 - of a reply
    """Describes a reply that fits its schema and cannot be used nevertheless.

    Args:
        problem: The fault, for the model to read.
        stop: How the run ends if the next reply is no better.
    """

    def __init__(self, problem: str, stop: Stop) -> None:
        super().__init__(problem)
        self.stop = stop


class Reader:
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
    stage: Stage,
    messages: Sequence[Message],
    asked: str,
    schema: Mapping[str, Any],
    use: Callable[[dict[str, Any], bool], T],
    *,
    accepted: Mapping[str, Any],
    what: str,
    failure: str,
) -> tuple[T, str | None]:
    """Ask the model for JSON; once more, with what is wrong, if that cannot be used.

    It is told of the schema where providers can enforce one, and in words, for all others.

    Args:
        stage: The run.
        messages: What the model reads.
        asked: What it is to answer, behind these.
        schema: The schema that it is told.
        use: Makes something of the JSON, or raises `Unusable`. It is told whether this is the
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
    conversation, question = list(messages), asked
    reader = Reader(accepted)
    options = replace(stage.rules.options or ModelOptions(), response_schema=schema)
    form = f"Answer with JSON only, of this schema: {json.dumps(schema)}"
    for told in (False, True):
        # An empty reply is told like any other that does not fit.
        put = user(f"{question}\n\n{form}")
        asking = Asking(stage, stage.cast.plain, told=False)
        reply = await asking.ask([*conversation, put], options=options, most=1)
        stage.check_budget()
        text = reply.text
        read = reader.read(text, truncated=reply.finish_reason in CUT)
        if isinstance(read, InvalidToolCall):
            problem, wrong = _misfit(failure, text, read)
        else:
            try:
                made = use(read.arguments, told)
            except Unusable as unusable:
                problem, wrong = str(unusable), unusable.stop
            else:
                return made, _recorded(stage, what, read.repairs)
        if told:
            raise wrong
        _log.warning("a structured reply cannot be used", extra={"what": what, "problem": problem})
        conversation += [user(question), TextMessage(text or "{}", role=Role.ASSISTANT)]
        question = f"This {what} cannot be used. {problem} Make another one."
    raise AssertionError("unreachable")


def _misfit(message: str, text: str, read: InvalidToolCall) -> tuple[str, Stop]:
    found = "; ".join(violation.message for violation in read.violations[:_MOST])
    problem = f"It is not JSON of that schema: {found}."
    error = ValidationError(f"{message}: {found}", tuple(read.violations))
    stop = Stop(
        SceneStopReason.ERROR, message, error=f"{message}: {found}; it is: {text}", exception=error
    )
    return problem, stop


def _recorded(stage: Stage, what: str, repairs: Sequence[Repair]) -> str | None:
    """Keep what was mended, and return the sentence about it."""
    if not repairs:
        return None
    stage.repairs += repairs
    changes = "; ".join(_change(repair) for repair in repairs[:_MOST])
    _log.info("a structured reply was mended", extra={"what": what, "repairs": changes})
    return f"The {what} was mended: {changes}"


def _change(repair: Repair) -> str:
    before, after = (_shown(value) for value in (repair.before, repair.after))
    where = f"{repair.path}: " if repair.path else ""
    return f"{where}{repair.kind}, {before} became {after}"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 1]}…"
