"""Questions to a selector, and prompts about several tools: the tools first, the query last.

The part that is the same for every query comes first, so that prompt caches of providers apply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .._checks import wrong_type
from .._core import ReplyReader, repair_json, type_name
from ..exceptions import InvalidJSONError
from ..registry._purpose import QUERY_PLACEHOLDERS
from ._describe import TYPE_PLACEHOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ._candidates import Candidates
    from ._describe import Description

_reader = ReplyReader()

_AGAIN = """

Your reply to this was of no use: {error}. Reply with that JSON object and nothing else."""


class Question:
    """Query with its type, site and context.

    Args:
        query: The query.
        item_type: The type, in its short form.
        site: The site, if any.
        context: Values of further placeholders.
    """

    def __init__(
        self, query: str, item_type: str, site: str | None, context: Mapping[str, str]
    ) -> None:
        self.query = query
        """The query."""
        self.item_type = item_type
        """The type, in its short form; empty until it is known."""
        self.site = site
        """The site, if any."""
        self.context = context
        """Values of further placeholders."""

    def with_type(self, item_type: str) -> Question:
        """Return the same question with another type."""
        return Question(self.query, item_type, self.site, self.context)

    def values(self) -> dict[str, str]:
        """Return the values of all known placeholders; the context takes precedence."""
        values = {"request.site": self.site or ""}
        for name in QUERY_PLACEHOLDERS:
            values[name] = self.query
        for name in TYPE_PLACEHOLDERS:
            values[name] = self.item_type
        values.update(self.context)
        return values

    def ending(self, descriptions: Sequence[Description]) -> str:
        """Return the last part of a prompt about several tools: the query, as data.

        Texts of users are JSON strings on one line, so they cannot look like parts of the prompt.
        """
        # The context may replace the query, for example to include earlier queries.
        query = self.context.get("request.query", self.query)
        sections = [f"# Query\n{quoted(query)}"]
        known = {
            name: self.context[name]
            for description in descriptions
            for name in description.facts
            if name in self.context
        }
        if known:
            facts = "\n".join(f"[{name}]: {quoted(value)}" for name, value in known.items())
            sections.insert(0, f"# Facts\n{facts}")
        return "\n\n".join(sections)


# `json.dumps` makes a new one each time.
_encode = json.JSONEncoder(ensure_ascii=False).encode


def quoted(text: str) -> str:
    """Return a text as a JSON string on one line."""
    return _encode(text)


def build_question(
    query: object, item_type: object, site: object, context: Mapping[str, str] | None
) -> Question:
    """Build a question from the arguments of a caller.

    Raises:
        TypeError: An argument is of the wrong type.
    """
    # Cached selections are fast enough for the calls of `check_type` to be noticed.
    if not isinstance(query, str):
        raise wrong_type("query", "a str", query)
    if item_type is not None and not isinstance(item_type, str):
        raise wrong_type("item_type", "a str or None", item_type)
    if site is not None and not isinstance(site, str):
        raise wrong_type("site", "a str or None", site)
    if context is not None and not isinstance(cast("object", context), Mapping):
        raise wrong_type("context", "a mapping", context)
    values: dict[str, str] = {}
    for name, value in (context or {}).items():
        if not isinstance(cast("Any", name), str) or not isinstance(cast("Any", value), str):
            wanted = "names of placeholders to strings"
            raise TypeError(f"context must map {wanted}, got {type(value).__name__} for {name!r}")
        values[name] = _clean(value)
    site = None if site is None else _clean(site)
    about = "" if item_type is None else type_name(_clean(item_type))
    return Question(_clean(query), about, site, values)


def _clean(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


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
