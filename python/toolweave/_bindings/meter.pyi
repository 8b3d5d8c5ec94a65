"""Size of JSON text."""

from typing import final

@final
class JsonMeter:
    """A meter of the size of JSON text, used before the text is parsed.

    Invalid text is counted as well, at least up to its first error, so that the counts bound what a
    parser builds before it fails. Safe to share between threads.

    Example:
        >>> meter = JsonMeter()
        >>> meter.push(b'{"rows": [[1, 20], ')
        >>> meter.push(b'["a,b", null]]}')
        >>> meter.values, meter.depth, meter.longest_number
        (9, 3, 4)
    """

    def __new__(cls) -> JsonMeter: ...
    def push(self, piece: bytes) -> None:
        """Count the next chunk of the text."""
    @property
    def values(self) -> int:
        """Number of containers, strings, member names, numbers, booleans and nulls so far."""
    @property
    def depth(self) -> int:
        """Depth of the deepest container so far."""
    @property
    def longest_number(self) -> int:
        """Length of the longest number, or other word outside strings, in bytes."""
