"""Parameters as a tool's structure asks for them, before anything is started with them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import Validator
from ..exceptions import ValidationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._core import ToolEntry


def repair_parameters(entry: ToolEntry, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, mended where they do not fit.

    They are mended as replies of models are: ``"3"`` where an integer is asked for becomes one,
    and what the structure does not ask for is left out. A missing value is never invented. Where a
    tool has no structure, they are what they are.

    Args:
        entry: The tool.
        parameters: What its handler is to be given; left as they are.

    Returns:
        A new dict.

    Raises:
        ValidationError: They do not fit, and cannot be made to.
        TypeError: Something in them is no JSON, where there is a structure.
        ValueError: They are nested deeper than 128 levels.
    """
    if not isinstance(entry.return_struc, dict):
        return dict(parameters)
    validator = Validator(entry.parameters)
    if validator.is_valid(parameters):
        return dict(parameters)
    # It reads replies, which have a score as well.
    reading = entry.reader.read({"score": 0, **parameters})
    if reading.error is not None:
        raise ValidationError(
            f"the parameters do not fit tool {entry.name!r}: {reading.error}",
            validator.iter_errors(parameters),
        )
    return reading.parameters
