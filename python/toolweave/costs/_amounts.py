"""Exact decimal arithmetic for amounts of money."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import TypeAlias

Number: TypeAlias = "Decimal | int | float | str"
"""An amount in any numeric form. A float is taken as the decimal of its shortest repr."""

# The caller's decimal context may round or raise; this one has room for all possible results.
EXACT = Context(prec=100, rounding=ROUND_HALF_EVEN)

# Sums of amounts with this many decimal places are exact up to 10**16 even in the default context.
_QUANTUM = Decimal("1e-12")

_MAX_AMOUNT = Decimal(10) ** 15


def amount(value: object, name: str) -> Decimal:
    """Return an amount of money as a Decimal.

    Args:
        value: The amount.
        name: The name of the value in errors.

    Raises:
        TypeError: The value is not a number.
        ValueError: The value is negative, too large or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, (Decimal, int, float, str)):
        raise TypeError(
            f"{name} must be a Decimal, an int, a float or a string of digits, "
            f"got {type(value).__name__}"
        )
    try:
        # Converted through text, since Decimal(0.1) has 55 digits.
        number = Decimal(str(value) if isinstance(value, float) else value)
    except (InvalidOperation, ValueError):
        raise ValueError(f"{name} must be a number such as '2.50', got {value!r}") from None
    if not number.is_finite() or number < 0 or number > _MAX_AMOUNT:
        raise ValueError(f"{name} must be from 0 to {_MAX_AMOUNT:f}, got {value!r}")
    return abs(number)


def rounded(value: Decimal) -> Decimal:
    """Return an amount rounded half to even to the trillionth, without trailing zeros."""
    result = value.quantize(_QUANTUM, context=EXACT)
    if not result:
        return Decimal(0)
    result = result.normalize(EXACT)
    # 100 stays 100 instead of 1E+2.
    return (
        result.quantize(Decimal(1), context=EXACT)
        if result == result.to_integral_value()
        else result
    )


def plus(one: Decimal, other: Decimal) -> Decimal:
    """Return the exact sum of two amounts."""
    return rounded(EXACT.add(one, other))
