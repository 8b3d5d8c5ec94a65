"""The numbers in a question: "under 30 minutes", "from the 1990s", "at least 40 g protein".

`read("quick soup under 30 minutes")` returns the question without them, and their meaning as an
SQL condition with its values:

    ("quick soup ", "COALESCE(minutes, runtime) < ?", [30])
"""

from __future__ import annotations

import re

COMPARISONS = {
    "<": "under|below|less than|fewer than|shorter than|before",
    "<=": "at most|up to|within|no more than|in|for",
    ">": "over|above|more than|longer than|after",
    ">=": "at least|since|from",
}
"""Words before a number, by the comparison that they mean."""

MEASURES = {
    "minutes?|mins?": ("COALESCE(minutes, runtime)", 1),
    "hours?|hrs?": ("COALESCE(minutes, runtime)", 60),
    "calories|kcal": ("calories", 1),
    "(?:g|grams?)(?: of)? protein": ("protein", 1),
    "servings?|people|persons": ("servings", 1),
}
"""Units, each with its column and the factor to the column's unit."""

_WORDS = "|".join(COMPARISONS.values())
_AMOUNT = re.compile(
    rf"\b(?:({_WORDS}) )?([0-9]{{1,6}}) ({'|'.join(MEASURES)})\b", re.IGNORECASE | re.ASCII
)
_DECADE = re.compile(r"\b(?:(?:from|in) )?(?:the )?((?:19|20)[0-9]0|[2-9]0)s\b", re.IGNORECASE)
_YEAR = re.compile(rf"\b({_WORDS}) ((?:19|20)[0-9]{{2}})\b", re.IGNORECASE)


def read(question: str) -> tuple[str, str, list[int]]:
    """Split a question into its words and the condition that its numbers express.

    Returns:
        The question without the bounds, a condition (``1`` without bounds) and its values.
    """
    conditions: list[str] = []
    values: list[int] = []

    def amount(found: re.Match[str]) -> str:
        column, factor = _measure(found[3])
        # "20 minutes" on its own means no more than that, "40 g protein" no less.
        alone = ">=" if column == "protein" else "<="
        conditions.append(f"{column} {_comparison(found[1]) or alone} ?")
        values.append(int(found[2]) * factor)
        return " "

    def decade(found: re.Match[str]) -> str:
        start = int(found[1])
        start += 0 if start > 99 else 1900 if start > 20 else 2000
        conditions.append("year BETWEEN ? AND ?")
        values.extend((start, start + 9))
        return " "

    def year(found: re.Match[str]) -> str:
        word = found[1].lower()
        sign = "=" if word in ("in", "from", "for", "within") else _comparison(word)
        conditions.append(f"year {sign} ?")
        values.append(int(found[2]))
        return " "

    words = _YEAR.sub(year, _DECADE.sub(decade, _AMOUNT.sub(amount, question)))
    return words, " AND ".join(conditions) or "1", values


def _comparison(word: str | None) -> str | None:
    for sign, words in COMPARISONS.items():
        if word is not None and word.lower() in words.split("|"):
            return sign
    return None


def _measure(unit: str) -> tuple[str, int]:
    for pattern, measure in MEASURES.items():
        if re.fullmatch(pattern, unit, re.IGNORECASE):
            return measure
    raise AssertionError(f"{unit!r} matches no unit")
