"""Replies that are JSON of a certain shape."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from .._core import Validator, repair_json
from ..exceptions import InvalidJSONError
from ..protocols import ModelOptions
from .asking import Asking
from .stage import user

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .. import Message
    from .stage import Stage

_LONGEST = 100_000


async def ask_for(
    stage: Stage,
    messages: Sequence[Message],
    asked: str,
    schema: Mapping[str, Any],
    *,
    accepted: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any] | None, str]:
    """Asks the model for JSON.

    It is told of the schema where providers can enforce one, and in words, for all others.

    Args:
        stage: The run.
        messages: What the model reads.
        asked: What it is to answer, behind these.
        schema: The schema.
        accepted: A schema that asks for less, where misfits are to be told apart.

    Returns:
        The JSON, or None if what the model wrote does not fit the schema; and what it wrote.

    Raises:
        ModelError: The model could not be asked, or broke off.
        Stop: It was too expensive.
    """
    question = user(f"{asked}\n\nAnswer with JSON only, of this schema: {json.dumps(schema)}")
    options = replace(stage.rules.options or ModelOptions(), response_schema=schema)
    asking = Asking(stage, stage.cast.plain, told=False)
    # The reminder of an empty reply asks for text. Whoever needs the JSON asks again.
    reply = await asking.ask([*messages, question], options=options, most=1)
    stage.check_budget()
    return _read(reply.text, schema if accepted is None else accepted), reply.text


def _read(text: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    if len(text) > _LONGEST:
        return None
    try:
        value: object = json.loads(repair_json(text)[0])
        fits = Validator(schema).is_valid(value)
    except (InvalidJSONError, RecursionError, TypeError, ValueError):
        # Python reads what is no JSON value, too: 1e999 as infinity, half of a surrogate pair.
        return None
    return cast("dict[str, Any]", value) if fits else None
