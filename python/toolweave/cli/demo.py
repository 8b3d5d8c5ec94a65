"""`toolweave demo`: recorded or live replies, from text to calls and back to text."""

from __future__ import annotations

import argparse
import math
import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .source import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..demo.narrator import Narrator
    from ..demo.recordings import Recording
    from ..demo.screens import Screen
    from ._types import Commands

DEFAULT_SPEED = 10.0


def add_to(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "demo",
        help="play recorded replies of real models, or ask a live one",
        description="Play recorded replies of real models through prompt, parser, validator, "
        "repair, tools and consolidation; or ask a live model. Without a terminal it prints "
        "plain text, as fast as it can.",
    )
    parser.add_argument("--list", action="store_true", help="list the recordings")
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="play this recording; may be repeated"
    )
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument("--fast", action="store_true", help="do not wait between deltas")
    pace.add_argument(
        "--speed",
        type=_speed,
        default=DEFAULT_SPEED,
        metavar="X",
        help="X times the recorded pace (default 10: the models ran on a slow machine; "
        "1 is the recorded pace)",
    )
    live = parser.add_argument_group("a live model, at any OpenAI-compatible endpoint")
    live.add_argument("--model", metavar="URL", help="such as http://127.0.0.1:8080/v1")
    live.add_argument("--model-name", metavar="NAME", help="what the endpoint calls the model")
    live.add_argument(
        "--api-key-env", metavar="VAR", help="the environment variable that holds the API key"
    )
    live.add_argument("--prompt", metavar="TEXT", help="what to ask; asked for if left out")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.model is None:
        for name in ("model_name", "api_key_env", "prompt"):
            if getattr(options, name) is not None:
                raise InputError(f"--{name.replace('_', '-')} goes with --model URL")
    elif options.model_name is None:
        raise InputError("--model URL needs --model-name NAME")
    elif options.list or options.only:
        raise InputError("--list and --only are for recordings, --model asks a live model")
    if options.list:
        return _list()
    return _recorded(options) if options.model is None else _live(options)


def _list() -> int:
    from ..demo.recordings import recordings

    width = max(len(recording.name) for recording in recordings())
    for recording in recordings():
        sys.stdout.write(f"{recording.name:<{width}}  {recording.shows}\n")
        sys.stdout.write(f"{'':<{width}}  {recording.facts}\n")
    return 0


def _recorded(options: argparse.Namespace) -> int:
    from ..demo.narrator import Narrator
    from ..demo.player import RECORDED_ON, Player
    from ..demo.recordings import contracts, recordings

    chosen = _chosen(recordings(), options.only)
    screen, waits = _screen()
    speed = options.speed if waits and not options.fast else None
    with screen:
        narrator = Narrator(screen)
        player = Player(contracts(), narrator)
        narrator.say("title", "What the model is told (recordings: with an earlier wording)")
        _show_prompt(narrator, player.prompt(RECORDED_ON))
        if speed is not None:
            narrator.say(
                "note",
                f"at {speed:g} times the recorded pace; --speed 1 for the recorded one, "
                "--fast for none",
            )
        for recording in chosen:
            player.play(recording, speed)
        narrator.say("end", _summary(len(chosen), narrator.counts))
    return 0


def _live(options: argparse.Namespace) -> int:
    from ..demo.endpoint import Endpoint, EndpointError
    from ..demo.narrator import Narrator
    from ..demo.player import Player
    from ..demo.recordings import contracts

    key: str | None = None
    if options.api_key_env is not None:
        key = os.environ.get(options.api_key_env)
        if not key:
            raise InputError(f"the environment variable {options.api_key_env} is not set")
    try:
        endpoint = Endpoint(options.model, options.model_name, key)
        prompt: str = options.prompt if options.prompt is not None else _question()
        screen, _ = _screen()
        with screen:
            Player(contracts(), Narrator(screen)).ask(endpoint, prompt)
    except EndpointError as err:
        raise InputError(str(err)) from None
    return 0


def _question() -> str:
    if not sys.stdin.isatty():
        raise InputError("without a terminal, --prompt TEXT says what to ask")
    try:
        return input("you> ")
    except EOFError:
        raise InputError("nothing was asked") from None


def _chosen(known: Sequence[Recording], names: Sequence[str] | None) -> Sequence[Recording]:
    if not names:
        return known
    by_name = {recording.name: recording for recording in known}
    for name in names:
        if name not in by_name:
            raise InputError(f"no recording {name!r}; there are {', '.join(by_name)}")
    return [by_name[name] for name in names]


def _screen() -> tuple[Screen, bool]:
    """Where to show things, and whether someone watches."""
    from ..demo.screens import PlainScreen

    watched = sys.stdout.isatty()
    if not watched or os.environ.get("TERM") == "dumb":
        return PlainScreen(sys.stdout), watched
    if find_spec("rich") is None:
        sys.stderr.write(
            "toolweave demo: plain text, as rich is not installed; "
            "for colours: pip install 'toolweave[cli]'\n"
        )
        return PlainScreen(sys.stdout), watched
    from rich.console import Console

    from ..demo.colours import ColourScreen

    return ColourScreen(Console(highlight=False)), watched


def _show_prompt(narrator: Narrator, prompt: str) -> None:
    """The prompt up to the end of its first contract; the others look the same."""
    lines = prompt.rstrip("\n").split("\n")
    headings = [number for number, line in enumerate(lines) if line.startswith("## ")]
    shown = headings[1] if len(headings) > 1 else len(lines)
    narrator.say("prompt", "\n".join(lines[:shown]).rstrip())
    if shown < len(lines):
        narrator.say("note", f"... and {len(lines) - shown} more lines, a section for each tool")


def _summary(played: int, counts: Mapping[str, int]) -> str:
    replies = "1 reply" if played == 1 else f"{played} replies"
    return f"{replies}: " + ", ".join(f"{count:,} {what}" for what, count in counts.items())


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = math.nan
    if not 0 < speed < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return speed
