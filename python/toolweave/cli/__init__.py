"""The command `toolweave`.

Exit codes: 0; 1 where a check was asked for and something did not pass it; 2 for
usage and input that cannot be used.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from .. import __version__
from . import contracts, demo, parse
from .source import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: Those of the command line if None.

    Returns:
        The exit code.
    """
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except InputError as err:
        sys.stderr.write(f"toolweave {options.command}: {err}\n")
        return EXIT_USAGE
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read along has had enough (`| head`). Python flushes once more when it
        # exits, and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="toolweave", description="Inline tool calls for language models."
    )
    parser.add_argument("--version", action="version", version=f"toolweave {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in (parse, contracts, demo):
        command.add_to(commands)
    return parser
