"""Chats over HTTP: a call that requires approval, and a client that disconnects and resumes.

Prints:

    transfer {'to': 'Ann', 'amount': 20} awaiting_approval
    approved in another request: resolved
    success | 20 for Ann
    assistant | Ann has her 20.
"""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from toolweave import Agent, tool
from toolweave.client import AsyncChatClient
from toolweave.lifecycle import StreamReducer
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.web import AgentResponder, ask_in_chat, chat_app


@tool(requires_approval=True)
def transfer(to: str, amount: int) -> str:
    """Transfer money."""
    return f"{amount} for {to}"


async def converse(client: AsyncChatClient) -> None:
    """Send a message, approve the call, and print the reply."""
    chat = await client.start()
    await client.send(chat, "Give Ann 20.")
    reducer, key = StreamReducer(), ""
    async with client.follow(chat, reducer=reducer) as events:
        async for event in events:
            if event["kind"] == "tool_state" and "key" in event:
                key = event["key"]
                break  # the run waits for the approval, with or without clients
    [call] = reducer.snapshot()["messages"][-1]["toolCalls"]
    print(call["name"], call["arguments"], call["state"])
    outcome = await client.approve(chat, key)
    print("approved in another request:", outcome)
    async with client.follow(chat, reducer=reducer) as events:  # resumes
        async for _ in events:
            pass
    _, calls, reply = reducer.snapshot()["messages"]
    print(calls["toolCalls"][0]["state"], "|", calls["toolCalls"][0]["result"])
    print(reply["role"], "|", reply["text"])


async def main() -> None:
    """Serve an agent, as `uvicorn module:app` does, and run a client."""
    model = ScriptedModel('<transfer>{"to": "Ann", "amount": 20}</transfer>', "Ann has her 20.")
    responder = AgentResponder(Agent(model, [transfer], approver=ask_in_chat))
    app = chat_app(MessageStore("sqlite://"), responder)
    with socket.create_server(("127.0.0.1", 0)) as bound:
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
        serving = asyncio.create_task(server.serve(sockets=[bound]))
        port = bound.getsockname()[1]
        async with AsyncChatClient(f"http://127.0.0.1:{port}") as client:
            await converse(client)
        server.should_exit = True
        await serving


if __name__ == "__main__":
    asyncio.run(main())
