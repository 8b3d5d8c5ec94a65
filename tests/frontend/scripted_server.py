"""A chat server whose model and tools follow a test's script, so that every order is certain.

Tests control it over HTTP, next to the routes of the chats (`ScriptedServer` in `serving.py`):

- ``POST /test/forget`` resets the script;
- ``POST /test/replies`` sets the model's replies to a prompt, in pieces; an object is a pause with
  a name;
- ``POST /test/pauses/{name}`` ends a pause;
- ``POST /test/tools`` sets the next action of the tool that was called with a name.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import uvicorn
from pydantic import Field
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from toolweave import (
    Agent,
    AgentRun,
    Deferred,
    FinishUpdate,
    Role,
    TextDelta,
    TextMessage,
    ToolContext,
    ToolFailed,
    tool,
)
from toolweave.store import MessageStore
from toolweave.web import Page, Suggestion, Turn, WebLimits, ask_in_chat, chat_app
from toolweave.web._raw_text import OnText, RawTextModel, RawTextRun
from toolweave.web._responders import open_agent_run

LIMITS = WebLimits(batch=0.005, shutdown_grace=0.0, requests=None)
SIZES = {
    "type": "object",
    "properties": {
        "size": {"enum": ["small", "large"], "description": "How hungry you are"},
        "slices": {"type": "integer", "minimum": 1},
        "olives": {"type": "boolean"},
    },
    "required": ["size", "slices"],
}


@dataclass
class Script:
    """The scripted replies, pauses and actions of tools."""

    replies: dict[str, list[list[str | dict[str, str]]]] = field(default_factory=dict)
    pauses: dict[str, asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))
    tools: dict[str, asyncio.Queue[dict[str, Any]]] = field(
        default_factory=lambda: defaultdict(asyncio.Queue)
    )


SCRIPT = Script()


class WaitingModel:
    """A model that gives the scripted replies to a prompt, and waits at pauses.

    Args:
        prompt: The prompt.
    """

    native_tools = False
    provider = "script"
    name = "script"

    def __init__(self, prompt: str) -> None:
        self._prompt = prompt

    async def stream(self, *_: object, **__: object) -> AsyncIterator[TextDelta | FinishUpdate]:
        """Stream the next reply."""
        replies = SCRIPT.replies.get(self._prompt)
        for piece in replies.pop(0) if replies else ["There is nothing to say to that."]:
            if isinstance(piece, str):
                yield TextDelta(piece)
            else:
                await SCRIPT.pauses[piece["pause"]].wait()
        yield FinishUpdate("stop")


@tool("ReadStation")
async def read_station(city: str, context: ToolContext) -> str:
    """Read a weather station, as the test scripts it.

    Args:
        city: The city, which names the script
        context: Receives the progress
    """
    words = SCRIPT.tools[city]
    while True:
        word = await words.get()
        if "progress" in word:
            context.progress(word["progress"])
        elif "error" in word:
            raise ToolFailed(word["error"])
        else:
            result: str = word["result"]
            return result * int(word.get("times", 1))


@tool("TrackParcel", timeout=0.2)
async def track_shipment(number: str) -> str:
    """Ask a carrier that never answers.

    Args:
        number: The number of the shipment
    """
    await asyncio.Event().wait()
    return number


@tool("TransferMoney", requires_approval=True)
async def transfer_money(to: str, euros: Annotated[float, Field(gt=0)]) -> str:
    """Transfer money. The user is asked before.

    Args:
        to: Who gets it
        euros: How much, in euros
    """
    return f"transferred {euros:g} euros to {to}"


@tool("OrderPizza")
async def order_pizza(kind: str, context: ToolContext) -> str:
    """Order a pizza. Ask the user for the details.

    Args:
        kind: What is on it
        context: Where the user is asked
    """
    answer = await context.ask(f"How shall the {kind} be?", SIZES)
    return f"ordered {kind}: {answer}"


@tool("AskColleague")
async def ask_colleague(question: str) -> Deferred:
    """Return a deferred result.

    Args:
        question: What to ask
    """
    return Deferred(note=f"A colleague is asked: {question}")


TOOLS = (read_station, track_shipment, transfer_money, order_pizza, ask_colleague)


def answer(turn: Turn) -> RawTextRun:
    """Answer with the scripted replies."""
    prompts = [
        message.text
        for message in (*turn.history, *turn.messages)
        if isinstance(message, TextMessage) and message.role is Role.USER
    ]

    def open_run(on_text: OnText, _: object) -> AgentRun:
        agent = Agent(
            RawTextModel(WaitingModel(prompts[-1]), on_text),
            TOOLS,
            name="script",
            approver=ask_in_chat,
            # The page must handle any result that a server lets through.
            max_result_chars=None,
        )
        return open_agent_run(agent, turn)

    return RawTextRun(open_run)


async def forget(_: Request) -> Response:
    """Reset the script; pending waits never end."""
    global SCRIPT
    SCRIPT = Script()
    return JSONResponse({})


async def set_replies(request: Request) -> Response:
    """Set the model's replies to a prompt."""
    body = await request.json()
    SCRIPT.replies[body["prompt"]] = body["replies"]
    return JSONResponse({})


async def release_pause(request: Request) -> Response:
    """Release a model that waits at a pause."""
    SCRIPT.pauses[request.path_params["name"]].set()
    return JSONResponse({})


async def instruct_tool(request: Request) -> Response:
    """Set the next action of a tool."""
    body = await request.json()
    SCRIPT.tools[body["name"]].put_nowait(body["word"])
    return JSONResponse({})


async def serve(arguments: argparse.Namespace) -> None:
    """Print the URL, and serve until interrupted."""
    store = MessageStore(arguments.store, clock=lambda: time.time() + arguments.ahead)
    page = Page(title="toolweave", suggestions=[Suggestion(label="A greeting", text="Hello")])
    if arguments.page is not None:
        page = Page(directory=arguments.page)
    app = chat_app(store, answer, limits=LIMITS, page=page, allowed_hosts=["127.0.0.1"])
    app.router.routes[:0] = [
        Route("/test/forget", forget, methods=["POST"]),
        Route("/test/replies", set_replies, methods=["POST"]),
        Route("/test/pauses/{name}", release_pause, methods=["POST"]),
        Route("/test/tools", instruct_tool, methods=["POST"]),
    ]
    listener = socket.create_server(("127.0.0.1", arguments.port), backlog=512)
    listener.setblocking(False)
    server = uvicorn.Server(
        uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=1)
    )
    # Clients that connect before it has started wait in the backlog.
    sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}/\n")
    sys.stdout.flush()
    await server.serve([listener])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--ahead", type=float, default=0.0, help="seconds that its clock is ahead")
    parser.add_argument("--page", type=Path, help="folder of another front end")
    asyncio.run(serve(parser.parse_args()))
