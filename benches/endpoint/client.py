"""Process that reads many streams with one of the readers, and prints the cost.

python -m endpoint.client '{"reader": "openai", "port": 12345, "streams": 100, ...}'
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from functools import partial
from typing import Any

from endpoint import wire
from endpoint.control import send_command
from endpoint.probe import Spent, Stalls, mark, resident
from endpoint.readers import READERS, text_of
from endpoint.startup import TIMEOUT, start_streams

IDLE = 1.0


async def measured(spec: dict[str, Any]) -> dict[str, Any]:
    """Run the benchmark of a specification.

    Raises:
        AssertionError: A text differs from the reply.
    """
    port, streams, tokens = spec["port"], spec["streams"], spec["tokens"]
    reader = READERS[spec["reader"]]
    group = spec["group"]
    first_end = 0

    async with reader.open(f"http://127.0.0.1:{port}/v1") as ask:

        async def read(name: str, beginning: asyncio.Event) -> list[str | bytes]:
            nonlocal first_end
            texts: list[str | bytes] = []
            async for text in ask(name):
                if not texts:
                    beginning.set()
                texts.append(text)
            first_end = first_end or resident()
            return texts

        for _ in range(3):  # imports at first use, and pools
            checked(await read("now", asyncio.Event()), 40)
        first_end = 0
        send_command(port, "open", group=group, tokens=tokens, tick=spec["tick"])
        gc.collect()
        before = resident()
        reading = await start_streams(partial(read, group), streams)
        await asyncio.sleep(0.2)
        start = Spent.now()
        await asyncio.sleep(IDLE)
        idle = Spent.now().since(start)

        send_command(port, "go", group=group)
        stalls = Stalls() if spec["stalls"] else None
        mark()
        start = Spent.now()
        replies = await asyncio.wait_for(asyncio.gather(*reading), TIMEOUT)
        spent = Spent.now().since(start).less(idle)
        mark()
        if stalls is not None:
            stalls.stop()
        for texts in replies:
            checked(texts, tokens)
    return {
        "label": reader.named,
        "user": spent.user,
        "system": spent.system,
        "took": spent.at,
        "memory": first_end - before,
        "stall": stalls.working if stalls else None,
        "stall_by_clock": stalls.waiting if stalls else None,
        "late": send_command(port, "close", group=group)["late"],
    }


def checked(texts: list[str | bytes], tokens: int) -> None:
    """Raise `AssertionError` unless exactly the reply was received."""
    expected, came = "".join(wire.reply_tokens(tokens)), text_of(texts)
    if came != expected:
        raise AssertionError(f"{came!r} came where the reply was {expected!r}")


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(json.loads(sys.argv[1])))))
