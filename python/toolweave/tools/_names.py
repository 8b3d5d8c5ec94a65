"""Valid names of tools, derived from their names in other systems."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container

# As in a `FunctionContract`: white space, control characters, and characters of tags.
_FORBIDDEN = re.compile(r"[\s\x00-\x1f\x7f-\x9f<>\"'=`&\\]")
_MAX_NAME_BYTES = 256
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


def _cut(name: str, most: int) -> str:
    return name.encode()[:most].decode(errors="ignore")
