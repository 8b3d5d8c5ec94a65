"""Servers in separate processes, which share chats, shut down and are killed."""

from __future__ import annotations

import asyncio
import signal
import sys
import textwrap
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from chat_servers import (
    TEST_TIMEOUT,
    all_events,
    finished,
    new_chat,
    on_a_server,
    say,
    text_of,
    until,
)

SERVER = textwrap.dedent(
    """
    import asyncio, socket, sys
    from pathlib import Path

    import uvicorn

    from toolweave import Agent
    from toolweave.store import MessageStore
    from toolweave.web import AgentResponder, WebLimits, chat_app

    url, folder, lease = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])


    async def wait(name: str) -> str:
        "Wait for the test."
        (folder / f"{name} entered").touch()
        while not (folder / f"{name} go").exists():
            await asyncio.sleep(0.01)
        return f"waited for {name}"


    async def model(messages):
        text = getattr(messages[-1], "text", "")
        if "waited for" in text:
            yield "Done."
            return
        yield "I wait. "
        yield '<wait>{"name": "' + text.split()[-1] + '"}</wait>'


    limits = WebLimits(lease=lease, shutdown_grace=0.05, batch=0.005, requests=None)
    store = MessageStore(url, poll=0.02)
    app = chat_app(store, AgentResponder(Agent(model, [wait])), limits=limits)
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    bound.listen()
    print(bound.getsockname()[1], flush=True)
    config = uvicorn.Config(app, lifespan="on", log_level="error")
    uvicorn.Server(config).run(sockets=[bound])
    """
)


@dataclass
class Process:
    """A server in a process, with a client."""

    process: asyncio.subprocess.Process
    client: httpx.AsyncClient

    async def end(self, how: signal.Signals) -> int:
        """Send a signal to the process, and return its exit status."""
        self.process.send_signal(how)
        return await asyncio.wait_for(self.process.wait(), TEST_TIMEOUT)


@asynccontextmanager
async def process(url: str, folder: Path, *, lease: float = 30) -> AsyncIterator[Process]:
    """Start a server in a process.

    Args:
        url: URL of the database.
        folder: Folder for files by which tests and tools synchronize.
        lease: Lease of runs in seconds. Short only where the server is killed, since a live server
            on a busy machine may renew a short lease too late.
    """
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SERVER, url, str(folder), str(lease), stdout=asyncio.subprocess.PIPE
    )
    assert started.stdout is not None
    try:
        port = int(await asyncio.wait_for(started.stdout.readline(), TEST_TIMEOUT))
        address = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(base_url=address, timeout=TEST_TIMEOUT) as client:
            yield Process(started, client)
    finally:
        if started.returncode is None:
            started.kill()
        await started.wait()
        # asyncio does not close the pipe by itself.
        started._transport.close()  # type: ignore[attr-defined]


async def entered(folder: Path, name: str) -> None:
    """Wait until the tool runs."""

    async def look() -> None:
        while not (folder / f"{name} entered").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)

    await asyncio.wait_for(look(), TEST_TIMEOUT)


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'chats.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


@on_a_server
async def test_processes_share_runs_and_either_can_stop_them(url: str, tmp_path: Path) -> None:
    async with process(url, tmp_path) as one, process(url, tmp_path) as two:
        chat = await new_chat(one.client)
        accepted = await say(one.client, chat, "tea")
        await entered(tmp_path, "tea")
        reading = asyncio.ensure_future(all_events(two.client, chat))
        (tmp_path / "tea go").touch()
        end = await finished(one.client, chat, accepted["runId"])
        assert end["stopReason"] == "completed"
        received = await reading
        assert received == await all_events(one.client, chat)
        assert text_of(received) == "I wait. Done."

        accepted = await say(two.client, chat, "milk")
        await entered(tmp_path, "milk")
        stop = await one.client.post(f"{chat}/runs/{accepted['runId']}/stop", json={})
        assert stop.json()["stopping"] is True
        end = await finished(one.client, chat, accepted["runId"])
        assert end["stopReason"] == "cancelled"


@on_a_server
async def test_a_server_with_open_streams_exits_on_sigterm(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'chats.db'}"
    async with process(url, tmp_path) as one:
        chat = await new_chat(one.client)
        accepted = await say(one.client, chat, "tea")
        await entered(tmp_path, "tea")
        async with one.client.stream("GET", f"{chat}/events?follow=1") as response:
            assert response.status_code == 200
            status = await one.end(signal.SIGTERM)
            assert status in (0, -signal.SIGTERM)
    async with process(url, tmp_path) as two:
        end = await finished(two.client, chat, accepted["runId"])
        assert end["stopReason"] == "interrupted"
        received = await all_events(two.client, chat)
        [result] = [event for event in received if event["kind"] == "tool_result"]
        assert result["errorCode"] == "interrupted"


@on_a_server
async def test_runs_of_a_killed_server_are_ended_by_another(url: str, tmp_path: Path) -> None:
    servers = process(url, tmp_path, lease=1), process(url, tmp_path, lease=8)
    async with servers[0] as one, servers[1] as two:
        chat = await new_chat(one.client)
        accepted = await say(one.client, chat, "tea")
        await entered(tmp_path, "tea")
        await until(two.client, chat, "tool_state", state="running")
        await one.end(signal.SIGKILL)
        # Clients of the other server see the end once the lease has expired.
        end = await finished(two.client, chat, accepted["runId"])
        assert end["stopReason"] == "interrupted"
        received = await all_events(two.client, chat)
        assert text_of(received).startswith("I wait. ")
        [result] = [event for event in received if event["kind"] == "tool_result"]
        assert result["errorCode"] == "interrupted"
        # The chat can be continued.
        (tmp_path / "tea go").touch()
        accepted = await say(two.client, chat, "tea")
        end = await finished(two.client, chat, accepted["runId"])
        assert end["stopReason"] == "completed"
