"""Chats over HTTP: a call that asks first, and a client that leaves and goes on where it was.

Prints:

    transfer {'to': 'Ann', 'amount': 20} awaiting_approval
    answered later, by another request: resolved
    success | 20 for Ann
    assistant | Ann has her 20.
"""

from __future__ import annotations

import asyncio
import json
import socket

import httpx
import uvicorn

from toolweave import Agent, tool
from toolweave.lifecycle import StreamReducer
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.web import AgentResponder, ask_in_chat, chat_app


@tool(requires_approval=True)
def transfer(to: str, amount: int) -> str:
    """Transfers money."""
    return f"{amount} for {to}"


async def read(client: httpx.AsyncClient, chat: str, reducer: StreamReducer) -> str:
    """Reads on until somebody is asked, and returns the key to answer under; or to the end."""
    after = reducer.last_sequence_number
    async with client.stream("GET", f"{chat}/events?after={after}") as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data: "):
                event = json.loads(line.removeprefix("data: "))
                reducer.push(event)
                if "key" in event:
                    return str(event["key"])
    return ""


async def converse(client: httpx.AsyncClient) -> None:
    """Says something, and sees to what comes of it."""
    chat = f"/chats/{(await client.post('/chats', json={})).json()['chatId']}"
    await client.post(f"{chat}/messages", json={"text": "Give Ann 20."})
    reducer = StreamReducer()
    key = await read(client, chat, reducer)
    [call] = reducer.snapshot()["messages"][-1]["toolCalls"]
    print(call["name"], call["arguments"], call["state"])
    answer = await client.post(f"{chat}/answers/{key}", json={"approved": True})
    print("answered later, by another request:", answer.json()["outcome"])
    await read(client, chat, reducer)
    _, calls, said = reducer.snapshot()["messages"]
    print(calls["toolCalls"][0]["state"], "|", calls["toolCalls"][0]["result"])
    print(said["role"], "|", said["text"])


async def main() -> None:
    """Serves an agent, as `uvicorn module:app` does, and talks to it."""
    model = ScriptedModel('<transfer>{"to": "Ann", "amount": 20}</transfer>', "Ann has her 20.")
    responder = AgentResponder(Agent(model, [transfer], approver=ask_in_chat))
    app = chat_app(MessageStore("sqlite://"), responder)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        port = bound.getsockname()[1]
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
            await converse(client)
        server.should_exit = True
        await serving


if __name__ == "__main__":
    asyncio.run(main())
