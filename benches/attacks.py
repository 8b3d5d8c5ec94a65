"""Replies made to be slow to parse: each must cost the same a token at any length."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from replies import cut


@dataclass(frozen=True)
class Attack:
    """A hostile reply that can be made as long as wanted."""

    name: str
    repeat: str
    """What it repeats."""
    before: str = ""
    after: str = ""
    whole: bool = False
    """Whether it comes as one single chunk."""

    def text(self, chars: int) -> str:
        """The reply, of about that many characters."""
        return self.before + self.repeat * (chars // len(self.repeat)) + self.after

    def chunks(self, chars: int) -> list[str]:
        """The reply, as it is fed."""
        text = self.text(chars)
        return [text] if self.whole else cut(text)


# The Rust benchmarks read the same file.
ATTACKS = [
    Attack(**entry)
    for entry in json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
]
