"""`toolweave demo`: the playground, on a page or, without a terminal, as one conversation."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING

from ..exceptions import ModelError
from ._inputs import InputError, read_registry, write_escapes
from ._play import parse_speed

if TYPE_CHECKING:
    from .._demo.endpoint import Endpoint
    from .._demo.server import Settings
    from ..models.openai import OpenAIModel
    from ..registry import ToolRegistry

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
        "--port", type=_port, metavar="N", help=f"the port ({PORT}); 0 takes a free one"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    parser.add_argument(
        "--store",
        metavar="URL",
        help="the database for chats, such as sqlite:///chats.db; by default a temporary one",
    )
    parser.add_argument(
        "--speed",
        type=parse_speed,
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
    live.add_argument(
        "--model-name",
        metavar="NAME",
        help="the name of the model at the endpoint; its first model by default",
    )
    live.add_argument(
        "--api-key-env", metavar="VAR", help="the environment variable that holds the API key"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    write_escapes()
    if options.model is None:
        for name in ("model_name", "api_key_env"):
            if getattr(options, name) is not None:
                raise InputError(f"--{name.replace('_', '-')} requires --model URL")
    if options.tools is None:
        for name in ("type", "allow_handlers"):
            if getattr(options, name) is not None:
                raise InputError(f"--{name.replace('_', '-')} requires --tools FILE")
    try:
        from .._demo import server
    except ImportError as err:
        raise InputError(str(err)) from None
    registry = None if options.tools is None else _registry(options.tools)
    wants_server = options.no_browser or options.port is not None
    alone = not sys.stdout.isatty() and not wants_server
    settings = server.Settings(
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

    async with AsyncExitStack() as stack:
        model = None
        if options.model is not None:
            model = await stack.enter_async_context(aclosing(await _model(options)))
        if alone:
            return await headless.play(settings, model, sys.stdout)
        await server.serve(settings, model, sys.stdout)
    return 0


async def _model(options: argparse.Namespace) -> OpenAIModel | Endpoint:
    from .._demo.endpoint import first_model, model_at

    key: str | None = None
    if options.api_key_env is not None:
        key = os.environ.get(options.api_key_env)
        if not key:
            raise InputError(f"the environment variable {options.api_key_env} is not set")
    try:
        name: str | None = options.model_name
        if name is None:
            name = await first_model(options.model, key)
        return model_at(options.model, name, key)
    except ValueError as err:
        raise InputError(str(err)) from None
    except ModelError as err:
        raise InputError(f"{options.model}: {err}; name the model with --model-name") from None


def _registry(path: str) -> ToolRegistry:
    from ..registry import ToolRegistry

    # Errors are reported as by the other commands.
    return ToolRegistry(read_registry(path))


def _port(text: str) -> int:
    port = int(text) if text.isascii() and text.isdigit() else -1
    if not 0 <= port < 1 << 16:
        raise argparse.ArgumentTypeError(f"must be a port from 0 to 65535, got {text!r}")
    return port
