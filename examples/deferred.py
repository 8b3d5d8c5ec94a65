"""A result that comes later: the program ends, and another goes on with its state.

Prints:

    I order them.
    stopped: deferred; order-bolt waits (40 pieces, to be signed by Ann)
    written down: 3 messages, 1 pending result
    -- another process, another day --
    first answer: resolved, the same again: duplicate, another one: conflict
    result: {"delivery":"Friday"}
    They arrive on Friday.
"""

from __future__ import annotations

import asyncio
import json

from toolweave import (
    Agent,
    Deferred,
    DeferredResults,
    ToolAggregateMessage,
    message_from_dict,
    tool,
)
from toolweave.protocols import Model
from toolweave.testing import ScriptedModel


@tool
def order(article: str, pieces: int) -> Deferred:
    """Orders parts; somebody has to sign."""
    return Deferred(f"order-{article}", note=f"{pieces} pieces, to be signed by Ann")


async def begin(model: Model) -> str:
    """Runs until there is something to wait for, and returns all that has to be kept."""
    agent = Agent(model, [order])
    result = await agent.run("We need 40 bolts.")
    print(result.text)
    [pending] = agent.executor.deferred.pending
    print(f"stopped: {result.stop_reason}; {pending.key} waits ({pending.note})")
    state = {
        "messages": [message.to_dict() for message in result.messages],
        "deferred": agent.executor.deferred.to_dict(),
    }
    kept, waiting = len(state["messages"]), len(result.deferred)
    print(f"written down: {kept} messages, {waiting} pending result")
    return json.dumps(state)


async def go_on(model: Model, written: str) -> None:
    """Goes on from what was kept, once the result is there."""
    state = json.loads(written)
    agent = Agent(model, [order], deferred=DeferredResults.from_dict(state["deferred"]))
    signed = {"delivery": "Friday"}
    outcomes = [agent.resolve("order-bolt", said) for said in (signed, signed, "never")]
    print("first answer: {}, the same again: {}, another one: {}".format(*outcomes))
    result = await agent.resume([message_from_dict(fields) for fields in state["messages"]])
    for message in result.messages:
        if isinstance(message, ToolAggregateMessage):
            print("result:", message.tool_results[0].result)
    print(result.text)


if __name__ == "__main__":
    call = 'I order them. <order>{"article": "bolt", "pieces": 40}</order>'
    written = asyncio.run(begin(ScriptedModel(call)))
    print("-- another process, another day --")
    asyncio.run(go_on(ScriptedModel("They arrive on Friday."), written))
