"""Generator of the published prices in `python/toolweave/costs/data/prices.json`.

`python tests/prices.py WHEEL DATE` generates them from a wheel of litellm (``pip download
--no-deps litellm``), which keeps prices under the MIT License; the date is that of the download.
Only models that chat and cost something are taken, of providers that many have, and of each no
more than what tokens cost: the base price, without surcharges for long prompts or for speed, and
without discounts for batches.
"""

from __future__ import annotations

import argparse
import datetime
import json
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent.parent / "python/toolweave/costs/data/prices.json"
FILE = "litellm/model_prices_and_context_window_backup.json"

PROVIDERS = (
    "openai",
    "anthropic",
    "gemini",
    "mistral",
    "deepseek",
    "xai",
    "groq",
    "cohere_chat",
    "perplexity",
    "moonshot",
    "dashscope",
    "azure",
    "bedrock",
    "bedrock_converse",
    "vertex_ai",
    "vertex_ai-anthropic_models",
    "vertex_ai-language-models",
    "vertex_ai-mistral_models",
    "together_ai",
    "fireworks_ai",
    "deepinfra",
    "cerebras",
)
"""Providers whose models are taken, with litellm's names; for duplicates, the first."""

MAKERS = (
    "openai",
    "anthropic",
    "gemini",
    "mistral",
    "deepseek",
    "xai",
    "cohere",
    "perplexity",
    "moonshot",
)
"""Providers whose models are listed without a prefix: their makers. For duplicates, the first."""

MILLION = 1_000_000


def main() -> None:
    """Write the prices of the given wheel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("date", type=datetime.date.fromisoformat)
    given = parser.parse_args()
    with zipfile.ZipFile(given.wheel) as wheel:
        listed: dict[str, dict[str, Any]] = json.loads(wheel.read(FILE), parse_float=Decimal)
    version = given.wheel.name.split("-")[1]
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(written(listed, version, given.date), encoding="utf-8")


def written(listed: dict[str, dict[str, Any]], version: str, date: datetime.date) -> str:
    """Return the file: one line per model, for readable diffs."""
    found: dict[str, dict[str, list[str]]] = {}
    for provider in PROVIDERS:
        models = found.setdefault(named(provider), {})
        for name, fields in listed.items():
            if fields.get("litellm_provider") == provider and fields.get("mode") == "chat":
                price = priced(fields)
                if price is not None:
                    models.setdefault(name.removeprefix(f"{named(provider)}/"), price)
    head = {
        "source": f"litellm {version}, {FILE}",
        "licence": "MIT, Copyright (c) 2023 Berri AI",
        "date": date.isoformat(),
        "currency": "USD",
        "per": MILLION,
        "makers": list(MAKERS),
    }
    lines = [f" {json.dumps(name)}: {json.dumps(value)}," for name, value in head.items()]
    parts: list[str] = []
    for provider, models in found.items():
        entries = ",\n".join(
            f"   {json.dumps(name)}: {json.dumps(price, separators=(',', ':'))}"
            for name, price in sorted(models.items())
        )
        parts.append(f"  {json.dumps(provider)}: {{\n{entries}\n  }}")
    return "\n".join(["{", *lines, ' "models": {', ",\n".join(parts), " }", "}", ""])


def named(provider: str) -> str:
    """Return the prefix of a provider's models."""
    return {"bedrock_converse": "bedrock", "cohere_chat": "cohere"}.get(
        provider, provider.partition("-")[0]
    )


def priced(fields: dict[str, Any]) -> list[str] | None:
    """Return the prices of a million input, output and cached input tokens; None if unknown."""
    prices = [
        fields.get(name)
        for name in (
            "input_cost_per_token",
            "output_cost_per_token",
            "cache_read_input_token_cost",
        )
    ]
    if prices[0] is None or prices[1] is None or not (prices[0] or prices[1]):
        return None
    return [plain(Decimal(price) * MILLION) for price in prices if price is not None]


def plain(price: Decimal) -> str:
    """Return a price without exponent and trailing zeros."""
    text = f"{price:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


if __name__ == "__main__":
    main()
