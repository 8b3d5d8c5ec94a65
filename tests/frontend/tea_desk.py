"""An application whose page has settings of its own, and which two other origins may use."""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import uvicorn

from toolweave import Agent, Message
from toolweave.store import MessageStore
from toolweave.web import AgentResponder, Page, Suggestion, WebLimits, ask_in_chat, chat_app

LOGO = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">'
    '<path d="M4 10h18v8a8 8 0 0 1-8 8h-2a8 8 0 0 1-8-8z" fill="#2f6f4f"/>'
    '<path d="M22 12h3a4 4 0 0 1 0 8h-3" fill="none" stroke="#2f6f4f" stroke-width="3"/>'
    '<path d="M10 3q3 2 0 5M16 3q3 2 0 5" fill="none" stroke="#8a9" stroke-width="2"/></svg>'
)


async def steeping_time(tea: str) -> str:
    """Return how long a tea steeps.

    Args:
        tea: Kind of the tea
    """
    return {"green": "two minutes", "black": "four minutes"}.get(tea, "five minutes")


async def model(messages: Sequence[Message]) -> AsyncIterator[str]:
    """Ask the tool, and then answer slowly, word by word."""
    if "minutes" not in getattr(messages[-1], "text", ""):
        yield '<steeping_time>{"tea": "green"}</steeping_time>'
        return
    for part in ("Green tea ", "steeps for ", "two minutes, ", "in water ", "at 80 °C."):
        await asyncio.sleep(0.1)
        yield part


def page_of(folder: Path) -> Page:
    """Return the page; its logo is written into a folder."""
    logo = folder / "logo.svg"
    logo.write_text(LOGO, "utf-8")
    return Page(
        title="Tea desk",
        headline="What would you like to drink?",
        intro="I know 80 teas, and how to make them.\n\nIt takes < 10 minutes & no skill.",
        suggestions=[
            "How long does green tea steep?",
            Suggestion(label="A gift", text="Which tea is a good gift for someone in Rome?"),
        ],
        placeholder="Ask about tea",
        logo=logo,
        links={"Privacy": "/privacy", "Write to us": "mailto:desk@tea.example"},
    )


async def serve(arguments: argparse.Namespace) -> None:
    """Print the URL, and serve until interrupted."""
    app = chat_app(
        MessageStore(arguments.store),
        AgentResponder(Agent(model, [steeping_time], approver=ask_in_chat)),
        limits=WebLimits(batch=0.005, shutdown_grace=0.0, requests=None),
        page=page_of(Path(arguments.store.removeprefix("sqlite:///")).parent),
        allowed_hosts=["127.0.0.1"],
        allowed_origins=arguments.origin,
    )
    with socket.create_server(("127.0.0.1", arguments.port)) as listener:
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1)
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/\n")
        sys.stdout.flush()
        await uvicorn.Server(config).serve([listener])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--origin", action="append", default=[])
    asyncio.run(serve(parser.parse_args()))
