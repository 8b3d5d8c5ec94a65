"""The end of a run: its scene, its timeout and its log."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

import toolweave as tw
import virtual_time
from calculator_scenes import ADD, ENTER, call, manager_of, steps_of
from coroutine_tests import on_a_loop
from effort import effort
from toolweave import SceneManager, SceneRun, SceneStep, SceneStopReason
from toolweave.conversations import Conversation, MemoryConversations
from toolweave.testing import ScriptedModel

replies = st.sampled_from(
    [
        "It is 42.",
        ADD,
        call("Fail"),
        call("Nope"),
        call("Weather_Report"),
        '{"continue": true}',
        '{"continue": false}',
        "",
        tw.ModelError("down"),
    ]
)


@settings(deadline=None, max_examples=effort(40))
@given(st.lists(replies, max_size=6), st.sampled_from(["direct", "chaining", "scene"]))
def test_the_end_of_a_run_says_in_which_scene_it_is(script: list[Any], mode: Any) -> None:
    async def main() -> None:
        begin = [] if mode == "scene" else [ENTER]
        silent = [tw.ModelError("silence")] * 8
        manager = manager_of(*begin, *script, *silent, mode=mode, max_iterations=2)
        scene = "Calculator" if mode == "scene" else None
        steps = await steps_of(manager, "Go.", scene=scene)
        entered = [step.scene for step in steps if step.status == "ExecutingScene"]
        before, last = steps[-2:]
        # The last text belongs to the scene that was entered last, unless it is said in place
        # of choosing another one.
        outside = before.status == "Running" and before.scene is None
        assert last.scene == (None if outside else entered[-1])
        fatal = [step for step in steps if step.fatal]
        if fatal and mode != "chaining":
            assert [step.scene for step in fatal] == [entered[-1]]
        event(f"{mode}: {last.stop_reason}")

    asyncio.run(main())


@on_a_loop
async def test_steps_outside_of_scenes_name_no_scene() -> None:
    steps = await steps_of(manager_of("No scene fits."), "Go.")
    assert [step.scene for step in steps] == [None, None]
    steps = await steps_of(manager_of(tw.ModelError("down")), "Go.")
    assert [step.scene for step in steps] == [None, None]
    plan = '{"steps": [{"id": 1, "scene": "Calculator", "purpose": "p"}]}'
    steps = await steps_of(manager_of(plan, "42.", "It is 42.", mode="planning"), "Go.")
    assert (steps[-1].message, steps[-1].scene) == ("It is 42.", None)
    # Whether another scene follows is decided outside of them.
    steps = await steps_of(manager_of(ENTER, "42.", "Hm", "Hm", mode="chaining"), "Go.")
    assert [step.scene for step in steps[-2:]] == [None, "Calculator"]


@on_a_loop
async def test_a_run_that_waits_for_its_client_waits_in_a_scene() -> None:
    manager = SceneManager(ScriptedModel("<Maps/>", call("Get_Location")))
    manager.scene("Maps").client_tool("Get Location")
    steps = await steps_of(manager, "Where am I?")
    assert (steps[-1].stop_reason, steps[-1].scene) == (SceneStopReason.AWAITING_CLIENT, "Maps")


class HangingStore(MemoryConversations):
    """A store that hangs in one of its methods, and may ignore cancellation."""

    def __init__(self, where: str, *, stubborn: bool = False) -> None:
        super().__init__()
        self.where = where
        self.stubborn = stubborn
        self.released = asyncio.Event()

    async def hang(self, where: str) -> None:
        while where == self.where and not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                if not self.stubborn:
                    raise

    async def load(self, key: str) -> Conversation | None:
        await self.hang("load")
        return await super().load(key)

    async def save(self, conversation: Conversation) -> None:
        await self.hang("save")
        await super().save(conversation)


TIME = 5.0
MORE = 3.0
"""The time in seconds by which a run may end later than that."""


@settings(deadline=None, max_examples=effort(20))
@given(
    st.sampled_from(["load", "save"]),
    st.booleans(),
    st.sampled_from(["answers", "hangs"]),
)
def test_a_hanging_store_does_not_extend_a_run_past_its_timeout(
    where: str, stubborn: bool, tool: str
) -> None:
    async def main() -> tuple[list[SceneStep], SceneRun, float]:
        async def look() -> str:
            if tool == "hangs":
                await asyncio.Event().wait()
            return "8 degrees"

        store = HangingStore(where, stubborn=stubborn)
        model = ScriptedModel("<Weather/>", "<look/>", "8 degrees.")
        manager = SceneManager(model, run_timeout=TIME, conversations=store)
        manager.scene("Weather").tool(look)
        run = manager.open("Go.")
        steps = [step async for step in run]
        took = asyncio.get_running_loop().time()
        # Left to itself, the store may end.
        store.released.set()
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
        return steps, run, took

    steps, run, took = virtual_time.run(main())
    assert TIME <= took <= TIME + MORE
    result = run.result
    assert result is not None
    assert (result.stop_reason, result.error) == (
        SceneStopReason.ERROR,
        "The run took longer than 5 seconds",
    )
    assert [step.fatal for step in steps].count(True) == 1
    assert steps[-1].status == "Completed"
    if (where, tool) == ("save", "answers"):
        assert result.text == "8 degrees."


def test_the_conversation_is_saved_although_tools_stop_slowly() -> None:
    store = MemoryConversations()

    async def slow() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(4)

    async def main() -> None:
        manager = SceneManager(
            ScriptedModel("<S/>", "<slow/>"), run_timeout=TIME, conversations=store
        )
        manager.scene("S").tool(slow)
        result = await manager.run("Go.")
        stored = await store.load(result.conversation)
        assert stored is not None
        assert stored.messages == list(result.messages)
        assert TIME + 4 <= asyncio.get_running_loop().time() <= TIME + 5

    virtual_time.run(main())


@on_a_loop
async def test_the_messages_so_far_are_saved_after_a_timeout() -> None:
    store = MemoryConversations()

    async def slow() -> None:
        await asyncio.Event().wait()

    model = ScriptedModel("<S/>", "<slow/>")
    manager = SceneManager(model, run_timeout=0.01, conversations=store)
    manager.scene("S").tool(slow)
    result = await manager.run("Go.")
    stored = await store.load(result.conversation)
    assert stored is not None
    assert stored.messages == list(result.messages)


@pytest.mark.parametrize("mode", ["direct", "chaining"])
@on_a_loop
async def test_a_successful_run_logs_no_refusals(
    mode: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    script = [ENTER, ADD, "42.", '{"continue": false}']
    result = await manager_of(*script, mode=mode).run("15 + 27?")
    assert result.stop_reason is SceneStopReason.COMPLETED
    assert "a run of scenes has ended" in caplog.messages
    assert "a call is refused" not in caplog.messages
    # One that is refused is logged as before.
    await manager_of(ENTER, call("Nope"), "42.").run("15 + 27?")
    assert caplog.messages.count("a call is refused") == 1
