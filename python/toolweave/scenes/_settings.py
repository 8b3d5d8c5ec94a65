"""Validation and defaults of the options of a manager."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, cast

from .._checks import check_type, wrong_type
from ..conversations import MemoryConversations
from ..costs import Budget, PriceTable
from ..exceptions import UnpricedModelError
from ..limits import RateLimiter
from ..models.fallback import FallbackModel
from ..summary import Summarizer
from ..tools import RateLimit

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..conversations import ConversationStore
    from ..costs import Price
    from ..costs._amounts import Number
    from ..protocols import ChatModel
    from ._request import SceneRequest

GUARDRAILS = (
    "Answer only with the help of the scenes and tools that you are given. "
    "If none of them serves the request, say so, and make nothing up."
)
"""The text of the system message with ``guardrails=True``."""

MODES = ("direct", "planning", "chaining", "scene")
_STORE_METHODS = ("load", "save", "delete", "lock")


def guardrails_of(given: str | bool) -> str | None:
    """Return the guardrails for the system message.

    Raises:
        TypeError: The option is neither a string nor a bool.
    """
    check_type("guardrails", given, (str, bool), "a string, True or False")
    return (GUARDRAILS if given else None) if isinstance(given, bool) else given


def store_of(given: ConversationStore | None) -> ConversationStore:
    """Return the store of conversations.

    Raises:
        TypeError: The store lacks a method.
    """
    if given is None:
        return MemoryConversations()
    lacking = [name for name in _STORE_METHODS if not callable(getattr(given, name, None))]
    if lacking:
        raise TypeError(
            f"conversations must have the methods {', '.join(_STORE_METHODS)}, "
            f"got {type(given).__name__} without {lacking[0]}"
        )
    return given


def prices_of(given: PriceTable | Mapping[str, Price] | None) -> PriceTable:
    """Return the table of prices.

    Raises:
        TypeError: The option is neither a table nor a mapping.
    """
    check_type("prices", given, (PriceTable, Mapping), "a PriceTable or a mapping", none=True)
    return given if isinstance(given, PriceTable) else PriceTable(given or {})


def budget_of(given: Budget | Number | None) -> Budget | None:
    """Return the budget; a number applies to each request.

    Raises:
        TypeError: The option is neither a budget nor a number.
    """
    wanted = "a Budget or a number"
    check_type("budget", given, (Budget, int, float, str, Decimal), wanted, none=True)
    return given if given is None or isinstance(given, Budget) else Budget(given)


def check_priced(
    budget: Budget | None, prices: PriceTable, models: Iterable[ChatModel | None]
) -> None:
    """Check that each model that can spend from the budget has a price.

    Raises:
        UnpricedModelError: A model has no price, and the budget does not allow that.
    """
    if budget is None or budget.unpriced == "allow":
        return
    for model in models:
        if isinstance(model, FallbackModel):
            check_priced(budget, prices, model.models)
        elif model is not None:
            name, provider = model_identity(model)
            try:
                prices.price_of(name, provider)
            except UnpricedModelError as error:
                raise UnpricedModelError(
                    f"a budget of {budget.limit:f} {prices.currency} needs a price for each model: "
                    f"{error}; pass prices, such as prices=published_prices(), or "
                    f"Budget({str(budget.limit)!r}, unpriced='allow')",
                    name,
                ) from None


def model_identity(model: ChatModel) -> tuple[str, str | None]:
    """Return the name and the provider of a model."""
    return str(getattr(model, "name", type(model).__name__)), getattr(model, "provider", None)


def limiter_of(given: RateLimiter | RateLimit | None) -> RateLimiter | None:
    """Return the rate limiter.

    Raises:
        TypeError: The option is neither a rate limiter nor a rate limit.
    """
    if isinstance(given, RateLimit):
        return RateLimiter(given)
    if not isinstance(cast("object", given), RateLimiter | None):
        raise wrong_type("rate_limiter", "a RateLimiter, a RateLimit or None", given)
    return given


def checked_summarizer(given: Summarizer | None) -> Summarizer | None:
    """Return the summarizer.

    Raises:
        TypeError: The option is not a summarizer.
    """
    if not isinstance(cast("object", given), Summarizer | None):
        raise wrong_type("summarizer", "a Summarizer, which takes a model, or None", given)
    return given


def user_of(request: SceneRequest) -> str:
    """Return the default rate limit key of a request; requests without a user share one."""
    return request.user or ""
