"""Hostile replies that are meant to be slow to parse; the cost of a token must not grow."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from replies import cut


@dataclass(frozen=True)
class Attack:
    """Hostile reply of any length."""

    name: str
    repeat: str
    """Text to repeat."""
    before: str = ""
    after: str = ""
    whole: bool = False
    """True if it arrives in a single chunk."""

    def text(self, chars: int) -> str:
        """Return the reply with about `chars` characters."""
        return self.before + self.repeat * (chars // len(self.repeat)) + self.after

    def chunks(self, chars: int) -> list[str]:
        """Return the reply in the chunks that are fed."""
        text = self.text(chars)
        return [text] if self.whole else cut(text)


# The Rust benchmarks read the same file.
ATTACKS = [
    Attack(**entry)
    for entry in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
]
