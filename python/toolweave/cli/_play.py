"""`toolweave play`: run an agent on recorded or live replies."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..exceptions import ModelError
from ._inputs import InputError, write_escapes
from ._options import add_model_options, check_required, positive

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from .._demo.recordings import Recording
    from .._demo.screens import Screen
    from ..models.http import HttpModel

SUMMARY = "run an agent on recorded replies of real models, or on a live one"
DESCRIPTION = (
    "Run an agent with real tools on recorded replies of real models, from the prompt to the "
    "consolidated history; or on a live model. A terminal shows a selection at the recorded pace; "
    "where nobody has to wait, with --fast or without a terminal, all are played."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--list", action="store_true", help="list the recordings")
    chosen.add_argument("--all", action="store_true", help="play all recordings")
    chosen.add_argument(
        "--only", action="append", metavar="NAME", help="play this recording; may be repeated"
    )
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--fast", action="store_true", help="do not wait between deltas")
    pace.add_argument(
        "--speed",
        type=positive("a number"),
        default=1.0,
        metavar="X",
        help="X times the recorded pace",
    )
    live = parser.add_argument_group("a live model, at any OpenAI-compatible endpoint")
    live.add_argument("--model", metavar="URL", help="such as http://127.0.0.1:8080/v1")
    add_model_options(live.add_argument, "the name of the model at the endpoint")
    live.add_argument(
        "--prompt", metavar="TEXT", help="the prompt; read from the terminal by default"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    write_escapes()
    if options.model is None:
        check_required(options, "--model URL", "model_name", "api_key_env", "prompt")
    elif options.model_name is None:
        raise InputError("--model URL needs --model-name NAME")
    elif options.list or options.all or options.only:
        raise InputError("--list, --all and --only are for recordings, --model asks a live model")
    if options.list:
        _list()
    elif options.model is None:
        _play(options)
    else:
        _ask(options)
    return 0


def _list() -> None:
    from .._demo.recordings import recordings

    known = recordings()
    width = max(len(recording.name) for recording in known)
    for recording in known:
        sys.stdout.write(f"{recording.name:<{width}}  {recording.shows}\n")
        sys.stdout.write(f"{'':<{width}}  {recording.facts}\n")


def _play(options: argparse.Namespace) -> None:
    from .._demo.recordings import recordings

    speed: float | None = options.speed
    if options.fast or not sys.stdout.isatty():
        speed = None
    known = recordings()
    asyncio.run(_play_all(_chosen(known, options, select=speed is not None), len(known), speed))


async def _play_all(chosen: Sequence[Recording], known: int, speed: float | None) -> None:
    from .._demo.player import Player
    from .._demo.printer import LEGEND, EventPrinter
    from .._demo.screens import LineKind

    with _screen() as screen:
        printer = EventPrinter(screen)
        player = Player(printer)
        player.show_prompt()
        printer.write(LineKind.TITLE, "what the lines below are")
        for kind, meaning in LEGEND.items():
            printer.write(kind, meaning)
        for recording in chosen:
            await player.play(recording, speed)
        printer.write(LineKind.END, f"{len(chosen)} of {known} recordings: {printer.summary()}")
        if len(chosen) < known:
            printer.write(
                LineKind.NOTE, "--list names them all, --all plays them, --fast does not wait"
            )


def _ask(options: argparse.Namespace) -> None:
    from ._endpoint import live_model

    model = asyncio.run(live_model(options))
    prompt: str = options.prompt if options.prompt is not None else _question()
    where = f"{options.model_name} at {options.model}"
    try:
        asyncio.run(_ask_model(model, where, prompt))
    except ModelError as err:
        raise InputError(f"{options.model}: {err}") from None


async def _ask_model(model: HttpModel, where: str, prompt: str) -> None:
    from .._demo.player import Player
    from .._demo.printer import EventPrinter

    async with model:
        with _screen() as screen:
            await Player(EventPrinter(screen)).ask(model, where, prompt)


def _question() -> str:
    if not sys.stdin.isatty():
        raise InputError("without a terminal, --prompt TEXT says what to ask")
    try:
        return input("you> ")
    except EOFError:
        raise InputError("nothing was asked") from None


def _chosen(
    known: Sequence[Recording], options: argparse.Namespace, *, select: bool
) -> Sequence[Recording]:
    from .._demo.recordings import SELECTION

    names: Sequence[str] | None = options.only
    if names is None:
        if options.all or not select:
            return known
        names = SELECTION
    by_name = {recording.name: recording for recording in known}
    for name in names:
        if name not in by_name:
            raise InputError(f"no recording {name!r}; there are {', '.join(by_name)}")
    return [by_name[name] for name in names]


def _screen() -> Screen:
    from .._demo.screens import PlainScreen

    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return PlainScreen(sys.stdout)
    if find_spec("rich") is None:
        sys.stderr.write(
            "toolweave play: plain text, as rich is not installed; "
            "for colours: pip install 'toolweave[cli]'\n"
        )
        return PlainScreen(sys.stdout)
    from rich.console import Console

    from .._demo.colours import ColourScreen

    return ColourScreen(Console(highlight=False))
