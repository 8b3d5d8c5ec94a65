"""Data files of the demo."""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = files("toolweave._demo") / "data"
"""Folder of the files."""


@functools.cache
def read_json(name: str) -> Any:
    """Return the content of a JSON file, which callers must not change."""
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def read_folder(name: str) -> Iterator[tuple[str, Any]]:
    """Yield the numbered JSON files of a folder: names without number and suffix, and contents."""
    for file in sorted((DATA / name).iterdir(), key=lambda file: file.name):
        number, _, rest = file.name.partition("-")
        if number.isdigit() and rest.endswith(".json"):
            yield rest.removesuffix(".json"), json.loads(file.read_text(encoding="utf-8"))
