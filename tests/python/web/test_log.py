"""The event log of a stored run: it has everything exactly once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from chat_servers import QUICK, TEST_TIMEOUT
from effort import effort
from event_snapshots import FINAL, calls_of, snapshot_of
from run_scripts import ECHOES, agent_scripts, calculator_manager, scene_pieces
from toolweave import Agent, TextMessage
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.web import AgentResponder, Responder, SceneResponder
from toolweave.web._channels import ChatChannels
from toolweave.web._runs import ChatRuns

Event = dict[str, Any]


def law_of(check: Callable[[Callable[[Responder], list[Event]]], None]) -> None:
    """Check a law with a function that stores a run and returns its events."""
    loop = asyncio.new_event_loop()

    def wait(coroutine: Coroutine[Any, Any, Any]) -> Any:
        return loop.run_until_complete(asyncio.wait_for(coroutine, TEST_TIMEOUT))

    store = MessageStore("sqlite://")

    async def logged(responder: Responder) -> list[Event]:
        channels = ChatChannels(store, QUICK)
        runs = ChatRuns(store, channels, responder, QUICK)
        chat = (await store.create_chat()).chat_id
        async with channels.open(chat) as channel:
            await runs.start(chat, [TextMessage("Hi!", id="question")], None)
            seen = 0
            while entries := await channel.read(seen):
                seen = entries[-1].sequence_number
        await runs.close()
        events: list[Event] = [dict(event) for event in await store.events(chat)]
        return events

    try:
        wait(store.__aenter__())
        check(lambda responder: wait(logged(responder)))
    finally:
        wait(store.__aexit__(None, None, None))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def check_calls(snapshot: dict[str, Any]) -> None:
    for call in calls_of(snapshot).values():
        assert call["state"] in {*FINAL, "deferred"}, call


def test_the_log_of_an_agent_has_everything_once() -> None:
    def check(logged: Callable[[Responder], list[Event]]) -> None:
        @settings(max_examples=effort(30), phases=[Phase.generate])
        @given(script=agent_scripts(), is_native=st.booleans())
        def law(script: list[list[Any]], is_native: bool) -> None:
            model = ScriptedModel(*script, native_tools=is_native)
            snapshot = snapshot_of(logged(AgentResponder(Agent(model, ECHOES, max_iterations=4))))  # type: ignore[arg-type]
            assert snapshot["problems"] == []
            check_calls(snapshot)

        law()

    law_of(check)


def test_the_log_of_scenes_has_everything_once() -> None:
    def check(logged: Callable[[Responder], list[Event]]) -> None:
        @settings(max_examples=effort(30), phases=[Phase.generate])
        @given(
            script=st.lists(st.lists(scene_pieces, max_size=4), max_size=4),
            is_streaming=st.booleans(),
            mode=st.sampled_from(["direct", "chaining"]),
        )
        def law(script: list[list[Any]], is_streaming: bool, mode: Any) -> None:
            manager = calculator_manager(*script, "Fine.", "Fine.", "Fine.", mode=mode)
            responder = SceneResponder(manager, streaming=is_streaming)
            snapshot = snapshot_of(logged(responder))  # type: ignore[arg-type]
            assert snapshot["problems"] == []
            check_calls(snapshot)

        law()

    law_of(check)
