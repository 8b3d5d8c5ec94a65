"""Adding costs up, request by request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from .._checks import check_choice, check_count, check_flag, check_items, check_text, check_type
from .amounts import Number, amount, plus
from .prices import PriceTable

if TYPE_CHECKING:
    from typing_extensions import Self


class Usage(Protocol):
    """What a request has used: a `UsageUpdate`, a `UsageMessage`, or anything like them."""

    @property
    def input_tokens(self) -> int:
        """Tokens of the prompt, cached ones included."""
        ...

    @property
    def output_tokens(self) -> int:
        """Tokens of the reply."""
        ...

    @property
    def cached_input_tokens(self) -> int:
        """Those of `input_tokens` that the provider had in its cache."""
        ...


@dataclass(frozen=True)
class Cost:
    """What some requests have cost together. Two of one currency can be added."""

    amount: Decimal = Decimal(0)
    """The money, as far as the prices are known."""
    currency: str = "USD"
    """What it is in."""
    requests: int = 0
    """How many requests there were."""
    input_tokens: int = 0
    """Tokens of the prompts, cached ones included."""
    output_tokens: int = 0
    """Tokens of the replies."""
    cached_input_tokens: int = 0
    """Those of `input_tokens` that the provider had in its cache."""
    estimated: bool = False
    """Whether some of the tokens are estimates."""
    unpriced: tuple[str, ...] = ()
    """The models that have no price, and so are not in `amount`."""

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            TypeError: One of them is of the wrong type.
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
        """The cost as JSON has it; the amount is a string, which no reader rounds."""
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
        """Reads what `to_dict` writes; what is missing has its default.

        Raises:
            TypeError: The amount is no number.
            ValueError: A field has a value that it cannot have.
        """
        unpriced: object = fields.get("unpriced", [])
        if not isinstance(unpriced, (list, tuple)) or not all(
            isinstance(name, str) for name in cast("list[object]", unpriced)
        ):
            raise ValueError(f"`unpriced` is a list of names, not {unpriced!r}")
        currency: object = fields.get("currency", "USD")
        if not isinstance(currency, str):
            raise ValueError(f"`currency` is a str, not {currency!r}")
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
    """What one request has added."""

    model: str
    """The model, as it was named."""
    priced_as: str | None
    """The entry of the price table that held for it."""
    cost: Decimal | None
    """What the request costs; None where the model has no price."""
    total: Decimal
    """What all requests up to this one cost, as far as the prices are known."""
    currency: str
    """What `cost` and `total` are in."""
    input_tokens: int
    """Tokens of the prompt, cached ones included."""
    output_tokens: int
    """Tokens of the reply."""
    cached_input_tokens: int
    """Those of `input_tokens` that the provider had in its cache."""
    estimated: bool
    """Whether the tokens are an estimate."""


class CostMeter:
    """Adds up what requests cost.

    The costs of all deltas together are the amount of `total`, exactly: each is rounded to the
    trillionth, and nothing is rounded after that.

    Args:
        prices: What tokens cost.
        start: What has been spent before, as earlier in the conversation.

    Raises:
        ValueError: `start` is in another currency than the prices.
    """

    def __init__(self, prices: PriceTable, *, start: Cost | None = None) -> None:
        check_type("prices", prices, PriceTable, "a PriceTable")
        check_type("start", start, Cost, "a Cost", none=True)
        if start is not None and start.currency != prices.currency:
            raise ValueError(
                f"the prices are in {prices.currency}, and what was spent before in "
                f"{start.currency}; give one in the currency of the other"
            )
        self._prices = prices
        self._total = Cost(currency=prices.currency) if start is None else start

    @property
    def prices(self) -> PriceTable:
        """What tokens cost."""
        return self._prices

    @property
    def total(self) -> Cost:
        """All requests together."""
        return self._total

    def add(
        self, model: str, usage: Usage, *, provider: str | None = None, estimated: bool = False
    ) -> CostDelta:
        """Adds one request.

        Args:
            model: The model that answered.
            usage: All that the request has used. Updates within a reply say what it has used so
                far, so that only the last of them counts.
            provider: Whose model it is.
            estimated: Whether the usage is an estimate.
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
    """How much may be spent.

    Args:
        limit: The money, in the currency of the prices.
        scope: For what: each ``request`` of a user, or a whole ``conversation``.
        unpriced: What becomes of a model that has no price, and so spends nothing of the budget:
            ``refuse`` does not start with it, ``allow`` lets it answer.

    Raises:
        TypeError: The limit is no number.
        ValueError: The limit is negative, or there is no such scope or no such rule.
    """

    limit: Decimal
    """The money."""
    scope: Literal["request", "conversation"]
    """For what."""
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
        """Whether more than the limit has been spent.

        Args:
            spent: What has been spent within the scope.
        """
        return _money(spent) > self.limit

    def remaining(self, spent: Cost | Decimal) -> Decimal:
        """What is left; 0 where the limit is exceeded.

        Args:
            spent: What has been spent within the scope.
        """
        return max(self.limit - _money(spent), Decimal(0))


def _money(spent: Cost | Decimal) -> Decimal:
    return spent.amount if isinstance(spent, Cost) else spent


def _count(fields: Mapping[str, Any], name: str) -> int:
    value: object = fields.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"`{name}` is a whole number from 0, not {value!r}")
    return value
