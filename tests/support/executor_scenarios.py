"""Tools with every kind of behaviour, and random calls of them."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from toolweave import (
    FunctionContract,
    InvalidToolCall,
    ToolCall,
    Violation,
)
from toolweave.exceptions import ToolError, TransientToolError
from toolweave.executor import Deferred, ToolEvent, ToolExecutor, ToolQuestion
from toolweave.protocols import Approval, Journal
from toolweave.tools import RateLimit, RetryPolicy, Tool, ToolContext, tool

NAMES = ["alpha", "beta", "gamma", "delta"]

# The action that a call performs at the end of the given time.
BEHAVIOURS = [
    "return",
    "raise",
    "raise_transient",
    "raise_cancelled",
    "raise_odd",
    "cancel_itself",
    "cancel_and_return",
    "never",
    "cling",
    "report",
    "defer",
    "ask",
    "ask_in_vain",
    "call",
    "call_many",
]


class Odd(BaseException):
    pass


@dataclass
class World:
    """The state that the tools of one example share."""

    at_work: Counter[str] = field(default_factory=Counter)
    keys: Counter[str] = field(default_factory=Counter)
    most: int = 0
    most_of: Counter[str] = field(default_factory=Counter)
    most_of_key: int = 0
    log: list[tuple[str, str]] = field(default_factory=list)
    """Entries into tools, one per attempt, and writes of the journal."""

    def enter(self, name: str) -> None:
        self.at_work[name] += 1
        self.most = max(self.most, self.at_work.total())
        self.most_of[name] = max(self.most_of[name], self.at_work[name])

    def leave(self, name: str) -> None:
        self.at_work[name] -= 1

    async def do(
        self, name: str, behaviour: str, seconds: float, key: str, context: ToolContext
    ) -> Any:
        self.log.append(("entered", context.call_id))
        self.enter(name)
        self.keys[key] += 1
        self.most_of_key = max(self.most_of_key, self.keys[key])
        try:
            return await self._do(name, behaviour, seconds, key, context)
        finally:
            self.keys[key] -= 1
            self.leave(name)

    async def _do(
        self, name: str, behaviour: str, seconds: float, key: str, context: ToolContext
    ) -> Any:
        await asyncio.sleep(seconds)
        if behaviour == "raise":
            raise ValueError(behaviour)
        if behaviour == "raise_transient":
            raise TransientToolError(behaviour)
        if behaviour == "raise_cancelled":
            raise asyncio.CancelledError
        if behaviour == "raise_odd":
            raise Odd
        if behaviour == "cancel_itself":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(1)
        if behaviour == "cancel_and_return":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        if behaviour == "never":
            await asyncio.Event().wait()
        if behaviour == "cling":
            try:
                await asyncio.sleep(50)
            except asyncio.CancelledError:
                await asyncio.sleep(seconds)
        if behaviour == "report":
            for number in range(3):
                context.progress(number)
                await asyncio.sleep(seconds)
        if behaviour == "defer":
            return Deferred()
        if behaviour in ("ask", "ask_in_vain", "call", "call_many"):
            # It waits, so others may take its slot.
            self.leave(name)
            try:
                answer = await self._wait_for(behaviour, seconds, key, context)
            except asyncio.CancelledError:
                # It was stopped meanwhile and no longer has a slot.
                self.at_work[name] += 1
                raise
            except ToolError:
                self.enter(name)
                raise
            self.enter(name)
            return answer
        return behaviour

    async def _wait_for(
        self, behaviour: str, seconds: float, key: str, context: ToolContext
    ) -> Any:
        if behaviour.startswith("ask"):
            return await context.ask(behaviour)
        given = {"behaviour": "return", "seconds": seconds, "key": "y" if key == "x" else "x"}
        names = NAMES[:1] if behaviour == "call" else NAMES[:3]
        calls = [context.call(name, given) for name in names]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        # Unknown tools, denied calls and the like are left to the executor.
        assert all(isinstance(each, (str, ToolError)) for each in answers), answers
        return len(answers)


def make_tool(world: World, name: str, options: dict[str, Any], generator: bool) -> Tool[..., Any]:
    options = {**options, "after": [other for other in options.get("after", ()) if other != name]}

    async def plain(
        context: ToolContext, behaviour: str = "return", seconds: float = 0, key: str = ""
    ) -> Any:
        return await world.do(name, behaviour, seconds, key, context)

    async def generated(
        context: ToolContext, behaviour: str = "return", seconds: float = 0, key: str = ""
    ) -> AsyncIterator[Any]:
        yield "begun"
        yield await world.do(name, behaviour, seconds, key, context)

    return tool(generated if generator else plain, name=name, **options)


seconds = st.sampled_from([0, 0, 0.5, 1, 3])
options = st.fixed_dictionaries(
    {},
    optional={
        "timeout": st.sampled_from([0.7, 2, 5]),
        "idle_timeout": st.sampled_from([0.7, 2]),
        "retries": st.just(RetryPolicy(3, initial=0.5, jitter=0)),
        "max_concurrency": st.sampled_from([1, 2]),
        "concurrency_key": st.just("key"),
        "sequential": st.booleans(),
        "requires_approval": st.booleans(),
        "idempotent": st.booleans(),
        "cache": st.sampled_from([False, True, 2]),
        "rate_limit": st.builds(
            RateLimit, st.sampled_from([1, 2]), on_limit=st.sampled_from(["wait", "refuse"])
        ),
        "max_result_chars": st.just(3),
        "after": st.lists(st.sampled_from(NAMES), unique=True, max_size=2).map(tuple),
        "partial_results": st.booleans(),
    },
)
calls = st.builds(
    ToolCall,
    st.sampled_from(["", "a", "a", "b", "c", "a#2"]),
    st.sampled_from([*NAMES, "nowhere"]),
    st.fixed_dictionaries(
        {},
        optional={
            "behaviour": st.sampled_from(BEHAVIOURS),
            "seconds": seconds | st.just("long"),
            "key": st.sampled_from(["x", "y"]),
        },
    ),
) | st.builds(
    InvalidToolCall,
    st.just(0),
    st.sampled_from(["a", "b"]),
    st.sampled_from(NAMES),
    st.sampled_from(["unclosed", "too_large", "schema_violation"]),
    st.just("<raw>"),
    st.just((Violation("", "type", "the value: wrong", None, None),)),
)
endings = st.none() | st.floats(0, 8)


async def approve(call: ToolCall, _: FunctionContract) -> Approval:
    await asyncio.sleep(0.5)
    return Approval(allowed=call.arguments.get("key") != "y")


async def run_calls(
    executor: ToolExecutor,
    given: list[ToolCall | InvalidToolCall],
    pause: float,
    end: float | None,
    *,
    journal: Journal | None = None,
    events: list[ToolEvent] | None = None,
) -> list[ToolEvent]:
    """Submit the calls, answer questions, and possibly leave before the end."""
    loop = asyncio.get_running_loop()
    events = [] if events is None else events
    running = executor.open(journal=journal)

    async def read() -> None:
        async for each in running:
            events.append(each)
            if isinstance(each, ToolQuestion):
                answer = functools.partial(
                    executor.resolve, each.key, "?", is_error=each.question == "ask_in_vain"
                )
                loop.call_later(pause, answer)

    reader = asyncio.ensure_future(read())
    for each in given:
        running.submit(each)
        if pause:
            await asyncio.sleep(pause)
    if end is None:
        running.close()
    else:
        await asyncio.sleep(end)
        await running.cancel()
    await reader
    return events
