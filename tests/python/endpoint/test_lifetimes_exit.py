"""Interpreter shutdown with open replies: 25 times in each way, 200 times in all."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import interpreter_exits
from effort import effort
from servers.dialects import delta, openai_text
from servers.raw import Connection, Request, Script, raw_server
from servers.scripts import events, raw
from servers.sse import Do

PROGRAM = Path(interpreter_exits.__file__)
TIMES = effort(10, at_least=5)
WAYS = [
    "mid_stream",
    "before_the_head",
    "loop_closed",
    "many_loops",
    "exit_in_task",
    "daemon",
    "readerless_daemon",
    "readerless_and_closed",
]


def flood(connection: Connection, _: Request) -> None:
    """Send pieces until the client disconnects."""
    connection.head(200, "Content-Type: text/event-stream", "Transfer-Encoding: chunked")
    while True:
        connection.chunk(delta(content="abcdefgh ") * 8)


def ended(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], check=False, capture_output=True, text=True, timeout=100
    )


@pytest.mark.parametrize("way", WAYS)
def test_an_interpreter_exits_cleanly_whatever_is_open(way: str) -> None:
    script: Script = events(delta(content="a"), Do.HOLD)
    if way == "before_the_head":
        script = raw(Do.HOLD)
    if way.endswith("daemon"):
        script = flood
    with raw_server(script) as server:
        done = ended(str(PROGRAM), way, server.url, str(TIMES))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        # A child may end before its request is sent.
        assert len(server.connections) >= (1 if way == "before_the_head" else TIMES)
        server.all_left()


def test_every_way_is_tested() -> None:
    takes_a_model = {
        name
        for name, function in vars(interpreter_exits).items()
        if inspect.isfunction(function)
        and list(inspect.signature(function).parameters) == ["model"]
    }
    assert takes_a_model == set(WAYS)


def test_a_request_at_interpreter_shutdown_is_an_error_that_says_so() -> None:
    program = """if True:
        import asyncio, atexit, sys
        from toolweave.models import as_messages
        from toolweave.models.http import HttpModel

        async def ask():
            return [update async for update in model.stream(as_messages("Hello"))]

        def last():
            try:
                asyncio.run(ask())
            except RuntimeError as error:
                print(error)

        atexit.register(last)
        model = HttpModel(sys.argv[1], "m", proxy=None)
        print(len(asyncio.run(ask())))
    """
    with raw_server(events(*openai_text(["Hi ", "there"]))) as server:
        done = ended("-c", program, server.url)
    assert done.stderr == ""
    assert done.stdout.splitlines()[1:] == ["cannot send a request: Python is shutting down"]


def test_a_thread_that_looks_up_a_name_does_not_hold_up_the_end() -> None:
    program = """if True:
        import asyncio, sys, time
        from toolweave.models import as_messages
        from toolweave.models.http import HttpModel

        async def main():
            model = HttpModel("http://name.invalid/v1", "m", proxy=None)
            task = asyncio.create_task(anext(model.stream(as_messages("Hello"))))
            await asyncio.sleep(0)
            await asyncio.sleep(0)

        asyncio.run(main())
    """
    done = ended("-c", program)
    assert (done.returncode, done.stderr) == (0, "")
