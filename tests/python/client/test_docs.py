"""The Python example of docs/explanation/clients.md runs, and prints the output shown there."""

from __future__ import annotations

import contextlib
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

from chat_servers import QUICK, on_a_server, serve_agent
from markdown_blocks import blocks
from paths import DOCS
from toolweave import Agent, tool
from toolweave.client import AsyncChatClient
from toolweave.testing import ScriptedModel
from toolweave.web import ask_in_chat

PAGE = DOCS / "explanation/clients.md"


@tool(requires_approval=True)
async def remove(path: str) -> str:
    """Remove a file."""
    return f"{path} is gone"


@on_a_server
async def test_the_example_prints_the_output_on_the_page(tmp_path: Path) -> None:
    found = blocks(PAGE.read_text("utf-8"))
    [code] = [block for block in found if block.language == "python"]
    [output] = [block.code for block in found if block.language == "text"]
    namespace: dict[str, Any] = {}
    exec(compile("\n" * (code.line - 1) + code.code, str(PAGE), "exec"), namespace)
    model = ScriptedModel('<remove>{"path": "notes.txt"}</remove>', "It is gone.")
    agent = Agent(model, [remove], approver=ask_in_chat)
    printed = io.StringIO()
    async with serve_agent(tmp_path, agent, limits=replace(QUICK, retry=0.01)) as server:
        with contextlib.redirect_stdout(printed):
            await namespace["converse"](str(server.base_url))
        [chat] = (await server.get("/chats")).json()["chats"]
    assert printed.getvalue() == output
    assert chat["metadata"] == {"title": "Files"}


def test_the_page_names_all_methods() -> None:
    section = PAGE.read_text("utf-8").partition("\n## Python\n")[2].partition("\n## ")[0]
    methods = {name for name in vars(AsyncChatClient) if not name.startswith("_")} - {"aclose"}
    assert {name for name in methods if f"`{name}`" not in section} == set()
