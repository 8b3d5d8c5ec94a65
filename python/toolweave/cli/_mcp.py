"""`toolweave mcp`: serve tools of a module or a registry to MCP clients."""

from __future__ import annotations

import asyncio
import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..exceptions import HandlerError, RegistryError, ToolweaveError
from ._excerpt import escaped
from ._inputs import InputError, add_cwd_to_path

if TYPE_CHECKING:
    import argparse

    from ..registry import ToolRegistry

SUMMARY = "serve tools to MCP clients"
DESCRIPTION = (
    "Serve tools to MCP clients: at standard input and output, or over streamable HTTP "
    "at http://HOST:PORT/mcp."
)
DEFAULT_HOST = "127.0.0.1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "tools",
        nargs="?",
        metavar="MODULE[:NAME]",
        help="where the tools are: a Toolset, a ToolExecutor, a ToolRegistry or a list in a "
        "module, or all tools of the module",
    )
    parser.add_argument(
        "--http", metavar="[HOST:]PORT", help="serve over HTTP (default: standard input and output)"
    )
    parser.add_argument("--name", default="toolweave", help="the name of the server")
    registry = parser.add_argument_group("tools of a registry")
    registry.add_argument("--registry", metavar="FILE", help="a tools.xml, instead of a module")
    registry.add_argument(
        "--type", metavar="TYPE", help="the schema.org type whose tools are served (default: Thing)"
    )
    registry.add_argument("--site", metavar="SITE", help="the site whose tools are served as well")
    registry.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="PREFIX",
        help="run handlers below this module; may be repeated",
    )
    registry.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="HOST",
        help='allow requests of tools with the method "url" to this host; may be repeated',
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    address = None if options.http is None else _address(options.http)
    try:
        from ..integrations.mcp import serve_http, serve_stdio
    except ImportError as err:
        raise InputError(str(err)) from None
    if (options.tools is None) == (options.registry is None):
        raise InputError("give either MODULE[:NAME] or --registry FILE")
    add_cwd_to_path()
    where = options.tools or options.registry
    tools = _registry_toolset(
        _tools(where) if options.registry is None else _registry(where), options
    )
    try:
        if address is None:
            asyncio.run(serve_stdio(tools, name=options.name))
        else:
            host, port = address
            asyncio.run(serve_http(tools, name=options.name, host=host, port=port))
    except (TypeError, ToolweaveError) as err:
        raise InputError(f"{where} cannot be served: {err}") from None
    return 0


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise InputError(f"--http must be a port or HOST:PORT, got {text!r}")
    return host.strip("[]") or DEFAULT_HOST, int(port)


def _tools(where: str) -> Any:
    """Return the object that `MODULE:NAME` names.

    Raises:
        InputError: There is no such module or object.
    """
    name, _, attribute = where.partition(":")
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


def _registry(file: str) -> ToolRegistry:
    from ..registry import ToolRegistry

    try:
        return ToolRegistry.load(file)
    except OSError as err:
        raise InputError(f"cannot read {file}: {err.strerror or err}") from None
    except RegistryError as err:
        raise InputError(f"{err}\ntoolweave lint {file} shows where") from None


def _registry_toolset(tools: Any, options: argparse.Namespace) -> Any:
    """Return the tools of a type and a site if `tools` is a registry, else `tools`."""
    from ..registry import ToolRegistry

    if not isinstance(tools, ToolRegistry):
        for name in ("type", "site", "allow", "allow_host"):
            if getattr(options, name):
                raise InputError(f"--{name.replace('_', '-')} is for tools of a registry")
        return tools
    _warn(tools, options)
    return tools.toolset(
        options.type or "Thing",
        options.site,
        allowed_handlers=options.allow,
        allowed_hosts=options.allow_host,
    )


def _warn(registry: ToolRegistry, options: argparse.Namespace) -> None:
    """Warn about tools that are listed but cannot run."""
    from ..handlers import find_handler

    for entry in registry.tools_for(options.type or "Thing", options.site):
        try:
            find_handler(
                registry,
                entry,
                allowed_handlers=options.allow,
                allowed_hosts=options.allow_host,
            )
        except ValueError as err:  # noqa: PERF203 - each tool is tried
            raise InputError(f"--allow: {err}") from None
        except (HandlerError, ImportError) as err:
            sys.stderr.write(escaped(f"toolweave mcp: warning: {err}", "ascii") + "\n")


def _all_tools(module: ModuleType) -> list[Any]:
    from ..tools import Tool

    tools: dict[str, Any] = {
        found.name: found for found in vars(module).values() if isinstance(found, Tool)
    }
    if not tools:
        raise InputError(
            f"module {module.__name__!r} has no tools: decorate functions with @tool, "
            f"or name a toolset: {module.__name__}:NAME"
        )
    return list(tools.values())
