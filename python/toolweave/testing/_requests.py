"""Requests as they are recorded: a canonical form, and the differences between two of them."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, cast

from .._core import UsageMessage

if TYPE_CHECKING:
    from .._core import FunctionContract
    from .._messages import Message
    from ..protocols import ModelOptions

Normalize = Callable[[str], str]
"""A function that replaces the parts of a text that differ from run to run."""

_VOLATILE = frozenset(("messageId", "runId", "generationId", "chatId", "metadata", "duration"))
# Ids that natural tool use gives to calls that the model wrote none for.
_RANDOM_ID = re.compile(r"\bcall_[0-9a-f]{12}_\d+\b")
_SECRET_KEY = re.compile(
    r"authorization|cookie|credential|passw|secret|(^|[-_])(api|access|private)?[-_]?key$|token$",
    re.IGNORECASE,
)
_HEADERS = re.compile(r"headers$", re.IGNORECASE)
_REDACTED = "<redacted>"
_MOST_LINES = 60
_MOST_COLUMNS = 200


@dataclass(frozen=True)
class RecordedRequest:
    """A request in the form in which it is written to a file and compared."""

    model: str
    """Label of the model."""
    messages: list[Any]
    """Messages as dicts, without what differs from run to run."""
    tools: list[Any]
    """Tools for native calls, as dicts."""
    options: dict[str, Any]
    """Options that are set, without secrets."""

    @classmethod
    def of(
        cls,
        model: str,
        messages: Sequence[Message],
        tools: Sequence[FunctionContract],
        options: ModelOptions | None,
        normalize: Normalize | None,
    ) -> RecordedRequest:
        """Return the canonical form of a request.

        Usage, ids of messages, runs and replies, durations and metadata are dropped, and random ids
        of calls are numbered. Options that may hold secrets are redacted.
        """
        numbers: dict[str, str] = {}

        def clean(text: str) -> str:
            def number(found: re.Match[str]) -> str:
                return numbers.setdefault(found[0], f"call_{len(numbers) + 1}")

            text = _RANDOM_ID.sub(number, text)
            return text if normalize is None else normalize(text)

        return cls(
            model,
            [
                _cleaned(message.to_dict(), clean)
                for message in messages
                if not isinstance(message, UsageMessage)
            ],
            [tool.to_dict() for tool in tools],
            _options(options),
        )

    @property
    def key(self) -> str:
        """The request as a text that equal requests share."""
        return json.dumps(
            [self.model, self.messages, self.tools, self.options], sort_keys=True, default=str
        )

    def similarity(self, other: RecordedRequest) -> tuple[int, int]:
        """Return how much two requests have in common: larger for more similar ones."""
        pairs = zip(self.messages, other.messages, strict=False)
        same = sum(mine == recorded for mine, recorded in pairs)
        return same, (self.tools == other.tools) + (self.options == other.options)

    def diff(self, recorded: RecordedRequest) -> str:
        """Return what differs from a recorded request: diffs of its parts, of bounded size."""
        parts = (
            ("messages", recorded.messages, self.messages),
            ("tools", recorded.tools, self.tools),
            ("options", recorded.options, self.options),
        )
        lines = [line for part, before, now in parts for line in _diff(part, before, now)]
        if len(lines) > _MOST_LINES:
            lines[_MOST_LINES:] = [f"... and {len(lines) - _MOST_LINES} more lines"]
        return "\n".join(lines)


def _diff(part: str, before: object, now: object) -> Iterator[str]:
    if before == now:
        return
    yield f"{part} have changed (- recorded, + sent):"
    old, new = (_lines(value) for value in (before, now))
    # The cost of a diff grows with the product of its sides.
    start = next(
        (at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]),
        min(len(old), len(new)),
    )
    first = max(start - 3, 0)
    compared = difflib.unified_diff(
        old[first : first + 400], new[first : first + 400], n=3, lineterm=""
    )
    for line in compared:
        if not line.startswith(("---", "+++", "@@")):
            yield f"  {line if len(line) <= _MOST_COLUMNS else line[: _MOST_COLUMNS - 3] + '...'}"


def _lines(value: object) -> list[str]:
    """Return JSON in lines, with the lines of texts apart."""
    written = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, default=str)
    return [
        piece for line in written.splitlines() for piece in line.replace("\\n", "\\n\n").split("\n")
    ]


def _cleaned(value: object, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {
            key: _cleaned(item, clean)
            for key, item in cast("Mapping[str, object]", value).items()
            if key not in _VOLATILE
        }
    if isinstance(value, (list, tuple)):
        return [_cleaned(item, clean) for item in cast("Sequence[object]", value)]
    return value


def _options(options: ModelOptions | None) -> dict[str, Any]:
    if options is None:
        return {}
    given = {each.name: getattr(options, each.name) for each in fields(options)}
    return {name: _plain(value) for name, value in given.items() if value not in (None, (), {})}


def _plain(value: object, *, secret: bool = False) -> Any:
    """Return a JSON value: secrets redacted, and other objects by the name of their type."""
    if isinstance(value, Mapping):
        return {
            str(key): _REDACTED
            if secret or _SECRET_KEY.search(str(key))
            else _plain(item, secret=bool(_HEADERS.search(str(key))))
            for key, item in cast("Mapping[object, object]", value).items()
        }
    if isinstance(value, (list, tuple)):
        return [_plain(item, secret=secret) for item in cast("Sequence[object]", value)]
    if secret:
        return _REDACTED
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    return f"<{type(value).__name__}>"
