"""JSON that is still being written."""

from collections.abc import Mapping
from typing import Any, Literal, final

from .call import Repair
from .parser import Limits

@final
class JsonStream:
    """A JSON value that is still being written, such as the structured reply of a model.

    `value` only grows: objects and lists get more members and items, the open string gets longer,
    and nothing else changes. Numbers, literals and keys appear when they are complete, values that
    the schema may still change when that is certain, and what depends on the whole text with
    `finish`. Text is read as arguments of calls are: with text or a fence around the value, with
    single quotes, comments, trailing commas and so on. Any split of the text into chunks gives the
    same values, in time linear in its length. Use a stream from one thread at a time.

    Args:
        schema: The JSON Schema of the value; any value if not given.
        repair: The extent of repair, as for `Parser`.
        limits: Bounds on depth and size; `Limits()` if not given.

    Raises:
        SchemaError: The schema is invalid, or has an unknown reference; nothing is fetched.
        ValueError: An option has an invalid value.

    Example:
        >>> stream = JsonStream({"properties": {"days": {"type": "integer"}}})
        >>> stream.push('{"city": "Os')
        True
        >>> stream.value, stream.open_path
        ({'city': 'Os'}, ('city',))
        >>> stream.push('lo", "days": "4"}')
        True
        >>> stream.value
        {'city': 'Oslo'}
        >>> stream.finish()
        {'city': 'Oslo', 'days': 4}
    """

    def __new__(
        cls,
        schema: Mapping[str, Any] | bool | None = None,
        *,
        repair: Literal["none", "syntax", "schema"] = "schema",
        limits: Limits | None = None,
    ) -> JsonStream: ...
    def push(self, chunk: str) -> bool:
        """Read the next chunk; return true if `value` or `open_path` may have changed.

        Raises:
            ValueError: The stream is finished.
        """
    @property
    def value(self) -> Any:
        """Value as far as it is written, as plain JSON values; None if there is nothing yet.

        These are always the same objects, which grow with each chunk: reading the value after each
        token costs as much as the token. `snapshot` returns a value that stays as it is.
        """
    def snapshot(self) -> Any:
        """Return a copy of the value that does not grow.

        Only the containers that are still open are copied, which costs as much as they have members
        and items; complete parts are shared with `value`.
        """
    @property
    def open_path(self) -> tuple[str | int, ...] | None:
        """Path of the innermost value that is incomplete, as keys and indexes.

        It leads to the string that is being written, or to the open container; it is ``()`` for the
        whole value, and None if no value is open.
        """
    @property
    def repairs(self) -> tuple[Repair, ...]:
        """All repairs of the text and the value; empty before `finish`."""
    def finish(self, *, truncated: bool = False) -> Any:
        """End the text; return the value of the whole, repaired and valid, which is then `value`.

        The rules are those for arguments of calls, except that the value may be of any type.

        Args:
            truncated: True if the model was cut off. Then the value is incomplete, even if it looks
                complete.

        Raises:
            ValidationError: The text is not a valid value, with all violations. `value` keeps what
                was written. This includes a repeated key that contradicts the value shown before.
            ValueError: The stream is finished.
        """
    def fresh(self) -> JsonStream:
        """Return a stream for the same schema and options, without any text.

        Nothing is compiled again.
        """
