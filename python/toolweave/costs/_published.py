"""Published prices of providers, as of a date."""

from __future__ import annotations

import datetime
import functools
import json
import re
from importlib import resources
from typing import Any

from .._checks import check_mapping
from ._prices import Price, PriceTable

_DATE = re.compile(r"[-@](?:\d{4}-\d{2}-\d{2}|\d{8})$")
"""The end of the name of a version of a model that is only a date."""

# Names of providers in toolweave and OpenTelemetry, and those in the file of prices.
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
    """Published prices of providers, as of a date, created by `published_prices`.

    The names are ``provider/model``, and also ``model`` alone for providers that make the model. A
    name that ends with a date (``-2024-08-06``, ``-20250514``, ``@20250514``) is looked up as it
    is, then without the date. Any other name has no price: prices of models with similar names are
    not used, and an unknown provider is not ignored.
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
        """The source of the prices."""
        self.licence: str = fields["licence"]
        """The licence of the prices."""
        self.date = datetime.date.fromisoformat(fields["date"])
        """The date on which the prices were taken from the source."""

    def find(self, model: str, provider: str | None = None) -> str | None:
        """Return the name of the entry for a model, or None.

        Args:
            model: The name of the model.
            provider: The provider of the model.
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
    """Return prices of about 1,600 chat models, read from a file of the package at the first call.

    The prices are those of the ``date`` of the table. Check that they are current before you rely
    on them, and override them with your own, as in ``PriceTable({**published_prices(), **own})``.
    They are base prices without surcharges for long prompts.

    Example:
        >>> prices = published_prices()
        >>> prices.find("openai/gpt-4o-2024-08-06"), prices.find("gpt-4o-maxi")
        ('openai/gpt-4o-2024-08-06', None)
        >>> prices["gpt-4o"]
        Price(input=Decimal('2.5'), output=Decimal('10'), cached_input=Decimal('1.25'), per=1000000)
    """
    data = resources.files("toolweave.costs").joinpath("data/prices.json")
    return PublishedPrices(json.loads(data.read_text(encoding="utf-8")))
