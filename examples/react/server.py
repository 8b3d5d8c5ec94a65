"""The server of the two front ends in this folder: an agent whose one tool the user has to allow.

Run ``python examples/react/server.py client``, or with ``use-chat``, after ``npm run build``.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import uvicorn

from toolweave import Agent, Message, tool
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.web import AgentResponder, Page, Turn, ask_in_chat, chat_app

HERE = Path(__file__).parent


@tool(requires_approval=True)
def book_table(guests: int) -> str:
    """Book a table for tonight."""
    return f"a table for {guests} at eight"


async def slowly(text: str) -> AsyncIterator[str]:
    """Stream a text word by word."""
    for word in text.split(" "):
        await asyncio.sleep(0.05)
        yield f"{word} "


def conclude(messages: Sequence[Message]) -> AsyncIterator[str]:
    """Answer after the call."""
    booked = "a table for 2 at eight" in str(messages[-1])
    return slowly("Your table is booked for eight." if booked else "I have booked nothing.")


def agent(_: Turn) -> Agent:
    """Return the agent of a turn: on a script in place of a model."""
    asking = slowly('I will book it.\n<book_table>{"guests": 2}</book_table>')
    return Agent(ScriptedModel(asking, conclude), [book_table], approver=ask_in_chat)


def main() -> None:
    """Serve the chats, and a built front end in front of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("app", choices=("client", "use-chat"))
    parser.add_argument("--built", type=Path, help="folder of the built front ends")
    parser.add_argument("--store", default="sqlite:///chats.db")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    folder = options.built / options.app if options.built else HERE / options.app / "dist"
    page = Page(directory=folder)
    app = chat_app(
        MessageStore(options.store), AgentResponder(agent), page=page, allowed_hosts=["127.0.0.1"]
    )
    with socket.create_server(("127.0.0.1", options.port)) as bound:
        print(f"http://127.0.0.1:{bound.getsockname()[1]}/", flush=True)
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[bound])


if __name__ == "__main__":
    main()
