"""Names that look like others: letters of several scripts in one, or of another than they seem.

A person who is asked about a `pay` in Cyrillic letters reads "pay". The rules are those that UTS 39
calls highly restrictive, with scripts told by the names of characters; its table of confusable
characters is boiled down to the letters that pass for lower-case Latin ones.
"""

from __future__ import annotations

import unicodedata

_COMPATIBLE_SCRIPTS = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)
"""Scripts that are written side by side; what is not here stands alone."""

_SCRIPTLESS_PREFIXES = frozenset(
    {"FULLWIDTH", "HALFWIDTH", "MODIFIER", "MASCULINE", "FEMININE", "MICRO"}
)
"""What the names of letters begin with that belong to several scripts, or say so further on."""

_LATIN_LOOKALIKES = str.maketrans(
    # Cyrillic, Greek, Armenian, and Latin letters of their own.
    "авԁеһіїјкӏмнорԛгѕтцѵѡԝхуүпαβγεηικνοπρτυωχϲϳհոսցքօյıɑɡʟс",
    "abdehiijklmhopqrstuvwwxyynabyenikvonptuwxcjhnugqojiaglc",
)
"""Lower-case letters, and the Latin ones that they pass for."""


def mixed_scripts(name: str) -> str | None:
    """The scripts that a name mixes though nobody writes them together, as a sentence has them."""
    scripts = {script for ch in name if (script := _script(ch))}
    if len(scripts) < 2 or any(scripts <= together for together in _COMPATIBLE_SCRIPTS):
        return None
    *rest, last = sorted(script.capitalize() for script in scripts)
    return f"{', '.join(rest)} and {last}"


def is_confusable(name: str, other: str) -> bool:
    """Whether one of two names can be taken for the other. Plain ASCII can be told apart."""
    return not (name.isascii() and other.isascii()) and _skeleton(name) == _skeleton(other)


def _skeleton(name: str) -> str:
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", name).casefold())
    visible = "".join(ch for ch in plain if unicodedata.category(ch) not in {"Mn", "Me", "Cf"})
    return visible.translate(_LATIN_LOOKALIKES)


def _script(ch: str) -> str | None:
    if not ch.isalpha():
        return None
    first = unicodedata.name(ch, "UNKNOWN").partition(" ")[0].partition("-")[0]
    return None if first in _SCRIPTLESS_PREFIXES else first
