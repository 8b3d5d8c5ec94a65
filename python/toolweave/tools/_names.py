"""Valid names of tools, derived from their names in other systems."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

# As in a `FunctionContract`: white space, control characters, and characters of tags.
_FORBIDDEN = re.compile(r"[\s\x00-\x1f\x7f-\x9f<>\"'=`&\\]")
_MAX_NAME_BYTES = 256
_MAX_PROVIDER_CHARS = 64
RESERVED_TAGS = ("tool_call", "tool_response")


def valid_tool_name(name: str, prefix: str, taken: Container[str]) -> str:
    """Return a valid name for a tool, its own if possible.

    Characters that are invalid in a tag become ``_``, slashes at the ends are dropped, and a name
    that is taken gets a number.
    """
    whole = _FORBIDDEN.sub("_", f"{prefix}_{name}" if prefix else name)
    whole = _cut(whole, _MAX_NAME_BYTES).strip("/") or "_"
    if whole.lower() in RESERVED_TAGS:
        whole += "_"
    usable, number = whole, 1
    while usable in taken:
        number += 1
        suffix = f"_{number}"
        usable = _cut(whole, _MAX_NAME_BYTES - len(suffix)) + suffix
    return usable


def provider_name(name: str, taken: Iterable[str] = (), *, default: str = "scene") -> str:
    """Return the name as providers accept it: at most 64 letters, digits, ``_`` and ``-``.

    Example:
        >>> provider_name("General Requests"), provider_name("Café"), provider_name("?!")
        ('General_Requests', 'Caf', 'scene')
        >>> provider_name("a b", taken=["a_b"])
        'a_b_2'

    Args:
        name: Any name.
        taken: Names in use; a number is appended to a name that would equal one of them.
        default: The name if nothing of it is left, and the prefix of a name that needs one.
    """
    plain = re.sub(r"_{2,}", "_", re.sub(r"[^a-zA-Z0-9_-]+", "_", name)).strip("_")
    if plain[:1].isdigit() or plain[:1] == "-" or plain.lower() in RESERVED_TAGS:
        plain = f"{default}_{plain}"
    base = (plain or default)[:_MAX_PROVIDER_CHARS].rstrip("_")
    known = set(taken)
    found, number = base, 1
    while found in known:
        number += 1
        tail = f"_{number}"
        found = base[: _MAX_PROVIDER_CHARS - len(tail)] + tail
    return found


def _cut(name: str, most: int) -> str:
    return name.encode()[:most].decode(errors="ignore")
