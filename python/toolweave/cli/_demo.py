"""`toolweave demo`: the playground, on a page or, without a terminal, as one conversation."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING

from ._inputs import InputError, read_registry, write_escapes
from ._options import add_model_options, check_required, port, positive

if TYPE_CHECKING:
    import argparse

    from .._demo.responder import Settings

SUMMARY = "serve a page on which calls can be watched as they are written, run and answered"
DESCRIPTION = (
    "Serve a page on which a person watches calls being written, run and answered: on recorded "
    "replies of real models, or with a live model behind it. Without a terminal, and without "
    "--port and --no-browser, one conversation is played over HTTP, printed and checked instead."
)

PORT = 8000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--host", default="127.0.0.1", help="the address to bind (127.0.0.1)")
    parser.add_argument(
        "--port", type=port, metavar="N", help=f"the port ({PORT}); 0 takes a free one"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--store",
        metavar="URL",
        help="the database for chats, such as sqlite:///chats.db; by default a temporary one",
    )
    parser.add_argument(
        "--speed",
        type=positive("a number"),
        default=1.0,
        metavar="X",
        help="replay at X times the recorded pace, with long pauses shortened",
    )
    tools = parser.add_argument_group("your own tools, instead of those of the playground")
    tools.add_argument("--tools", metavar="FILE", help="a tools.xml that questions are routed to")
    tools.add_argument(
        "--type",
        metavar="TYPE",
        help="the type of the questions; by default the one with the most tools",
    )
    tools.add_argument(
        "--allow-handlers",
        action="append",
        metavar="PREFIX",
        help="a dotted prefix that handlers may be imported from; may be repeated",
    )
    tools.add_argument(
        "--strategy",
        choices=("batch", "choose", "each"),
        default="batch",
        help="how a model selects a tool: all scores at once (batch), the best tool (choose), or "
        "one call per tool (each)",
    )
    live = parser.add_argument_group("a live model, at any OpenAI-compatible endpoint")
    live.add_argument("--model", metavar="URL", help="such as http://127.0.0.1:8080/v1")
    add_model_options(
        live.add_argument, "the name of the model at the endpoint; its first model by default"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    write_escapes()
    if options.model is None:
        check_required(options, "--model URL", "model_name", "api_key_env")
    if options.tools is None:
        check_required(options, "--tools FILE", "type", "allow_handlers")
    try:
        from .._demo import server
        from .._demo.responder import Settings
    except ImportError as err:
        raise InputError(str(err)) from None
    from ..registry import ToolRegistry

    # Errors are reported as by the other commands.
    registry = None if options.tools is None else ToolRegistry(read_registry(options.tools))
    wants_server = options.no_browser or options.port is not None
    alone = not sys.stdout.isatty() and not wants_server
    settings = Settings(
        host=options.host,
        port=0 if alone else PORT if options.port is None else options.port,
        store=options.store,
        speed=options.speed,
        registry=registry,
        item_type=options.type,
        allowed_handlers=tuple(options.allow_handlers or ()),
        strategy=options.strategy,
        browser=not options.no_browser and sys.stdout.isatty(),
    )
    try:
        code = asyncio.run(_run(options, settings, alone=alone))
    except KeyboardInterrupt:
        alone, code = False, 0
    except server.ServerError as err:
        raise InputError(str(err)) from None
    if not alone:
        # The server may handle Ctrl-C before it is raised here.
        sys.stdout.write("\nstopped\n")
    return code


async def _run(options: argparse.Namespace, settings: Settings, *, alone: bool) -> int:
    from .._demo import headless, server
    from ._endpoint import live_model

    model = None if options.model is None else await live_model(options)
    async with model or nullcontext():
        if alone:
            return await headless.play(settings, model, sys.stdout)
        await server.serve(settings, model, sys.stdout)
    return 0
