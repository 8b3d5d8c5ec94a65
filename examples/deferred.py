"""A deferred result: the program ends, and another one continues from its state.

Prints:

    I order them.
    stopped: deferred; order-bolt waits (40 pieces, to be signed by Ann)
    saved: 3 messages, 1 pending result
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
    """Order parts; a person must sign the order."""
    return Deferred(f"order-{article}", note=f"{pieces} pieces, to be signed by Ann")


async def begin(model: Model) -> str:
    """Run until a result is deferred, and return the state to save."""
    agent = Agent(model, [order])
    result = await agent.run("We need 40 bolts.")
    print(result.text)
    [pending] = agent.executor.deferred.pending
    print(f"stopped: {result.stop_reason}; {pending.key} waits ({pending.note})")
    state = {
        "messages": [message.to_dict() for message in result.messages],
        "deferred": agent.executor.deferred.to_dict(),
    }
    count, pending_count = len(state["messages"]), len(result.deferred)
    print(f"saved: {count} messages, {pending_count} pending result")
    return json.dumps(state)


async def resume_saved(model: Model, saved: str) -> None:
    """Resume from the saved state, once the result is available."""
    state = json.loads(saved)
    agent = Agent(model, [order], deferred=DeferredResults.from_dict(state["deferred"]))
    signed = {"delivery": "Friday"}
    outcomes = [agent.resolve("order-bolt", answer) for answer in (signed, signed, "never")]
    print("first answer: {}, the same again: {}, another one: {}".format(*outcomes))
    result = await agent.resume([message_from_dict(fields) for fields in state["messages"]])
    for message in result.messages:
        if isinstance(message, ToolAggregateMessage):
            print("result:", message.tool_results[0].result)
    print(result.text)


if __name__ == "__main__":
    call = 'I order them. <order>{"article": "bolt", "pieces": 40}</order>'
    saved = asyncio.run(begin(ScriptedModel(call)))
    print("-- another process, another day --")
    asyncio.run(resume_saved(ScriptedModel("They arrive on Friday."), saved))
