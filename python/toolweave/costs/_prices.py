"""Prices of tokens, and the lookup of the price of a model."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from .._checks import check_mapping, check_text
from ..exceptions import UnpricedModelError
from ._amounts import EXACT, Number, amount, rounded

if TYPE_CHECKING:
    from typing_extensions import Self

_SEPARATORS = "-:@/"
"""Separators before the version or variant of a model. A dot is not one: ``gpt-4.1`` is not a
``gpt-4``."""

_MAX_NAMED = 3
"""Maximum number of names in an error."""

_FIELDS = ("input", "output", "cached_input", "per")


@dataclass(frozen=True, init=False)
class Price:
    """The prices of the tokens of one model.

    Example:
        >>> Price("2.50", "10", cached_input="1.25").cost(1_000_000, 0, 200_000)
        Decimal('2.25')

    Args:
        input: The price of `per` tokens of the prompt.
        output: The price of `per` tokens of the reply.
        cached_input: The price of `per` cached tokens of the prompt; the same as `input` if not
            given.
        per: The number of tokens that the prices are for: a million, or 1000 as in older lists.

    Raises:
        TypeError: A price is not a number.
        ValueError: A price is negative, or `per` is less than 1.
    """

    input: Decimal
    """The price of `per` tokens of the prompt."""
    output: Decimal
    """The price of `per` tokens of the reply."""
    cached_input: Decimal | None
    """The price of `per` cached tokens of the prompt; None for the same as `input`."""
    per: int
    """The number of tokens that the prices are for."""

    def __init__(
        self,
        input: Number,  # noqa: A002 - it is the price of the input
        output: Number,
        cached_input: Number | None = None,
        per: int = 1_000_000,
    ) -> None:
        if isinstance(per, bool) or not isinstance(cast("object", per), int) or per < 1:
            raise ValueError(f"per must be an integer of at least 1, got {per!r}")
        cached = None if cached_input is None else amount(cached_input, "cached_input")
        object.__setattr__(self, "input", amount(input, "input"))
        object.__setattr__(self, "output", amount(output, "output"))
        object.__setattr__(self, "cached_input", cached)
        object.__setattr__(self, "per", per)

    def cost(self, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0) -> Decimal:
        """Return the cost of one request, rounded to the trillionth.

        Args:
            input_tokens: Tokens of the prompt, including cached ones.
            output_tokens: Tokens of the reply.
            cached_input_tokens: The cached part of `input_tokens`; at most that number counts.
        """
        inputs = max(input_tokens, 0)
        cached = min(max(cached_input_tokens, 0), inputs)
        cached_price = self.input if self.cached_input is None else self.cached_input
        total = Decimal(0)
        for tokens, price in (
            (inputs - cached, self.input),
            (cached, cached_price),
            (max(output_tokens, 0), self.output),
        ):
            total = EXACT.add(total, EXACT.multiply(Decimal(tokens), price))
        return rounded(EXACT.divide(total, Decimal(self.per)))

    def to_dict(self) -> dict[str, Any]:
        """Return the price as a JSON object, with amounts as strings to prevent rounding."""
        fields: dict[str, Any] = {"input": str(self.input), "output": str(self.output)}
        if self.cached_input is not None:
            fields["cached_input"] = str(self.cached_input)
        return {**fields, "per": self.per}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Create a price from the output of `to_dict`; `cached_input` and `per` are optional.

        Raises:
            TypeError: A price is not a number.
            ValueError: A field is missing, unknown or invalid.
        """
        for name in fields:
            if name not in _FIELDS:
                raise ValueError(
                    f"a field of a price must be one of {', '.join(_FIELDS)}, got {name!r}"
                )
        for name in _FIELDS[:2]:
            if name not in fields:
                raise ValueError(f"a price must have {name!r}, got {', '.join(fields)}")
        return cls(**fields)


class PriceTable(Mapping[str, Price]):
    """A mapping from names of models to prices.

    A model is looked up by its full name, then by the longest prefix that ends before one of
    ``- : @ /``: ``gpt-4o-2024-08-06`` finds ``gpt-4o`` if there is no longer match. So does
    ``gpt-4o-mini`` if it is not in the table; `CostDelta.priced_as` is the entry that was found. A
    name such as ``openai/gpt-4o`` is looked up as it is, then as ``gpt-4o``.

    Example:
        >>> table = PriceTable({"qwen3": Price(0, 0), "gpt-4o": {"input": 2.5, "output": 10}})
        >>> table.find("openai/gpt-4o-2024-08-06")
        'gpt-4o'
        >>> table.find("gpt-4.1") is None
        True

    Args:
        prices: A `Price`, or a dict of its fields, by name.
        currency: The currency of the prices.

    Raises:
        TypeError: A price is neither a `Price` nor a mapping.
        ValueError: A name is empty, or a price is invalid.
    """

    def __init__(
        self, prices: Mapping[str, Price | Mapping[str, Any]], currency: str = "USD"
    ) -> None:
        check_mapping("prices", prices)
        check_text("currency", currency, empty=False)
        self._prices: dict[str, Price] = {}
        for name, price in prices.items():
            if not name:
                raise ValueError(
                    f"the name of a model must be a string that is not empty, got {name!r}"
                )
            if not isinstance(cast("object", price), (Price, Mapping)):
                raise TypeError(
                    f"the price of {name!r} must be a Price or a dict of its fields, "
                    f"got {type(price).__name__}"
                )
            try:
                self._prices[name] = price if isinstance(price, Price) else Price.from_dict(price)
            except (TypeError, ValueError) as err:
                raise type(err)(f"the price of {name!r}: {err}") from None
        self.currency = currency
        """The currency of the prices."""

    def __getitem__(self, name: str) -> Price:
        return self._prices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._prices)

    def __len__(self) -> int:
        return len(self._prices)

    def __repr__(self) -> str:
        return f"PriceTable({', '.join(self._prices)}; {self.currency})"

    def find(self, model: str, provider: str | None = None) -> str | None:
        """Return the name of the entry for a model, or None.

        Args:
            model: The name of the model.
            provider: The provider of the model; an entry ``provider/model`` takes precedence.
        """
        candidates = [model]
        if provider:
            candidates.insert(0, f"{provider}/{model}")
        while "/" in candidates[-1]:
            candidates.append(candidates[-1].partition("/")[2])
        for name in candidates:
            if name in self._prices:
                return name
        for name in candidates:
            for end in range(len(name) - 1, 0, -1):
                if name[end] in _SEPARATORS and (known := name[:end]) in self._prices:
                    return known
        return None

    def price_of(self, model: str, provider: str | None = None) -> Price:
        """Return the price of a model; see `find`.

        Args:
            model: The name of the model.
            provider: The provider of the model; an entry ``provider/model`` takes precedence.

        Raises:
            UnpricedModelError: The model has no price. The message lists the most similar names.
        """
        name = self.find(model, provider)
        if name is None:
            raise UnpricedModelError(f"{model!r} has no price{self._nearest(model)}", model)
        return self[name]

    def _nearest(self, model: str) -> str:
        """Return the end of the error about a model without a price: the most similar names."""
        if not self._prices:
            return "; there are no prices"
        near = difflib.get_close_matches(model, self._prices, _MAX_NAMED, 0.6)
        return f"; the nearest names are {', '.join(map(repr, near))}" if near else ""

    def to_dict(self) -> dict[str, Any]:
        """Return the table as a JSON object."""
        prices = {name: price.to_dict() for name, price in self._prices.items()}
        return {"currency": self.currency, "prices": prices}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Create a table from the output of `to_dict`; ``currency`` defaults to USD.

        Raises:
            TypeError: A price is neither a `Price` nor a mapping.
            ValueError: The prices are missing, or a price is invalid.
        """
        prices: object = fields.get("prices")
        if not isinstance(prices, Mapping):
            raise ValueError("a price table must be an object with `prices` by name of the model")
        currency: object = fields.get("currency", "USD")
        if not isinstance(currency, str):
            raise ValueError(f"the currency of a price table must be a string, got {currency!r}")
        return cls(cast("Mapping[str, Mapping[str, Any]]", prices), currency)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Create a table from JSON text. Numbers are read as decimals.

        Raises:
            TypeError: A price is neither a `Price` nor a mapping.
            ValueError: The text is not JSON, or not a table.
        """
        fields: object = json.loads(text, parse_float=Decimal)
        if not isinstance(fields, dict):
            raise ValueError("a price table must be an object with `prices` by name of the model")
        return cls.from_dict(cast("dict[str, Any]", fields))
