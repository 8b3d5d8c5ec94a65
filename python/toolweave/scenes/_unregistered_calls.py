"""Unregistered calls: markup of calls in text, of tools that the request does not have.

A model without function calling may write ``<Add>{...}</Add>`` in a scene without such a tool, or
misspell the name of a tool. The parser does not know these names, so the markup stays in the text:

    >>> names = NameMatcher(["Add", "Divide"], ["Add", "Divide", "get_weather"])
    >>> [names.nearest(name) for name in ("Divde", "get_weather", "Add", "table")]
    ['Divide', 'get_weather', None, None]
    >>> before, call = split_calls('I divide. <Divde>{"a": 6, "b": 2}</Divde>', names)
    >>> call.name, call.nearest, call.arguments
    ('Divde', 'Divide', {'a': 6, 'b': 2})
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._core import (
    Discarded,
    FunctionContract,
    InvalidToolCall,
    Parser,
    TextDelta,
    ToolCall,
    _is_html_element,
)
from ..exceptions import ContractError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Any

_MAX_NAME = 200
_NAME = rf"[^\s<>/][^\s<>]{{0,{_MAX_NAME - 1}}}"
_OPENING = re.compile(rf"<({_NAME})\s*>")
_CLOSING = re.compile(rf"</({_NAME})\s*>")
_UNFINISHED = re.compile(rf"<(?:({_NAME})\s*)?\Z")
_OBJECT = re.compile(r"\s*(?:(?:`{3,}|~{3,})[^\n]*\n\s*)?\{")

# Comparing names is slow, and a reply may have any number of tags.
_MAX_COMPARED = 200
# A short name is similar to many unrelated ones.
_SHORT_NAME = 5
_MAX_SPLITS = 16


@dataclass(frozen=True)
class UnregisteredCall:
    """A call in text of a tool that the request does not have."""

    name: str
    """The name that the model wrote."""
    nearest: str
    """The same or the most similar name of a tool or scene."""
    arguments: Mapping[str, Any]
    """The arguments; empty if they are invalid."""
    raw: str
    """The text of the call with its tags."""


class NameMatcher:
    """A matcher from the names of calls in text to the names of tools and scenes.

    Args:
        offered: The names that the model can call; calls of them are not unregistered.
        known: The names of all tools and scenes.
        ignored: Function that returns True for a name that is not to be matched.
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
        # Of two equally similar names, an offered one comes first.
        self._known = frozenset(here := dict.fromkeys([*self.offered, *known]))
        self._here = frozenset(self.offered)
        self._folded: dict[str, str] = {}
        for each in here:
            self._folded.setdefault(each.casefold(), each)
        self._found: dict[str, str | None] = {}
        self._compared = 0

    def nearest(self, name: str) -> str | None:
        """Return the known name that an unavailable name refers to, or None.

        That is the name itself, or one that differs from it in case and in at most two edits, or in
        one edit if it is shorter than five letters. HTML elements match nothing.
        """
        if name in self._here:
            return None
        if name not in self._found:
            means = _can_be_called(name) and not (self._ignored and self._ignored(name))
            self._found[name] = self._near(name) if means else None
        return self._found[name]

    def resembles(self, name: str) -> bool:
        """Return True if the name in a closing tag may be the name of a call."""
        return name in self._here or self.nearest(name) is not None

    def _near(self, name: str) -> str | None:
        if name in self._known:
            return name
        if _is_html_element(name):
            return None
        folded = name.casefold()
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
    """Split a text into pieces of text and the unregistered calls outside of code.

    Joined with the `raw` of the calls, the pieces are the text without closing tags that are
    detached from their call.

    Args:
        text: The text that the parser has left of a reply.
        names: The names of possible calls.
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
    """Return the start of a possible call in text that continues, and True if it is certain.

    Args:
        text: The text so far.
        names: The names of possible calls.
    """
    for match in _OPENING.finditer(text):
        if names.nearest(match[1]) is not None:
            return match.start(), True
    last = _UNFINISHED.match(text, text.rfind("<")) if "<" in text else None
    if last is None:
        return len(text), False
    return last.start(), len(text) - last.start() > 2 * _MAX_NAME


def within_edits(one: str, other: str, limit: int) -> bool:
    """Return True if two names differ in at most `limit` edits.

    An edit adds, removes or changes a letter, or swaps two adjacent ones.

    Example:
        >>> within_edits("divde", "divide", 1), within_edits("dvidie", "divide", 1)
        (True, False)
        >>> within_edits("add", "sum", 2)
        False
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
    """Return the pieces of a text up to a call with another closing tag, and the rest."""
    written = dict.fromkeys(match[1] for match in _OPENING.finditer(text))
    meant = {name: nearest for name in written if (nearest := names.nearest(name)) is not None}
    if not meant:
        return [text], ""
    parts: list[str | UnregisteredCall] = []
    parser = Parser([*meant], dialects=("natural",), deltas=False, reasoning_tags=())
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
                # The call is closed under another name, which the parser does not know, so that
                # the text after it has to be parsed anew.
                return parts, text[at - len(raw) + end :]
        else:
            parts.append(raw)
    return parts, ""


def _end_of(call: ToolCall | InvalidToolCall, names: NameMatcher) -> int:
    """Return the end of a call: its own closing tag, or the first one with a similar name."""
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
    """Merge adjacent texts, and remove closing tags that close a call under another name."""
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
