"""What prompts about several tools have in common: the tools first, the query last.

Providers, and servers of one's own, keep what they have read of a prompt for the next one that
begins alike. All that is the same for every query comes first.
"""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._core import ReplyReader, repair_json
from ..exceptions import InvalidJSONError
from .question import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .candidates import Candidates
    from .question import Question

_reader = ReplyReader()

AGAIN = """

Your reply to this was of no use: {error}. Reply with that JSON object and nothing else."""
"""The end of a prompt that is asked again."""


def prompt_head(task: str, candidates: Candidates, reply: str) -> str:
    """The first part of a prompt, which is the same for every query.

    Args:
        task: What is to be done.
        offer: The tools.
        reply: What the reply has to look like.
    """
    parts = [task, "# Tools"]
    parts += [described.block for described in candidates.descriptions]
    parts.append(f"# Reply\n{reply}")
    examples = "\n".join(_examples(candidates))
    if examples:
        # Close to the query: small models go by what they read last.
        parts.append(f"# Examples\n{examples}")
    return "\n\n".join(parts) + "\n\n"


def _examples(candidates: Candidates) -> Iterator[str]:
    """Queries with their tools: one of each tool, then a second of each, and so on.

    Else the last ones would all be for the same tool.
    """
    rows = zip_longest(*(described.examples for described in candidates.descriptions))
    for row in rows:
        for name, example in zip(candidates.names, row, strict=True):
            if example is not None:
                yield f"{quoted(example)} is for {name}"


def fallback_sentence(candidates: Candidates) -> str:
    """What is said of the fallback, if it is among the tools."""
    if candidates.policy.fallback not in candidates.names:
        return ""
    return f" If none clearly does, it is {candidates.policy.fallback}."


def build_prompt(head: str, candidates: Candidates, question: Question, error: str | None) -> str:
    """The whole prompt.

    Args:
        head: Its first part.
        offer: The tools.
        question: What is asked.
        error: What was wrong with the reply to the same question.
    """
    prompt = head + question.ending(candidates.descriptions)
    return prompt if error is None else prompt + AGAIN.format(error=error)


class ReplyMembers(NamedTuple):
    """The object that a reply is or holds."""

    found: dict[str, Any]
    """Its members, mended; empty where there is no object."""
    error: str | None
    """Why there is no score among them."""


def read_members(content: str | Mapping[str, Any]) -> ReplyMembers:
    """What a reply says, without regard to which tools there are."""
    read = _reader.read(parse_object(content))
    found = dict(read.parameters)
    if read.score is not None:
        found["score"] = read.score
    return ReplyMembers(found, read.error)


def parse_object(content: str | Mapping[str, Any]) -> str | Mapping[str, Any]:
    """The object that the whole of a text is, if it is one; else the text.

    The reader looks for an object with a score, which in a broken list of scores is an inner one.
    """
    if isinstance(content, str):
        try:
            value: object = json.loads(repair_json(content)[0])
        except (InvalidJSONError, ValueError, RecursionError):
            return content
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
    return content
