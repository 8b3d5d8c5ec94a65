"""Detection of confusable names: mixed scripts, and letters that resemble those of another script.

A user who approves a `pay` in Cyrillic letters reads "pay". The rules are those of the level
"highly restrictive" of UTS 39. Scripts are derived from character names, and the table of
confusable characters is reduced to those that resemble lower-case Latin letters.
"""

from __future__ import annotations

import unicodedata

_COMPATIBLE_SCRIPTS = (
    frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA"}),
    frozenset({"LATIN", "CJK", "BOPOMOFO"}),
    frozenset({"LATIN", "CJK", "HANGUL"}),
)
"""Scripts that may be mixed, as sets; any other script stands alone."""

_SCRIPTLESS_PREFIXES = frozenset(
    {"FULLWIDTH", "HALFWIDTH", "MODIFIER", "MASCULINE", "FEMININE", "MICRO"}
)
"""First words of character names that are not the name of a script."""

_LATIN_LOOKALIKES = str.maketrans(
    # Cyrillic, Greek, Armenian, and other Latin letters.
    "авԁеһіїјкӏмнорԛгѕтцѵѡԝхуүпαβγεηικνοπρτυωχϲϳհոսցքօյıɑɡʟс",
    "abdehiijklmhopqrstuvwwxyynabyenikvonptuwxcjhnugqojiaglc",
)
"""Lower-case letters, and the Latin letters that they resemble."""


def mixed_scripts(name: str) -> str | None:
    """Return the incompatible scripts of a name as text, such as "Cyrillic and Latin"."""
    scripts = {script for ch in name if (script := _script(ch))}
    if len(scripts) < 2 or any(scripts <= together for together in _COMPATIBLE_SCRIPTS):
        return None
    *rest, last = sorted(script.capitalize() for script in scripts)
    return f"{', '.join(rest)} and {last}"


def is_confusable(name: str, other: str) -> bool:
    """Return True if two names look the same. ASCII names never do."""
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
