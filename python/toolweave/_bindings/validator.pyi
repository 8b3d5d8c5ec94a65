"""Validation of JSON values."""

from collections.abc import Mapping
from typing import Any, final

from typing_extensions import Self

@final
class Violation:
    """A violation of a schema by a value.

    Attributes:
        path: Location in the value, as a JSON Pointer; empty for the whole value. A missing
            property is reported at the object that lacks it.
        keyword: The schema keyword that failed, such as ``type`` or ``required``.
        message: A sentence with the location, which states what would be valid.
        expected: The value that the schema requires, if it names one: the name of the type, the
            options of an enum, the limit, the name of the missing property.
        actual: The value at `path`; if it is long, the beginning of its JSON as a string.
    """

    __match_args__ = ("path", "keyword", "message", "expected", "actual")

    def __new__(cls, path: str, keyword: str, message: str, expected: Any, actual: Any) -> Self: ...
    @property
    def path(self) -> str: ...
    @property
    def keyword(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def expected(self) -> Any: ...
    @property
    def actual(self) -> Any: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __replace__(self, **changes: Any) -> Violation: ...

@final
class Validator:
    """A compiled JSON Schema.

    All drafts are supported; the default without ``$schema`` is 2020-12. Nothing is fetched: a
    ``$ref`` refers to the schema, to ``resources`` or to a bundled meta-schema. ``format`` is an
    assertion where its draft says so (up to draft 7) and an annotation elsewhere.

    Args:
        schema: The schema.
        resources: Schemas that a ``$ref`` may refer to, by URI.

    Raises:
        SchemaError: The schema is invalid, has an unknown reference, or is too large to be safe;
            the message names the place.
        TypeError: The schema contains a value that is not JSON.

    Example:
        >>> validator = Validator({"properties": {"unit": {"enum": ["celsius", "fahrenheit"]}}})
        >>> validator.validate_json('{"unit": "celsius"}')
        {'unit': 'celsius'}
        >>> validator.iter_errors({"unit": "kelvin"})[0].message
        '/unit: "kelvin" is not one of "celsius", "fahrenheit"'
    """

    def __new__(
        cls,
        schema: Mapping[str, Any] | bool,
        *,
        resources: Mapping[str, Mapping[str, Any] | bool] | None = None,
    ) -> Validator: ...
    def validate_json(self, text: str | bytes) -> Any:
        """Parse ``text`` and return the value, if it is valid.

        Integers of up to 4,300 digits are exact. If a key is repeated, the last one counts.

        Raises:
            InvalidJSONError: The text is not JSON, is nested deeper than 128 levels, or has a
                number beyond the range of a float.
            ValidationError: The value is invalid.
        """

    def validate(self, value: Any) -> None:
        """Raise if ``value`` is invalid.

        Tuples count as arrays and any mapping as an object.

        Raises:
            ValidationError: The value is invalid.
            TypeError: The value contains something that is not JSON: a set, NaN, a key that is not
                a string.
            ValueError: The value is nested deeper than 128 levels, or contains itself.
        """

    def is_valid(self, value: Any) -> bool:
        """Return True if ``value`` is valid; raise as `validate` does if it is not JSON."""

    def iter_errors(self, value: Any) -> tuple[Violation, ...]:
        """Return the violations by ``value``: at most 20, none if it is valid."""
