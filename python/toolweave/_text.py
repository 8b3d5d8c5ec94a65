"""Growth of a string inside a container."""

from __future__ import annotations

from typing import Any


def append_text(container: Any, step: str | int, text: str) -> None:
    """Append to the string at a key or an index of a container.

    The time depends on the new text alone if nothing else refers to the string: CPython appends in
    place to a local variable that holds the only reference.

    Args:
        container: The dict or list.
        step: The key or the index.
        text: The text to append.
    """
    content = container[step]
    container[step] = None
    content += text
    container[step] = content
