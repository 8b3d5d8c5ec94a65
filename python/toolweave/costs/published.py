"""The prices that providers publish, as of a day."""

from __future__ import annotations

import datetime
import functools
import json
import re
from importlib import resources
from typing import Any

from .._checks import check_mapping
from .prices import Price, PriceTable

_DATE = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$")
"""The end of the name of a version of a model, where it is only a day."""

# What the models of this package and OpenTelemetry call them.
_PROVIDERS = {
    "aws.bedrock": "bedrock",
    "azure.ai.openai": "azure",
    "gcp.gemini": "gemini",
    "gcp.vertex_ai": "vertex_ai",
    "mistral_ai": "mistral",
    "x_ai": "xai",
}


def _price(per: int, input_price: str, output_price: str, cached: str | None = None) -> Price:
    return Price(input_price, output_price, cached, per)


class PublishedPrices(PriceTable):
    """Prices that providers publish, as of a day. Made by `published_prices`.

    Models go by ``provider/model``; those of a provider that makes them by their name alone too. A
    name that ends with a day (``-2024-08-06``, ``-20250514``, ``@20250514``) is looked up as it is
    and then without it. Any other name has no price: none is taken from a model with a similar
    name, and no provider that is not known is left out.
    """

    def __init__(self, fields: dict[str, Any]) -> None:
        check_mapping("fields", fields)
        per: int = fields["per"]
        models: dict[str, dict[str, list[str]]] = fields["models"]
        prefixed = {
            f"{provider}/{name}": _price(per, *price)
            for provider, found in models.items()
            for name, price in found.items()
        }
        unprefixed = {
            name: prefixed[f"{vendor}/{name}"]
            for vendor in reversed(fields["makers"])
            for name in models[vendor]
        }
        super().__init__({**unprefixed, **prefixed}, fields["currency"])
        self.source: str = fields["source"]
        """Where the prices are from."""
        self.licence: str = fields["licence"]
        """What they are under."""
        self.date = datetime.date.fromisoformat(fields["date"])
        """The day that they were taken from there."""

    def find(self, model: str, provider: str | None = None) -> str | None:
        """The name whose price holds for a model; None if there is none.

        Args:
            model: The name that the model goes by.
            provider: Whose it is.
        """
        owner = None if provider is None else _PROVIDERS.get(provider, provider)
        candidates = [model] if owner is None else [f"{owner}/{model}", model]
        for name in (*candidates, *(_DATE.sub("", each) for each in candidates)):
            if name in self:
                return name
        return None

    def __repr__(self) -> str:
        return f"PublishedPrices({len(self)} names; {self.currency}; {self.date})"


@functools.cache
def published_prices() -> PublishedPrices:
    """Prices of about 1,600 models that chat, read from a file of the package at the first call.

    They are those of the ``date`` of the table: look whether they still hold before money depends
    on it, and put your own in front, as in ``PriceTable({**published_prices(), **own})``. They are
    base prices: surcharges for long prompts are not in them.

    Example:
        >>> prices = published_prices()
        >>> prices.find("openai/gpt-4o-2024-08-06"), prices.find("gpt-4o-maxi")
        ('openai/gpt-4o-2024-08-06', None)
        >>> prices["gpt-4o"]
        Price(input=Decimal('2.5'), output=Decimal('10'), cached_input=Decimal('1.25'), per=1000000)
    """
    data = resources.files("toolweave.costs").joinpath("data/prices.json")
    return PublishedPrices(json.loads(data.read_text(encoding="utf-8")))
