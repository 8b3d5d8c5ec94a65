"""Stray calls: markup of a call in text, under a name that is not offered where it stands.

A model without function calling writes ``<Add>{...}</Add>`` in a scene that has no such tool, or
misspells one that there is. The parser knows nothing of these names, so that they stay in the text:

    >>> names = NameMatcher(["Add", "Divide"], ["Add", "Divide", "get_weather"])
    >>> names.nearest("Divde"), names.nearest("get_weather"), names.nearest("Add"), names.nearest("table")
    ('Divide', 'get_weather', None, None)
    >>> before, stray = split_calls('I divide. <Divde>{"a": 6, "b": 2}</Divde>', names)
    >>> stray.name, stray.nearest, stray.arguments
    ('Divde', 'Divide', {'a': 6, 'b': 2})
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._core import Discarded, FunctionContract, InvalidToolCall, Parser, TextDelta, ToolCall
from ..exceptions import ContractError
from .html import HTML_ELEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any

_MAX_NAME = 200
_NAME = rf"[^\s<>/][^\s<>]{{0,{_MAX_NAME - 1}}}"
_OPENING = re.compile(rf"<({_NAME})\s*>")
_CLOSING = re.compile(rf"</({_NAME})\s*>")
_UNFINISHED = re.compile(rf"<(?:({_NAME})\s*)?\Z")
_OBJECT = re.compile(r"\s*(?:(?:`{3,}|~{3,})[^\n]*\n\s*)?\{")

# Comparing spellings is slow, and a reply may hold any number of tags.
_MAX_COMPARED = 200
# A short name has many neighbours that mean something else.
_SHORT_NAME = 5
_MAX_SPLITS = 16


@dataclass(frozen=True)
class UnregisteredCall:
    """A call of a tool that is not offered, as the model wrote it."""

    name: str
    """The name that the model wrote."""
    nearest: str
    """The name of a tool or scene that it is, or is spelled like."""
    arguments: Mapping[str, Any]
    """The arguments; empty if they cannot be read."""
    raw: str
    """The text with its tags."""


class NameMatcher:
    """The names that a stray call may mean.

    Args:
        offered: What the model can call, and what is not looked for therefore.
        known: All tools and scenes.
        ignored: Whether a name means something else.
    """

    def __init__(
        self,
        offered: Collection[str],
        known: Iterable[str],
        *,
        ignored: Callable[[str], bool] | None = None,
    ) -> None:
        self._ignored = ignored
        self.offered = tuple(offered)
        """The names that the model can call."""
        # Of two names that are equally near, one that is offered is meant.
        self._known = frozenset(here := dict.fromkeys([*self.offered, *known]))
        self._here = frozenset(self.offered)
        self._folded: dict[str, str] = {}
        for each in here:
            self._folded.setdefault(each.casefold(), each)
        self._found: dict[str, str | None] = {}
        self._compared = 0

    def nearest(self, name: str) -> str | None:
        """The name that is meant by one that cannot be called here; None if it means nothing.

        That is the name itself, or one that differs from it in case and in at most two edits, in
        one if it is shorter than five letters. The elements of HTML mean themselves.
        """
        if name in self._here:
            return None
        if name not in self._found:
            means = _can_be_called(name) and not (self._ignored and self._ignored(name))
            self._found[name] = self._near(name) if means else None
        return self._found[name]

    def resembles(self, name: str) -> bool:
        """Return True if a name in a closing tag can be that of a call."""
        return name in self._here or self.nearest(name) is not None

    def _near(self, name: str) -> str | None:
        if name in self._known:
            return name
        folded = name.casefold()
        if folded in HTML_ELEMENTS:
            return None
        if folded in self._folded:
            return self._folded[folded]
        if self._compared >= _MAX_COMPARED:
            return None
        close = [
            (known, each)
            for known, each in self._folded.items()
            if abs(len(known) - len(folded)) <= _edits(each)
        ]
        self._compared += bool(close)
        for limit in (1, 2):
            for known, each in close:
                if limit <= _edits(each) and within_edits(folded, known, limit):
                    return each
        return None


def split_calls(text: str, names: NameMatcher) -> list[str | UnregisteredCall]:
    """The text in pieces, with the stray calls that stand outside of code.

    Joined with the `raw` of the calls the pieces are the text, but for closing tags that belong to
    a call and stand apart from it.

    Args:
        text: What a parser has left of a reply.
        names: What a stray call may mean.
    """
    parts: list[str | UnregisteredCall] = []
    rest = text
    for _ in range(_MAX_SPLITS):
        found, rest = _split(rest, names)
        parts += found
        if not rest:
            break
    else:
        parts.append(rest)
    return _merge(parts, names)


def find_possible_call(text: str, names: NameMatcher) -> tuple[int, bool]:
    """Find where a stray call begins or may begin, in text that goes on; True if for certain.

    Args:
        text: The text so far.
        names: What a stray call may mean.
    """
    for match in _OPENING.finditer(text):
        if names.nearest(match[1]) is not None:
            return match.start(), True
    last = _UNFINISHED.match(text, text.rfind("<")) if "<" in text else None
    if last is None:
        return len(text), False
    return last.start(), len(text) - last.start() > 2 * _MAX_NAME


def within_edits(one: str, other: str, limit: int) -> bool:
    """Return True if two names are at most so many edits apart.

    An edit adds, drops or changes a letter, or swaps two neighbours.

    Example:
        >>> within_edits("divde", "divide", 1), within_edits("dvidie", "divide", 1), within_edits("add", "sum", 2)
        (True, False, False)
    """
    start = 0
    for left, right in zip(one, other):  # noqa: B905 - up to the end of the shorter one
        if left != right:
            break
        start += 1
    one, other = one[start:], other[start:]
    if abs(len(one) - len(other)) > limit:
        return False
    if limit == 0 or not one or not other:
        return len(one) <= limit and len(other) <= limit
    swapped = one[:2] == other[1::-1] and len(one) > 1 and len(other) > 1
    return (
        within_edits(one[1:], other[1:], limit - 1)
        or within_edits(one[1:], other, limit - 1)
        or within_edits(one, other[1:], limit - 1)
        or (swapped and within_edits(one[2:], other[2:], limit - 1))
    )


def _edits(name: str) -> int:
    return 1 if len(name) < _SHORT_NAME else 2


def _can_be_called(name: str) -> bool:
    try:
        FunctionContract(name)
    except ContractError:
        return False
    return True


def _split(text: str, names: NameMatcher) -> tuple[list[str | UnregisteredCall], str]:
    """The pieces of a text, up to a call that has no end of its own; and what comes after it."""
    written = dict.fromkeys(match[1] for match in _OPENING.finditer(text))
    meant = {name: nearest for name in written if (nearest := names.nearest(name)) is not None}
    if not meant:
        return [text], ""
    parts: list[str | UnregisteredCall] = []
    parser = Parser([*meant], deltas=False, reasoning_tags=())
    fenced = False
    at = 0
    for event in (*parser.push(text), *parser.finish()):
        raw = event.text if isinstance(event, TextDelta) else getattr(event, "raw", "")
        at += len(raw)
        if isinstance(event, TextDelta):
            parts.append(raw)
        elif isinstance(event, Discarded):
            fenced ^= event.reason == "fence"
            is_orphan = event.reason == "orphan_close" and not fenced
            if not (is_orphan and any(isinstance(each, UnregisteredCall) for each in parts)):
                parts.append(raw)
        elif isinstance(event, (ToolCall, InvalidToolCall)) and event.name in meant:
            if fenced or not _has_object(event):
                parts.append(raw)
                continue
            end = _end_of(event, names)
            arguments = event.arguments if isinstance(event, ToolCall) else {}
            parts.append(UnregisteredCall(event.name, meant[event.name], arguments, raw[:end]))
            if end < len(raw):
                # It is closed by another name, behind which a parser that knows no such name
                # cannot find its way.
                return parts, text[at - len(raw) + end :]
        else:
            parts.append(raw)
    return parts, ""


def _end_of(call: ToolCall | InvalidToolCall, names: NameMatcher) -> int:
    """The end of a call; one without a closing tag ends at the first one of a like name."""
    closings = [*_CLOSING.finditer(call.raw)]
    own = closings and closings[-1][1] == call.name and closings[-1].end() == len(call.raw)
    for match in () if own else closings:
        if names.resembles(match[1]):
            return match.end()
    return len(call.raw)


def _has_object(call: ToolCall | InvalidToolCall) -> bool:
    body = call.raw[call.raw.find(">") + 1 :]
    if isinstance(call, ToolCall):
        return "{" in body
    return _OBJECT.match(body) is not None


def _merge(parts: list[str | UnregisteredCall], names: NameMatcher) -> list[str | UnregisteredCall]:
    """The pieces with neighbouring texts as one, and without what closes a call by another name."""
    joined: list[str | UnregisteredCall] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part:
            joined.append(part)
    for number, part in enumerate(joined[1:], 1):
        if isinstance(part, str) and isinstance(joined[number - 1], UnregisteredCall):
            closing = _CLOSING.match(part.lstrip())
            if closing is not None and names.resembles(closing[1]):
                joined[number] = part.lstrip()[closing.end() :]
    return [part for part in joined if part]
