"""`toolweave parse`: parse a reply to events, one JSON object a line."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, cast, get_args

from .._core import Dialect, FunctionContract, InvalidToolCall, Parser
from .._streams import Event
from ._inputs import STDIN, read_contracts, stream_text, write_utf8
from ._options import count

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator


EXIT_INVALID = 1

EVENT_NAMES: dict[type[object], str] = {
    kind: re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower() for kind in get_args(Event)
}
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


SUMMARY = "turn a reply into events, one JSON object a line"
DESCRIPTION = "Turn a model's reply into events, one JSON object a line, as it comes."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "file", nargs="?", default=STDIN, metavar="FILE", help="the reply; stdin if - or left out"
    )
    parser.add_argument("--tools", metavar="FILE", help="the contracts, as JSON")
    parser.add_argument(
        "--dialect",
        action="append",
        choices=Dialect.names(),
        metavar="NAME",
        help="read this dialect only; may be repeated (default: all of them)",
    )
    parser.add_argument(
        "--starts-in-reasoning",
        action="store_true",
        help="the prompt ended with the opening tag of reasoning",
    )
    parser.add_argument(
        "--repair",
        choices=("none", "syntax", "schema"),
        default="schema",
        help="what to repair: nothing, invalid JSON, or also values of the wrong type (default)",
    )
    parser.add_argument(
        "--in-code",
        choices=("text", "call"),
        default="text",
        help="what a call inside Markdown code is (default: text)",
    )
    parser.add_argument(
        "--no-deltas", action="store_true", help="leave out the arguments as they stream"
    )
    parser.add_argument(
        "--truncated", action="store_true", help="the model was cut off: complete no open call"
    )
    parser.add_argument("--chunk", type=count, metavar="N", help="feed N characters at a time")
    parser.add_argument("--check", action="store_true", help="exit 1 if any call is invalid")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    contracts: list[FunctionContract] = []
    if options.tools is None:
        sys.stderr.write(
            "toolweave parse: no --tools given, so no tool is known: "
            "<Name> is text, and <tool_call> an unknown tool\n"
        )
    else:
        contracts = read_contracts(options.tools)
    parser = Parser(
        contracts,
        dialects=options.dialect or "auto",
        starts_in_reasoning=options.starts_in_reasoning,
        repair=options.repair,
        in_code=options.in_code,
        deltas=not options.no_deltas,
    )
    write_utf8()
    chunks = _flush_between(stream_text(options.file))
    if options.chunk is not None:
        chunks = rechunk(chunks, options.chunk)
    valid = True
    for chunk in chunks:
        valid &= _print(parser.push(chunk))
    valid &= _print(parser.finish(truncated=options.truncated))
    return EXIT_INVALID if options.check and not valid else 0


def _print(events: Iterable[Event]) -> bool:
    """Print events, and return False if a call among them is invalid."""
    valid = True
    for event in events:
        sys.stdout.write(event_line(event) + "\n")
        valid &= not isinstance(event, InvalidToolCall)
    return valid


def _flush_between(blocks: Iterable[str]) -> Iterator[str]:
    """Yield blocks, and flush the output before waiting for the next one."""
    for block in blocks:
        yield block
        sys.stdout.flush()


def event_line(event: Event) -> str:
    """Return an event as JSON: `event` first, then its fields by the names of the class."""
    return _encode({"event": EVENT_NAMES[type(event)], **_fields(event)})


def rechunk(chunks: Iterable[str], width: int) -> Iterator[str]:
    """Yield the same text in pieces of `width` characters."""
    rest = ""
    for chunk in chunks:
        text = rest + chunk
        whole = len(text) - len(text) % width
        for at in range(0, whole, width):
            yield text[at : at + width]
        rest = text[whole:]
    if rest:
        yield rest


def _fields(record: object) -> dict[str, object]:
    names: tuple[str, ...] = getattr(type(record), "__match_args__", ())
    fields = {name: _plain(getattr(record, name)) for name in names}
    # Implied, as in messages.
    implied = {"dialect": "natural", "recovered": False}
    return {name: value for name, value in fields.items() if implied.get(name, ...) != value}


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in cast("tuple[object, ...]", value)]
    return _fields(value) if hasattr(type(value), "__match_args__") else value
