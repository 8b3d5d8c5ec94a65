"""Types of registries: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from typing_extensions import assert_type

from toolweave import Agent, RegistryError, Tool, ToolRegistry, Toolset, tool
from toolweave._core import Diagnostic, Origin, RegistrySnapshot, ToolEntry
from toolweave.protocols import Model
from toolweave.registry import MessageCollector, Reload


class Details:
    def __init__(self, params: dict[str, Any], handler: MessageCollector) -> None:
        self.params, self.handler = params, handler

    async def do(self) -> None:
        await self.handler.send_message(self.params)


@tool
def order(dish: str) -> str:
    return dish


def reading(path: Path) -> None:
    registry = ToolRegistry.load(path)
    ToolRegistry.load("tools.xml")
    ToolRegistry.loads(b"<Tools/>")
    ToolRegistry.from_tools([order, reading], type="Recipe", site="a")
    ToolRegistry.from_tools([order], "Recipe")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert_type(registry.tools_for("Recipe", "a"), tuple[ToolEntry, ...])
    assert_type(registry.explain("Recipe"), tuple[Origin, ...])
    assert_type(registry.lint(allowed_handlers=["shop"]), tuple[Diagnostic, ...])
    assert_type(registry.snapshot, RegistrySnapshot)
    assert_type(registry.reload(), bool)
    assert_type(registry.write(path), str)
    assert_type(registry.path, Path | None)
    try:
        registry.reload()
    except RegistryError as err:
        assert_type(err.diagnostics, tuple[Diagnostic, ...])


def handlers(registry: ToolRegistry, entry: ToolEntry) -> None:
    # Decorated functions keep their types.
    assert_type(registry.handler("details")(Details), type[Details])
    same: Tool[[str], str] = registry.handler("order", examples=["Pizza!"])(order)
    assert_type(same("pizza"), str)

    @registry.handler("more", type="Recipe", site="a", return_struc={"score": 1})
    def more(count: int) -> str:
        return str(count)

    asked: Callable[[int], str] = more
    asked(1)
    registry.handler("more", "Recipe")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    assert_type(registry.handler_for(entry), object | None)


def serving(registry: ToolRegistry, model: Model) -> None:
    tools = registry.toolset("Recipe", "a", allowed_handlers=["shop"], timeout=3.0)
    assert_type(tools, Toolset)
    Agent(model, tools)
    registry.toolset(describe=lambda entry: entry.prompt)


async def watching(registry: ToolRegistry) -> None:
    async with registry.watch() as reloads:
        async for reload in reloads:
            assert_type(reload, Reload)
            assert_type(reload.changed, bool)
            assert_type(reload.diagnostics, tuple[Diagnostic, ...])
