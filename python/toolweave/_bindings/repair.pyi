"""Repair of JSON text."""

from .call import Repair

def repair_json(text: str) -> tuple[str, tuple[Repair, ...]]:
    """Repair text that should be one JSON object (or array); return it with the changes.

    Valid JSON is returned unchanged. Otherwise everything that is valid is kept as written, and no
    value is invented or dropped. The `before` and `after` of a repair are the beginning of the text
    there.

    Example:
        >>> text, repairs = repair_json("{city: 'Paris',}")
        >>> text
        '{"city": "Paris"}'
        >>> [repair.kind for repair in repairs]
        ['bare_key', 'quotes', 'trailing_comma']

    Raises:
        InvalidJSONError: The text cannot be repaired without guessing.
    """
