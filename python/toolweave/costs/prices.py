"""What the tokens of a model cost, and whose prices hold for a model."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from .._checks import check_mapping, check_text
from ..exceptions import UnpricedModelError
from .amounts import EXACT, Number, amount, rounded

if TYPE_CHECKING:
    from typing_extensions import Self

_SEPARATORS = "-:@/"
"""What a version or a variant of a model begins with. A dot is none: ``gpt-4.1`` is no ``gpt-4``.
"""

_MAX_NAMED = 3
"""The number of names in an error."""

_FIELDS = ("input", "output", "cached_input", "per")


@dataclass(frozen=True, init=False)
class Price:
    """What the tokens of one model cost.

    Example:
        >>> Price("2.50", "10", cached_input="1.25").cost(1_000_000, 0, 200_000)
        Decimal('2.25')

    Args:
        input: Of `per` tokens of the prompt.
        output: Of `per` tokens of the reply.
        cached_input: Of `per` tokens of the prompt that the provider had in its cache; as `input`
            if not given.
        per: For how many tokens these are the prices: a million, or 1000 as older lists have it.

    Raises:
        TypeError: A price is no number.
        ValueError: A price is negative, or `per` is not above 0.
    """

    input: Decimal
    """Of `per` tokens of the prompt."""
    output: Decimal
    """Of `per` tokens of the reply."""
    cached_input: Decimal | None
    """Of `per` tokens of the prompt that the provider had in its cache."""
    per: int
    """For how many tokens these are the prices."""

    def __init__(
        self,
        input: Number,  # noqa: A002 - it is the price of the input
        output: Number,
        cached_input: Number | None = None,
        per: int = 1_000_000,
    ) -> None:
        cached = None if cached_input is None else amount(cached_input, "cached_input")
        object.__setattr__(self, "input", amount(input, "input"))
        object.__setattr__(self, "output", amount(output, "output"))
        object.__setattr__(self, "cached_input", cached)
        object.__setattr__(self, "per", _tokens(per))

    def cost(self, input_tokens: int, output_tokens: int, cached_input_tokens: int = 0) -> Decimal:
        """What one request costs, to the trillionth.

        Args:
            input_tokens: Tokens of the prompt, cached ones included.
            output_tokens: Tokens of the reply.
            cached_input_tokens: Those of `input_tokens` that were cached: no more than these.
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
        """The price as JSON has it; amounts are strings, which no reader rounds."""
        fields: dict[str, Any] = {"input": str(self.input), "output": str(self.output)}
        if self.cached_input is not None:
            fields["cached_input"] = str(self.cached_input)
        return {**fields, "per": self.per}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Reads what `to_dict` writes; `cached_input` and `per` may be missing.

        Raises:
            TypeError: A price is no number.
            ValueError: A field is missing, unknown, or has a value that it cannot have.
        """
        for name in fields:
            if name not in _FIELDS:
                raise ValueError(f"a price has no {name!r}; it has {', '.join(_FIELDS)}")
        for name in _FIELDS[:2]:
            if name not in fields:
                raise ValueError(f"a price needs {name!r}")
        return cls(**fields)


class PriceTable(Mapping[str, Price]):
    """Prices by the name of the model.

    A model is looked up by its whole name, then by the longest beginning of it that ends before
    one of ``- : @ /``: ``gpt-4o-2024-08-06`` finds ``gpt-4o``, if there is nothing closer. So does
    ``gpt-4o-mini`` where the table does not know it; `CostDelta.priced_as` says what was found. A
    name such as ``openai/gpt-4o`` is looked up as it is first, and then as ``gpt-4o``.

    Example:
        >>> table = PriceTable({"qwen3": Price(0, 0), "gpt-4o": {"input": 2.5, "output": 10}})
        >>> table.find("openai/gpt-4o-2024-08-06")
        'gpt-4o'
        >>> table.find("gpt-4.1") is None
        True

    Args:
        prices: A `Price`, or the dict of one, by name.
        currency: What they are in.

    Raises:
        TypeError: A price is none.
        ValueError: A name is empty, or a price has a value that it cannot have.
    """

    def __init__(
        self, prices: Mapping[str, Price | Mapping[str, Any]], currency: str = "USD"
    ) -> None:
        check_mapping("prices", prices)
        check_text("currency", currency, empty=False)
        self._prices: dict[str, Price] = {}
        for name, price in prices.items():
            self._prices[_name(name)] = _price(name, price)
        self.currency = currency
        """What the prices are in."""

    def __getitem__(self, name: str) -> Price:
        return self._prices[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._prices)

    def __len__(self) -> int:
        return len(self._prices)

    def __repr__(self) -> str:
        return f"PriceTable({', '.join(self._prices)}; {self.currency})"

    def find(self, model: str, provider: str | None = None) -> str | None:
        """The name whose price holds for a model; None if there is none.

        Args:
            model: The name that the model goes by.
            provider: Whose it is; an entry ``provider/model`` comes before others.
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
        """The price that holds for a model; see `find`.

        Args:
            model: The name that the model goes by.
            provider: Whose it is; an entry ``provider/model`` comes before others.

        Raises:
            UnpricedModelError: There is none; names those that are nearest.
        """
        name = self.find(model, provider)
        if name is None:
            raise UnpricedModelError(f"{model!r} has no price{self._nearest(model)}", model)
        return self[name]

    def _nearest(self, model: str) -> str:
        """The names that are most like one without a price, to be said after it."""
        if not self._prices:
            return "; there are no prices"
        near = difflib.get_close_matches(model, self._prices, _MAX_NAMED, 0.6)
        return f"; the nearest names are {', '.join(map(repr, near))}" if near else ""

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON has it."""
        prices = {name: price.to_dict() for name, price in self._prices.items()}
        return {"currency": self.currency, "prices": prices}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Reads what `to_dict` writes; without ``currency`` it is USD.

        Raises:
            TypeError: A price is none.
            ValueError: There are no prices, or one has a value that it cannot have.
        """
        prices: object = fields.get("prices")
        if not isinstance(prices, Mapping):
            raise ValueError("a price table is an object with `prices`, by the names of models")
        currency: object = fields.get("currency", "USD")
        if not isinstance(currency, str):
            raise ValueError(f"the currency of a price table is a str, not {currency!r}")
        return cls(cast("Mapping[str, Mapping[str, Any]]", prices), currency)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Reads a table from JSON text. Numbers are taken as they are written.

        Raises:
            TypeError: A price is none.
            ValueError: It is no JSON, or no table.
        """
        fields: object = json.loads(text, parse_float=Decimal)
        if not isinstance(fields, dict):
            raise ValueError("a price table is an object with `prices`, by the names of models")
        return cls.from_dict(cast("dict[str, Any]", fields))


def _tokens(per: object) -> int:
    if isinstance(per, bool) or not isinstance(per, int) or per < 1:
        raise ValueError(f"per is a whole number of tokens from 1, not {per!r}")
    return per


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise ValueError(f"the name of a model is a str that is not empty, not {name!r}")
    return name


def _price(name: str, price: object) -> Price:
    if isinstance(price, Price):
        return price
    if not isinstance(price, Mapping):
        raise TypeError(
            f"the price of {name!r} is a Price or a dict of its fields, not {type(price).__name__}"
        )
    try:
        return Price.from_dict(cast("Mapping[str, Any]", price))
    except (TypeError, ValueError) as err:
        raise type(err)(f"the price of {name!r}: {err}") from None
