"""Process whose tool records when it is entered, for calls in many replies.

python -m endpoint.calls '{"runner": "use-http", "port": 12345, "streams": 1, ...}'
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from endpoint import wire
from endpoint.control import send_command
from endpoint.readers import bare, model_of, question, text_of
from endpoint.startup import TIMEOUT, start_streams

Note = Callable[[int, float], None]
"""Function that records when the tool of a call, by its number, was entered."""
ReadGroup = Callable[[str], AsyncIterator[object]]
"""Function that requests the reply of a group, runs its calls and yields progress."""


@asynccontextmanager
async def toolweave_runner(runner: str, port: int, note: Note) -> AsyncGenerator[ReadGroup, None]:
    """Open natural tool use or an agent of toolweave, on one of its models."""
    from toolweave import Agent, tool
    from toolweave.natural import NaturalToolUse

    @tool(name="GetWeather")
    async def get_weather(location: str, call: int) -> str:
        """Return the weather at a place."""
        note(call, time.monotonic())
        return f"{location}: {wire.RESULT}"

    kind, model_kind = runner.split("-")
    async with model_of(model_kind, f"http://127.0.0.1:{port}/v1") as model:
        made: NaturalToolUse | Agent
        if kind == "use":
            made = NaturalToolUse(model, [get_weather])
        else:
            made = Agent(model, [get_weather], tool_mode="natural")
        yield lambda group: made.stream(question(group))


_TAG = b"</GetWeather>"
_CALL = re.compile(r'"call": (\d+)}')


@asynccontextmanager
async def scanning(port: int, note: Note) -> AsyncGenerator[ReadGroup, None]:
    """Open the lower bound: read bytes from a socket and search them for a call's closing tag."""
    async with bare(f"http://127.0.0.1:{port}") as ask:

        async def read(group: str) -> AsyncIterator[object]:
            came: list[bytes] = []
            times: list[float] = []
            async for data in ask(group):
                if _TAG in data:
                    times += [time.monotonic()] * data.count(_TAG)
                came.append(data)
                yield data
            # The calls are identified at the end, since numbers may be split between chunks.
            for number, at in zip(_CALL.findall(text_of(came)), times, strict=False):
                note(int(number), at)

        yield read


async def measured(spec: dict[str, Any]) -> dict[str, Any]:
    """Run the benchmark of a specification.

    Returns:
        For every call the seconds from its end at the server to its function.

    Raises:
        AssertionError: The calls that were run differ from those that were sent.
    """
    port, streams, group = spec["port"], spec["streams"], spec["group"]
    entered: dict[int, float] = {}

    note = entered.__setitem__
    runner = (
        scanning(port, note)
        if spec["runner"] == "bare"
        else toolweave_runner(spec["runner"], port, note)
    )
    async with runner as ask:

        async def read(name: str, beginning: asyncio.Event) -> None:
            async for _ in ask(name):
                beginning.set()

        for _ in range(3):  # imports at first use, and pools
            await read("now", asyncio.Event())
        entered.clear()
        given = {name: spec[name] for name in ("tokens", "tick", "slots", "calls")}
        send_command(port, "open", group=group, **given)
        reading = await start_streams(partial(read, group), streams)
        await asyncio.sleep(0.5)
        send_command(port, "go", group=group)
        await asyncio.wait_for(asyncio.gather(*reading), TIMEOUT)
    found = send_command(port, "close", group=group)
    written = dict(found["times"])
    assert entered.keys() == written.keys(), entered.keys() ^ written.keys()
    return {
        "delays": sorted(entered[number] - at for number, at in written.items()),
        "late": found["late"],
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measured(json.loads(sys.argv[1])))))
