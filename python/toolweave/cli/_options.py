"""Options that several commands have: numbers, and the name and key of a model."""

from __future__ import annotations

import argparse
import math
import os
from typing import TYPE_CHECKING

from ._inputs import InputError

if TYPE_CHECKING:
    from collections.abc import Callable


def count(text: str) -> int:
    """Parse an integer of at least 1."""
    number = int(text) if text.isascii() and text.isdigit() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be an integer of at least 1, got {text!r}")
    return number


def port(text: str) -> int:
    """Parse a port."""
    number = int(text) if text.isascii() and text.isdigit() else -1
    if not 0 <= number < 1 << 16:
        raise argparse.ArgumentTypeError(f"must be a port from 0 to 65535, got {text!r}")
    return number


def positive(what: str) -> Callable[[str], float]:
    """Return a parser of a number above 0."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise argparse.ArgumentTypeError(f"must be {what} above 0, got {text!r}")
        return number

    return parse


def check_required(options: argparse.Namespace, option: str, *dependents: str) -> None:
    """Raise `InputError` if one of the dependent options is given; they need `option`."""
    for name in dependents:
        if getattr(options, name) is not None:
            raise InputError(f"--{name.replace('_', '-')} requires {option}")


def add_model_options(add_argument: Callable[..., object], name_help: str) -> None:
    """Add the options that go with `--model`, except itself.

    Args:
        add_argument: The method of a parser or a group.
        name_help: The help of `--model-name`.
    """
    add_argument("--model-name", metavar="NAME", help=name_help)
    add_argument(
        "--api-key-env", metavar="VAR", help="the environment variable that holds the API key"
    )


def api_key(options: argparse.Namespace) -> str | None:
    """Return the API key in the environment variable of `--api-key-env`, if it is given."""
    name: str | None = options.api_key_env
    key = None if name is None else os.environ.get(name)
    if name is not None and not key:
        raise InputError(f"the environment variable {name} is not set")
    return key
