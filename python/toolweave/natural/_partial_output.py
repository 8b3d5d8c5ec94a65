"""The output of a run while its reply streams, as values that only grow."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from .._core import JsonStream
from ..output._members import RESULT
from ..output._reading import wrapped_schema
from ..tools._plain import is_array, is_object

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from ..output import OutputSchema

# Open members and items, and open text, that may be copied for each character that is read.
_ITEMS_PER_CHARACTER = 64
_TEXT_PER_CHARACTER = 1024


class PartialOutput:
    """The output in a reply that is still streaming, as far as it is certain.

    A value is a copy of what is still open: the containers around the last value, and the last
    string. A copy for each token would make the cost of a long list quadratic in its length, so the
    next value is due when the reply has grown by a fixed share of the last copy. That bounds the
    cost of all values by the length of the reply. Short replies have a value for each token.

    Args:
        schema: The schema of the output.
        enforced: True if the provider enforces the schema.
    """

    def __init__(self, schema: OutputSchema, *, enforced: bool) -> None:
        self._is_bare = schema.is_bare(enforced=enforced)
        asked = schema.schema if self._is_bare else wrapped_schema(schema.schema)
        self._stream = None if schema.is_text else JsonStream(asked)
        # The text of the reply, and the pieces that it does not have yet.
        self._text = ""
        self._pieces: list[str] = []
        self._changed = False
        # Number of characters to read before the next value.
        self._wait = 0

    def push(self, text: str) -> Any:
        """Read the next text; return the value so far if one is due, or None.

        The value does not change any more. It may equal the one before.
        """
        if self._stream is None:
            self._pieces.append(text)
            self._changed = self._changed or not text.isspace()
        else:
            self._changed = self._stream.push(text) or self._changed
        self._wait -= len(text)
        if self._wait > 0 or not self._changed:
            return None
        self._changed = False
        return self._copy_text() if self._stream is None else self._copy_value(self._stream)

    def _copy_text(self) -> str | None:
        self._text += "".join(self._pieces)
        self._pieces.clear()
        self._wait = len(self._text) // _TEXT_PER_CHARACTER
        return self._text.strip() or None

    def _copy_value(self, stream: JsonStream) -> Any:
        value: Any = stream.snapshot()
        self._wait = _cost_of_copy(value, stream.open_path)
        if self._is_bare:
            return value
        return value.get(RESULT) if is_object(value) else None


def _cost_of_copy(value: Any, open_path: tuple[str | int, ...] | None) -> int:
    """Return the number of characters that pay for a copy of what is open."""
    items = 0
    for step in open_path or ():
        items += len(value)
        value = value[step]
    if isinstance(value, str):
        return items // _ITEMS_PER_CHARACTER + len(value) // _TEXT_PER_CHARACTER
    if is_object(value) or is_array(value):
        items += len(value)
    return items // _ITEMS_PER_CHARACTER


async def partial_values(
    texts: AsyncGenerator[tuple[PartialOutput, str], None], final: Callable[[], Any]
) -> AsyncGenerator[Any, None]:
    """Yield the output of a run as far as it is written.

    Args:
        texts: The texts of replies, each with the reader of its reply.
        final: Function that returns the value of the output when the texts have ended.
    """
    last: Any = None
    async with aclosing(texts):
        async for partial, text in texts:
            value = partial.push(text)
            if value is not None and value != last:
                last = value
                yield value
    value = final()
    if last is None or value != last:
        yield value
