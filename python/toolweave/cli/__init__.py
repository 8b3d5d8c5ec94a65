"""The command `toolweave`.

Exit codes: 0 for success, 1 if a requested check failed, 2 for invalid usage or input.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from .._core import __version__
from . import _contracts as contracts
from . import _demo as demo
from . import _eval as evaluation
from . import _importing as importing
from . import _lint as lint
from . import _mcp as mcp
from . import _parse as parse
from . import _play as play
from . import _score as score
from . import _serve as serve
from . import _tools as tools
from ._inputs import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

COMMANDS = {
    "parse": parse,
    "contracts": contracts,
    "import": importing,
    "lint": lint,
    "score": score,
    "eval": evaluation,
    "tools": tools,
    "mcp": mcp,
    "serve": serve,
    "demo": demo,
    "play": play,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: The arguments; those of the command line if None.

    Returns:
        The exit code.
    """
    _reopen_closed_streams()
    options, unknown = _parser().parse_known_args(arguments)
    if unknown:
        # The parser of all commands would show the usage of all.
        options.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    try:
        code: int = COMMANDS[options.command].run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`).
        _drop_output()
        return 0
    except InputError as err:
        sys.stderr.write(f"toolweave {options.command}: {err}\n")
        return EXIT_USAGE
    except OSError as err:
        place = "" if err.filename is None else f" {err.filename}"
        sys.stderr.write(
            f"toolweave {options.command}: cannot write{place}: {err.strerror or err}\n"
        )
        _drop_output()
        return EXIT_USAGE
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        return EXIT_INTERRUPTED
    return code


def _reopen_closed_streams() -> None:
    """Open standard streams that were closed before Python started."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # Python closes it at exit.
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115


def _drop_output() -> None:
    """Keep Python from flushing output at exit that cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="toolweave", description="Inline tool calls for language models."
    )
    parser.add_argument("--version", action="version", version=f"toolweave {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        its_parser = commands.add_parser(
            name, help=command.SUMMARY, description=command.DESCRIPTION
        )
        its_parser.set_defaults(parser=its_parser)
        command.add_arguments(its_parser)
    return parser
