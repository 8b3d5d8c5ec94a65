"""`toolweave contracts`: what the model is told about the tools."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .. import render_contracts
from .source import read_contracts, write_utf8

if TYPE_CHECKING:
    import argparse

    from ._types import Commands


def add_to(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "contracts",
        help="print contracts as the Markdown that goes into the system prompt",
        description="Print contracts as the Markdown that goes into the system prompt.",
    )
    parser.add_argument("file", metavar="FILE", help="a JSON file of contracts, or - for stdin")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    contracts = read_contracts(options.file)
    write_utf8()
    sys.stdout.write(render_contracts(contracts).rstrip("\n") + "\n")
    return 0
