"""Prompts about several tools: the tools first, the query last.

The part that is the same for every query comes first, so that prompt caches of providers apply.
"""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._core import ReplyReader, repair_json
from ..exceptions import InvalidJSONError
from ._question import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ._candidates import Candidates

_reader = ReplyReader()

_AGAIN = """

Your reply to this was of no use: {error}. Reply with that JSON object and nothing else."""


def prompt_head(task: str, candidates: Candidates, reply: str) -> str:
    """Return the first part of a prompt, which is the same for every query.

    Args:
        task: The instructions.
        candidates: The tools.
        reply: The description of the format of the reply.
    """
    parts = [task, "# Tools"]
    parts += [described.block for described in candidates.descriptions]
    parts.append(f"# Reply\n{reply}")
    examples = "\n".join(_examples(candidates))
    if examples:
        # Close to the query, since small models weigh what they read last.
        parts.append(f"# Examples\n{examples}")
    return "\n\n".join(parts) + "\n\n"


def _examples(candidates: Candidates) -> Iterator[str]:
    """Yield examples with their tools in turns: one of each tool, then a second of each.

    Otherwise the last examples would all be for the same tool.
    """
    rows = zip_longest(*(described.examples for described in candidates.descriptions))
    for row in rows:
        for name, example in zip(candidates.names, row, strict=True):
            if example is not None:
                yield f"{quoted(example)} is for {name}"


def fallback_sentence(candidates: Candidates) -> str:
    """Return the instruction about the fallback, if it is among the tools."""
    if candidates.policy.fallback not in candidates.names:
        return ""
    return f" If none clearly does, it is {candidates.policy.fallback}."


def retry_prompt(prompt: str, error: str | None) -> str:
    """Return the prompt of the next attempt: with the error of the previous reply, if any."""
    return prompt if error is None else f"{prompt}{_AGAIN.format(error=error)}"


class ReplyMembers(NamedTuple):
    """JSON object in a reply."""

    found: dict[str, Any]
    """Members of the object, repaired; empty if there is no object."""
    error: str | None
    """Reason why they include no score."""


def read_members(content: str | Mapping[str, Any]) -> ReplyMembers:
    """Read the JSON object in a reply, whichever tools there are."""
    read = _reader.read(parse_object(content))
    found = dict(read.parameters)
    if read.score is not None:
        found["score"] = read.score
    return ReplyMembers(found, read.error)


def parse_object(content: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    """Parse a text that is a JSON object as a whole; return any other text unchanged.

    `ReplyReader` looks for an object with a score, which in a broken list of scores would be an
    inner one.
    """
    if isinstance(content, str):
        try:
            value: object = json.loads(repair_json(content)[0])
        except (InvalidJSONError, ValueError, RecursionError):
            return content
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
    return content
