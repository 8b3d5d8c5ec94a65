"""Meters that add up the costs of requests, and budgets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from .._checks import check_choice, check_count, check_flag, check_items, check_text, check_type
from ._amounts import Number, amount, plus
from ._prices import PriceTable

if TYPE_CHECKING:
    from typing_extensions import Self


class Usage(Protocol):
    """The usage of a request: a `UsageUpdate`, a `UsageMessage`, or an object like them."""

    @property
    def input_tokens(self) -> int:
        """Tokens of the prompt, including cached ones."""
        ...

    @property
    def output_tokens(self) -> int:
        """Tokens of the reply."""
        ...

    @property
    def cached_input_tokens(self) -> int:
        """The part of `input_tokens` that the provider read from its cache."""
        ...


@dataclass(frozen=True)
class Cost:
    """The total cost of some requests. Costs in the same currency can be added."""

    amount: Decimal = Decimal(0)
    """The amount, for models with a price."""
    currency: str = "USD"
    """The currency of the amount."""
    requests: int = 0
    """Number of requests."""
    input_tokens: int = 0
    """Tokens of the prompts, including cached ones."""
    output_tokens: int = 0
    """Tokens of the replies."""
    cached_input_tokens: int = 0
    """The part of `input_tokens` that the provider read from its cache."""
    estimated: bool = False
    """True if some of the tokens are estimates."""
    unpriced: tuple[str, ...] = ()
    """The models without a price, whose cost is not in `amount`."""

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            TypeError: A field has the wrong type.
            ValueError: A count is negative.
        """
        check_type("amount", self.amount, Decimal, "a Decimal")
        check_text("currency", self.currency, empty=False)
        for name in ("requests", "input_tokens", "output_tokens", "cached_input_tokens"):
            check_count(name, getattr(self, name))
        check_flag("estimated", self.estimated)
        check_items("unpriced", self.unpriced, str, "a tuple of strings")

    def __add__(self, other: Cost) -> Cost:
        if self.currency != other.currency:
            raise ValueError(f"cannot add {other.currency} to {self.currency}")
        return Cost(
            plus(self.amount, other.amount),
            self.currency,
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
            self.estimated or other.estimated,
            tuple(dict.fromkeys((*self.unpriced, *other.unpriced))),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as a JSON object, with the amount as a string to prevent rounding."""
        return {
            "amount": f"{self.amount:f}",
            "currency": self.currency,
            "requests": self.requests,
            "inputTokens": self.input_tokens,
            "outputTokens": self.output_tokens,
            "cachedInputTokens": self.cached_input_tokens,
            "estimated": self.estimated,
            "unpriced": list(self.unpriced),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Create a cost from the output of `to_dict`; missing fields have their defaults.

        Raises:
            TypeError: The amount is not a number.
            ValueError: A field is invalid.
        """
        unpriced: object = fields.get("unpriced", [])
        if not isinstance(unpriced, (list, tuple)) or not all(
            isinstance(name, str) for name in cast("list[object]", unpriced)
        ):
            raise ValueError(f"`unpriced` must be a list of names, got {unpriced!r}")
        currency: object = fields.get("currency", "USD")
        if not isinstance(currency, str):
            raise ValueError(f"`currency` must be a string, got {currency!r}")
        return cls(
            amount(fields.get("amount", "0"), "`amount`"),
            currency,
            _count(fields, "requests"),
            _count(fields, "inputTokens"),
            _count(fields, "outputTokens"),
            _count(fields, "cachedInputTokens"),
            bool(fields.get("estimated", False)),
            tuple(cast("list[str]", unpriced)),
        )


@dataclass(frozen=True)
class CostDelta:
    """The cost of one request."""

    model: str
    """The name of the model, as given."""
    priced_as: str | None
    """The entry of the price table for the model; None if there is none."""
    cost: Decimal | None
    """The cost of the request; None if the model has no price."""
    total: Decimal
    """The cost of all requests up to this one, for models with a price."""
    currency: str
    """The currency of `cost` and `total`."""
    input_tokens: int
    """Tokens of the prompt, including cached ones."""
    output_tokens: int
    """Tokens of the reply."""
    cached_input_tokens: int
    """The part of `input_tokens` that the provider read from its cache."""
    estimated: bool
    """True if the tokens are an estimate."""


class CostMeter:
    """A meter that adds up the costs of requests.

    The costs of all deltas sum up exactly to the amount of `total`: each is rounded to the
    trillionth, and sums are not rounded.

    Args:
        prices: The prices of tokens.
        start: The initial cost, such as that of earlier runs of the conversation.

    Raises:
        ValueError: `start` and the prices have different currencies.
    """

    def __init__(self, prices: PriceTable, *, start: Cost | None = None) -> None:
        check_type("prices", prices, PriceTable, "a PriceTable")
        check_type("start", start, Cost, "a Cost", none=True)
        if start is not None and start.currency != prices.currency:
            raise ValueError(
                f"start must be in the currency of the prices, {prices.currency}, "
                f"got {start.currency}"
            )
        self._prices = prices
        self._total = Cost(currency=prices.currency) if start is None else start

    @property
    def prices(self) -> PriceTable:
        """The prices of tokens."""
        return self._prices

    @property
    def total(self) -> Cost:
        """The cost of all requests."""
        return self._total

    def add(
        self, model: str, usage: Usage, *, provider: str | None = None, estimated: bool = False
    ) -> CostDelta:
        """Add one request, and return its cost.

        Args:
            model: The model that answered.
            usage: The usage of the whole request. Updates within a reply are cumulative, so pass
                only the last one.
            provider: The provider of the model.
            estimated: True if the usage is an estimate.
        """
        name = self._prices.find(model, provider)
        inputs = max(usage.input_tokens, 0)
        outputs = max(usage.output_tokens, 0)
        cached = min(max(usage.cached_input_tokens, 0), inputs)
        cost = None if name is None else self._prices[name].cost(inputs, outputs, cached)
        self._total += Cost(
            Decimal(0) if cost is None else cost,
            self._prices.currency,
            1,
            inputs,
            outputs,
            cached,
            estimated,
            () if cost is not None else (model,),
        )
        return CostDelta(
            model=model,
            priced_as=name,
            cost=cost,
            total=self._total.amount,
            currency=self._prices.currency,
            input_tokens=inputs,
            output_tokens=outputs,
            cached_input_tokens=cached,
            estimated=estimated,
        )


@dataclass(frozen=True, init=False)
class Budget:
    """A maximum cost.

    Args:
        limit: The amount, in the currency of the prices.
        scope: The scope of the limit: each ``request`` of a user, or a whole ``conversation``.
        unpriced: The treatment of models without a price, whose cost is unknown: ``refuse`` rejects
            them, ``allow`` uses them without counting their cost.

    Raises:
        TypeError: The limit is not a number.
        ValueError: The limit is negative, or `scope` or `unpriced` is unknown.
    """

    limit: Decimal
    """The amount."""
    scope: Literal["request", "conversation"]
    """The scope of the limit."""
    unpriced: Literal["refuse", "allow"]
    """The treatment of a model without a price."""

    def __init__(
        self,
        limit: Number,
        scope: Literal["request", "conversation"] = "request",
        *,
        unpriced: Literal["refuse", "allow"] = "refuse",
    ) -> None:
        check_choice("scope", scope, ("request", "conversation"))
        check_choice("unpriced", unpriced, ("refuse", "allow"))
        object.__setattr__(self, "limit", amount(limit, "limit"))
        object.__setattr__(self, "scope", scope)
        object.__setattr__(self, "unpriced", unpriced)

    def exceeded(self, spent: Cost | Decimal) -> bool:
        """Return True if more than the limit has been spent.

        Args:
            spent: The cost so far within the scope.
        """
        return _money(spent) > self.limit

    def remaining(self, spent: Cost | Decimal) -> Decimal:
        """Return the rest of the budget; 0 if the limit is exceeded.

        Args:
            spent: The cost so far within the scope.
        """
        return max(self.limit - _money(spent), Decimal(0))


def _money(spent: Cost | Decimal) -> Decimal:
    return spent.amount if isinstance(spent, Cost) else spent


def _count(fields: Mapping[str, Any], name: str) -> int:
    value: object = fields.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"`{name}` must be an integer of at least 0, got {value!r}")
    return value
