"""From the JSON arguments of a call to the keyword arguments of a function."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .._core import Violation
from ..exceptions import ValidationError
from .plain import Convert, is_array, is_object, unchanged_types

_log = logging.getLogger("toolweave.tools")

# As in the violations of the core.
_MAX_SHOWN = 200
_MAX_VIOLATIONS = 20

_NOTHING: frozenset[type] = frozenset()


class Binder:
    """Makes keyword arguments that the function can be called with.

    Args:
        converters: What the value of each parameter goes through; None where it stays as it is.
        extra: What the value of any other name goes through; None if there must be no other.
        required: The parameters that need an argument.
        fills: What makes the value of a parameter that got no argument, where the function
            cannot do it itself.
    """

    __slots__ = ("_converters", "_extra", "_default_factories", "_required", "_unchanged_types")

    def __init__(
        self,
        converters: Mapping[str, Convert | None],
        *,
        extra: Convert | None = None,
        required: frozenset[str] = frozenset(),
        default_factories: Mapping[str, Callable[[], Any]] | None = None,
    ) -> None:
        self._converters = dict(converters)
        # The types of each parameter whose values stay as they are.
        self._unchanged_types = {
            name: unchanged_types(convert) for name, convert in converters.items()
        }
        self._extra = extra
        self._required = required
        self._default_factories = dict(default_factories or {})

    def __call__(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments.

        Raises:
            ValidationError: They do not suit the function.
        """
        known = self._unchanged_types
        for name, value in arguments.items():
            if type(value) not in known.get(name, _NOTHING):
                return self._converted(arguments)
        # Most calls name every parameter, and have numbers and strings alone.
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
        """What the types refuse of arguments that do not fit the schema, besides what is told.

        Args:
            arguments: The arguments.
            told: In which ways they do not fit the schema.
        """
        broken = {
            violation.path.split("/", 2)[1] for violation in schema_violations if violation.path
        }
        known = {(violation.path, violation.keyword) for violation in schema_violations}
        places = {violation.path for violation in schema_violations if violation.path}
        found: list[Violation] = []
        for name, value in arguments.items():
            convert = self._converters.get(name, self._extra)
            # Plain types rely on the schema, which the others know for themselves.
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
            except Exception:  # noqa: BLE001 - types may run any code of the tool's
                _log.debug("a type breaks on a value", exc_info=True, extra={"argument": name})
        return found

    def _unexpected(self, name: str, arguments: Mapping[str, Any]) -> Violation:
        accepted = ", ".join(f'"{known}"' for known in self._converters) or "nothing"
        message = f'the value: unexpected "{name}"; only {accepted} is accepted'
        if len(self._converters) > 1:
            message = message.replace(" is accepted", " are accepted")
        return Violation(
            "", "additionalProperties", message, list(self._converters), truncated(dict(arguments))
        )


class ConversionError(Exception):  # noqa: N818 - never leaves this package
    """A value that fits the schema of a parameter does not suit its type."""

    def __init__(self, errors: list[tuple[tuple[int | str, ...], str, str]]) -> None:
        super().__init__(errors)
        self.errors = errors
        """Where in the value, which rule, and a sentence, for each fault."""

    def to_violations(self, name: str, value: Any) -> list[Violation]:
        """The faults as those of the argument `name`."""
        return [_violation(name, value, *error) for error in self.errors]


def is_self_validating(convert: Convert) -> bool:
    """Whether what converts a value takes any, and raises `ConversionError` where it does not suit."""
    return getattr(getattr(convert, "__self__", None), "is_self_validating", False) is True


def merge_violations(
    schema_violations: Sequence[Violation], more: Iterable[Violation]
) -> tuple[Violation, ...]:
    """Violations of the schema, and what else there is, as many as are told."""
    return (*schema_violations, *more)[:_MAX_VIOLATIONS]


def validation_error(violations: list[Violation]) -> ValidationError:
    """The error of arguments with these faults: at least one."""
    first = violations[0].message
    if len(violations) > 1:
        first = f"{first} (and {len(violations) - 1} more)"
    return ValidationError(first, tuple(violations[:_MAX_VIOLATIONS]))


def truncated(value: Any) -> Any:
    """A JSON value, or the beginning of its text if that is long."""
    text = json.dumps(value, ensure_ascii=False)
    return value if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"


def _violation(
    name: str, value: Any, steps: tuple[int | str, ...], rule: str, reason: str
) -> Violation:
    path = _pointer(name)
    here: Any = value
    for step in steps:
        # Between the steps there are the names of the members of unions, which lead nowhere.
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
