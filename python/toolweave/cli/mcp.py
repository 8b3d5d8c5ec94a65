"""`toolweave mcp`: tools of a module, served to MCP clients."""

from __future__ import annotations

import asyncio
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..exceptions import ToolweaveError
from .source import InputError

if TYPE_CHECKING:
    import argparse

SUMMARY = "serve tools to MCP clients"
DESCRIPTION = (
    "Serve tools to MCP clients: at standard input and output, or over streamable HTTP "
    "at http://HOST:PORT/mcp."
)
DEFAULT_HOST = "127.0.0.1"


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "tools",
        metavar="MODULE[:NAME]",
        help="where the tools are: a Toolset, a ToolExecutor or a list in a module, "
        "or all tools of the module",
    )
    parser.add_argument(
        "--http", metavar="[HOST:]PORT", help="serve over HTTP (default: standard input and output)"
    )
    parser.add_argument("--name", default="toolweave", help="what the server is called")


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    address = None if options.http is None else _address(options.http)
    try:
        from ..mcp import serve_http, serve_stdio
    except ImportError as err:
        raise InputError(str(err)) from None
    tools = _tools(options.tools)
    try:
        if address is None:
            asyncio.run(serve_stdio(tools, name=options.name))
        else:
            host, port = address
            asyncio.run(serve_http(tools, name=options.name, host=host, port=port))
    except (TypeError, ToolweaveError) as err:
        raise InputError(f"{options.tools} cannot be served: {err}") from None
    return 0


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise InputError(f"--http is a port or HOST:PORT, not {text!r}")
    return host.strip("[]") or DEFAULT_HOST, int(port)


def _tools(where: str) -> Any:
    """What `MODULE:NAME` leads to.

    Raises:
        InputError: There is nothing of that name.
    """
    name, _, attribute = where.partition(":")
    # As `python -m` does: modules of the folder that the command is run in can be named.
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(name)
    except ImportError as err:
        raise InputError(f"module {name!r} cannot be imported: {err}") from None
    if not attribute:
        return _all_tools(module)
    found: Any = module
    for part in attribute.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise InputError(f"module {name!r} has no {attribute!r}")
    return found


def _all_tools(module: ModuleType) -> list[Any]:
    from ..tools import Tool

    tools: dict[str, Any] = {}
    for found in vars(module).values():
        if isinstance(found, Tool):
            tools[found.name] = found
    if not tools:
        raise InputError(
            f"module {module.__name__!r} has no tools: decorate functions with @tool, "
            f"or name a toolset: {module.__name__}:NAME"
        )
    return list(tools.values())
