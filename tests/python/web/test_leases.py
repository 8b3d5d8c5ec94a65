"""Leases of runs, and the number of requests that a server sends to its store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from chat_servers import QUICK, finished, new_chat, on_a_server, say, serve, soon
from toolweave import Agent, Message
from toolweave.store import MessageStore
from toolweave.web import AgentResponder, WebLimits, chat_app


@on_a_server
async def test_a_run_that_ends_while_its_lease_is_renewed_is_not_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    renewing, ended, checked = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Slow(MessageStore):
        async def renew_all(self, *args: Any, **kwargs: Any) -> frozenset[str]:
            renewing.set()
            await ended.wait()
            alive = await super().renew_all(*args, **kwargs)
            asyncio.get_running_loop().call_soon(checked.set)
            return alive

        async def finish_run(self, *args: Any, **kwargs: Any) -> Any:
            written = await super().finish_run(*args, **kwargs)
            # The end is stored, but not yet known to this server.
            ended.set()
            await checked.wait()
            return written

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        await renewing.wait()
        yield "Done."

    store = Slow(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    limits = WebLimits(batch=0.005, shutdown_grace=0.0, requests=None, lease=3.0)
    app = chat_app(store, AgentResponder(Agent(model)), limits=limits)
    with caplog.at_level(logging.ERROR, "toolweave.web"):
        async with serve(app) as client:
            chat = await new_chat(client)
            run = (await say(client, chat, "Hi!"))["runId"]
            assert (await finished(client, chat, run))["stopReason"] == "completed"
            await soon(checked)
    assert caplog.records == []


@on_a_server
async def test_the_leases_of_many_runs_are_renewed_by_one_write(tmp_path: Path) -> None:
    written: list[frozenset[str]] = []
    renewed, proceed = asyncio.Event(), asyncio.Event()

    class Counting(MessageStore):
        async def renew_all(self, *args: Any, **kwargs: Any) -> frozenset[str]:
            written.append(await super().renew_all(*args, **kwargs))
            renewed.set()
            return written[-1]

        async def renew(self, *_: Any, **__: Any) -> bool:
            raise AssertionError("the leases must be renewed in one write")

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        yield "So. "
        await proceed.wait()

    store = Counting(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    limits = WebLimits(batch=0.005, shutdown_grace=0.0, requests=None, lease=3.0)
    app = chat_app(store, AgentResponder(Agent(model)), limits=limits)
    async with serve(app) as client:
        chats = [await new_chat(client) for _ in range(5)]
        runs = [(await say(client, chat, "Hi!"))["runId"] for chat in chats]
        while not written or written[-1] != frozenset(runs):
            renewed.clear()
            await soon(renewed)
        proceed.set()
        for chat, run in zip(chats, runs, strict=True):
            assert (await finished(client, chat, run))["stopReason"] == "completed"


@on_a_server
async def test_the_store_is_not_polled_for_events_of_a_local_run(tmp_path: Path) -> None:
    reads = 0
    proceed, finished_talking = asyncio.Event(), asyncio.Event()

    class Counting(MessageStore):
        async def run(self, run_id: str) -> Any:
            nonlocal reads
            reads += 1
            return await super().run(run_id)

    async def model(messages: Sequence[Message]) -> AsyncIterator[str]:  # noqa: ARG001
        yield "So. "
        await proceed.wait()
        for number in range(50):
            yield f"{number} "
            # Longer than a batch takes.
            await asyncio.sleep(0.02)
        finished_talking.set()

    store = Counting(f"sqlite:///{tmp_path / 'chats.db'}", poll=0.02)
    app = chat_app(store, AgentResponder(Agent(model)), limits=QUICK)
    async with serve(app) as client:
        chat = await new_chat(client)
        run = (await say(client, chat, "Hi!"))["runId"]
        before = reads
        proceed.set()
        await soon(finished_talking)
        # Occasional reads on a busy machine, but not one for each of the 50 deltas.
        assert reads - before <= 10
        await finished(client, chat, run)
