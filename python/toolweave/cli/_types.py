"""A name for what `argparse` keeps to itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import argparse


class Commands(Protocol):
    """What `add_subparsers` returns."""

    def add_parser(self, name: str, *, help: str, description: str) -> argparse.ArgumentParser:  # noqa: A002
        """Add a command."""
        ...
