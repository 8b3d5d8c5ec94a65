"""Conversion of the JSON arguments of a call to the keyword arguments of a function."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .._core import Violation
from ..exceptions import ValidationError
from ._plain import Convert, is_array, is_object, unchanged_types

_log = logging.getLogger("toolweave.tools")

# As in the violations of the core.
_MAX_SHOWN = 200
_MAX_VIOLATIONS = 20

_NOTHING: frozenset[type] = frozenset()


class Binder:
    """Converter of JSON arguments to keyword arguments of a function.

    Args:
        converters: Converter for each parameter; None if its values need no conversion.
        extra: Converter for arguments of any other name; None to reject them.
        required: Names of required parameters.
        default_factories: Factories of defaults that the function itself does not have.
    """

    __slots__ = ("_converters", "_default_factories", "_extra", "_required", "_unchanged_types")

    def __init__(
        self,
        converters: Mapping[str, Convert | None],
        *,
        extra: Convert | None = None,
        required: frozenset[str] = frozenset(),
        default_factories: Mapping[str, Callable[[], Any]] | None = None,
    ) -> None:
        self._converters = dict(converters)
        # For each parameter, the types whose values need no conversion.
        self._unchanged_types = {
            name: unchanged_types(convert) for name, convert in converters.items()
        }
        self._extra = extra
        self._required = required
        self._default_factories = dict(default_factories or {})

    def __call__(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments.

        Raises:
            ValidationError: The arguments do not match the types of the function.
        """
        known = self._unchanged_types
        for name, value in arguments.items():
            if type(value) not in known.get(name, _NOTHING):
                return self._converted(arguments)
        # Fast path: most calls pass every parameter, as numbers and strings.
        return dict(arguments) if len(arguments) == len(known) else self._converted(arguments)

    def _converted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        bound: dict[str, Any] = {}
        violations: list[Violation] = []
        converters = self._converters
        for name, value in arguments.items():
            if name in converters:
                convert = converters[name]
            elif self._extra is not None:
                convert = self._extra
            else:
                violations.append(self._unexpected(name, arguments))
                continue
            try:
                bound[name] = value if convert is None else convert(value)
            except ConversionError as error:
                violations += error.to_violations(name, value)
            except OverflowError:
                violations.append(_too_large(name, value))
        complete = self._extra is None and len(bound) == len(converters)
        if not (complete or self._required <= arguments.keys()):
            missing = sorted(self._required - arguments.keys())
            violations += [_missing(name, arguments) for name in missing]
        if violations:
            raise validation_error(violations)
        for name, default_factory in self._default_factories.items():
            if name not in bound:
                bound[name] = default_factory()
        return bound

    def type_violations(
        self, arguments: Mapping[str, Any], schema_violations: Sequence[Violation]
    ) -> list[Violation]:
        """Return violations of the types, except those that the schema's violations cover.

        Args:
            arguments: The arguments, which violate the schema.
            schema_violations: Their violations of the schema.
        """
        broken = {
            violation.path.split("/", 2)[1] for violation in schema_violations if violation.path
        }
        known = {(violation.path, violation.keyword) for violation in schema_violations}
        places = {violation.path for violation in schema_violations if violation.path}
        found: list[Violation] = []
        for name, value in arguments.items():
            convert = self._converters.get(name, self._extra)
            # Converters of plain types expect valid values; the others validate values themselves.
            if convert is None or (
                _pointer(name)[1:] in broken and not is_self_validating(convert)
            ):
                continue
            try:
                convert(value)
            except ConversionError as error:
                found += [
                    violation
                    for violation in error.to_violations(name, value)
                    if violation.path not in places
                    and (violation.path, violation.keyword) not in known
                ]
            except OverflowError:
                found.append(_too_large(name, value))
            except Exception:  # noqa: BLE001 - types may run the tool's own code
                _log.debug("a type raised on a value", exc_info=True, extra={"argument": name})
        return found

    def _unexpected(self, name: str, arguments: Mapping[str, Any]) -> Violation:
        accepted = ", ".join(f'"{known}"' for known in self._converters) or "nothing"
        message = f'the value: unexpected "{name}"; only {accepted} is accepted'
        if len(self._converters) > 1:
            message = message.replace(" is accepted", " are accepted")
        return Violation(
            "", "additionalProperties", message, list(self._converters), truncated(dict(arguments))
        )


class ConversionError(Exception):
    """A value that matches the schema of a parameter does not match its type."""

    def __init__(self, errors: list[tuple[tuple[int | str, ...], str, str]]) -> None:
        super().__init__(errors)
        self.errors = errors
        """Path in the value, rule and message of each error."""

    def to_violations(self, name: str, value: Any) -> list[Violation]:
        """Return the errors as violations of the argument `name`."""
        return [_violation(name, value, *error) for error in self.errors]


def is_self_validating(convert: Convert) -> bool:
    """Return True if a converter accepts any value, and raises `ConversionError` if invalid."""
    return getattr(getattr(convert, "__self__", None), "is_self_validating", False) is True


def merge_violations(
    schema_violations: Sequence[Violation], more: Iterable[Violation]
) -> tuple[Violation, ...]:
    """Return the violations of the schema and then the others, up to the maximum number."""
    return (*schema_violations, *more)[:_MAX_VIOLATIONS]


def validation_error(violations: list[Violation]) -> ValidationError:
    """Return the error for one or more violations."""
    first = violations[0].message
    if len(violations) > 1:
        first = f"{first} (and {len(violations) - 1} more)"
    return ValidationError(first, tuple(violations[:_MAX_VIOLATIONS]))


def truncated(value: Any) -> Any:
    """Return a JSON value, or the start of its text if that is too long."""
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _violation(
    name: str, value: Any, steps: tuple[int | str, ...], rule: str, reason: str
) -> Violation:
    path = _pointer(name)
    here: Any = value
    for step in steps:
        # Pydantic's paths also contain the names of union members, which are no steps.
        if _leads_into(here, step):
            path, here = path + _pointer(step), here[step]
    shown = truncated(here)
    if rule == "required":
        missing = f"{path}{_pointer(steps[-1])}: missing"
        return Violation(path, rule, missing, steps[-1], shown)
    text = shown if shown is not here else json.dumps(here, ensure_ascii=False)
    return Violation(path, rule, f"{path}: {text} is refused: {reason}", None, shown)


def _leads_into(value: object, step: int | str) -> bool:
    if is_array(value):
        return isinstance(step, int) and step < len(value)
    return is_object(value) and step in value


def _pointer(step: int | str) -> str:
    return "/" + str(step).replace("~", "~0").replace("/", "~1")


def _missing(name: str, arguments: Mapping[str, Any]) -> Violation:
    return Violation("", "required", f"{_pointer(name)}: missing", name, truncated(dict(arguments)))


def _too_large(name: str, value: Any) -> Violation:
    path = _pointer(name)
    return Violation(
        path, "type", f"{path}: the number is too large for a float", "number", truncated(value)
    )
