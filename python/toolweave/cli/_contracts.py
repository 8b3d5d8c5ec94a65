"""`toolweave contracts`: print tools as a model is shown them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .._core import render_contracts
from ._inputs import read_contracts, write_utf8

if TYPE_CHECKING:
    import argparse

SUMMARY = "print contracts as the Markdown that goes into the system prompt"
DESCRIPTION = "Print contracts as the Markdown that goes into the system prompt."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("file", metavar="FILE", help="a JSON file of contracts, or - for stdin")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    contracts = read_contracts(options.file)
    write_utf8()
    sys.stdout.write(render_contracts(contracts))
    return 0
