"""Money as decimals, exactly."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from typing import TypeAlias

Number: TypeAlias = "Decimal | int | float | str"
"""An amount as one writes it. A float counts as the decimal that it is written as."""

# The caller's context may round, or raise where it does; ours has room for all that can come.
EXACT = Context(prec=100, rounding=ROUND_HALF_EVEN)

# Sums of amounts that all end here need no more digits than they have, so that even in the context
# that programs have by default they are exact up to 10**16.
_QUANTUM = Decimal("1e-12")

_MAX_AMOUNT = Decimal(10) ** 15


def amount(value: object, name: str) -> Decimal:
    """An amount of money, or a count.

    Args:
        value: The amount.
        name: What it is, for the error.

    Raises:
        TypeError: It is no number.
        ValueError: It is negative, too large, or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, (Decimal, int, float, str)):
        raise TypeError(
            f"{name} is a Decimal, an int, a float or a str of digits, not {type(value).__name__}"
        )
    try:
        # By way of text: Decimal(0.1) has 55 digits that nobody meant.
        number = Decimal(str(value) if isinstance(value, float) else value)
    except (InvalidOperation, ValueError):
        raise ValueError(f"{name} is a number such as '2.50', not {value!r}") from None
    if not number.is_finite() or number < 0 or number > _MAX_AMOUNT:
        raise ValueError(f"{name} is a number from 0 to {_MAX_AMOUNT:f}, not {value!r}")
    return abs(number)


def rounded(value: Decimal) -> Decimal:
    """An amount to the trillionth, halves to even, and without zeros at the end."""
    result = value.quantize(_QUANTUM, context=EXACT)
    if not result:
        return Decimal(0)
    result = result.normalize(EXACT)
    # Hundreds are written as such, not as 1E+2.
    return (
        result.quantize(Decimal(1), context=EXACT)
        if result == result.to_integral_value()
        else result
    )


def plus(one: Decimal, other: Decimal) -> Decimal:
    """The sum."""
    return rounded(EXACT.add(one, other))
