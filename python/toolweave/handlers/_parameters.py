"""Repair and validation of parameters before a handler starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import Validator
from ..exceptions import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import ToolEntry


def repair_parameters(entry: ToolEntry, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters, repaired where they violate the tool's structure.

    They are repaired like replies of models: ``"3"`` becomes an integer if one is expected, and
    parameters that the structure does not contain are dropped. Missing values are never invented.
    Without a structure, the parameters are unchanged.

    Args:
        entry: The tool.
        parameters: The parameters. They are not modified.

    Returns:
        A new dict.

    Raises:
        ValidationError: The parameters are invalid and cannot be repaired.
        TypeError: The tool has a structure, and a parameter is not a JSON value.
        ValueError: The parameters are nested deeper than 128 levels.
    """
    if not isinstance(entry.return_struc, dict):
        return dict(parameters)
    validator = Validator(entry.parameters)
    if validator.is_valid(parameters):
        return dict(parameters)
    # The reader expects a reply, which has a score as well.
    reading = entry.reader.read({"score": 0, **parameters})
    if reading.error is not None:
        raise ValidationError(
            f"the parameters do not fit tool {entry.name!r}: {reading.error}",
            validator.iter_errors(parameters),
        )
    return reading.parameters
