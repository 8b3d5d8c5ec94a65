"""Forks with open replies: those of the parent continue, and the child has new connections."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any

import pytest

from request_lifetimes import HELLO, LOOPS, TIMES, model_at, run, text_of, warm
from servers.dialects import DONE, delta, openai_text
from servers.raw import Connection, RawServer, Request, raw_server
from servers.scripts import events
from servers.sse import TEST_TIMEOUT
from toolweave import TextDelta, Update
from toolweave.models import as_messages
from toolweave.models.http import HttpModel

__all__ = ["warm"]
pytestmark = pytest.mark.usefixtures("warm")


@contextmanager
def forking() -> Iterator[None]:
    """Ignore warnings about forks of processes with threads."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


def child_of(work: Callable[[], object]) -> int:
    """Run a function in a fork of this process, which succeeds unless an exception is raised."""
    with forking():
        child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    finally:
        os._exit(status)


def wait_for_success(child: int) -> None:
    """Wait for a child process, which must succeed."""
    deadline = time.monotonic() + TEST_TIMEOUT
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError("the child hangs")
        time.sleep(0.001)


def prompt_of(request: Request) -> str:
    """Return the last user message of a request."""
    prompt: str = request.json["messages"][-1]["content"]
    return prompt


@contextmanager
def slow_server() -> Iterator[RawServer]:
    """Answer "Hello" at once; finish any other reply only after the next request."""
    whole = events(*openai_text(["Hi ", "there"]))

    def script(connection: Connection, request: Request) -> None:
        if prompt_of(request) == "Hello":
            whole(connection, request)
            return
        known = len(server.requests)

        def wait(_: Connection) -> None:
            deadline = time.monotonic() + TEST_TIMEOUT
            while len(server.requests) == known:
                assert time.monotonic() < deadline
                time.sleep(0.001)

        events(delta(content="a"), wait, delta(content="b"), delta("stop"), DONE)(
            connection, request
        )

    with raw_server(script) as server:
        yield server


def test_a_fork_sends_its_own_requests_while_the_replies_of_its_parent_continue() -> None:
    def in_child(model: HttpModel, held: list[Any], loop: str) -> None:
        # The parent's replies are dropped as any other object.
        held.clear()
        assert run(loop, text_of(model.stream(HELLO))) == "Hi there"

    async def main(model: HttpModel, loop: str) -> None:
        for _ in range(1 + TIMES // len(LOOPS)):
            stream = model.stream(as_messages("Wait."))
            assert await anext(stream) == TextDelta("a")
            child = child_of(lambda: in_child(model, [stream], loop))  # noqa: B023 - called at once
            assert await text_of(stream) == "b"
            await asyncio.to_thread(wait_for_success, child)

    with slow_server() as server:
        model = model_at(server)
        for loop in LOOPS:
            run(loop, asyncio.wait_for(main(model, loop), 100))
        asyncio.run(model.aclose())


@pytest.mark.holds_the_loop("it starts processes by fork, on the loop")
def test_a_multiprocessing_fork_sends_its_own_requests() -> None:
    context = multiprocessing.get_context("fork")

    async def main(model: HttpModel) -> None:
        for _ in range(TIMES // 4):
            streams: list[AsyncIterator[Update]] = []
            children: list[BaseProcess] = []
            for _ in range(4):
                streams.append(model.stream(as_messages("Wait.")))
                assert await anext(streams[-1]) == TextDelta("a")
            for _ in streams:
                child = context.Process(target=in_process, args=(model,))
                with forking():
                    child.start()
                children.append(child)
            assert await asyncio.gather(*map(text_of, streams)) == ["b"] * 4
            for child in children:
                await asyncio.to_thread(child.join, TEST_TIMEOUT)
                assert child.exitcode == 0

    with slow_server() as server:
        model = model_at(server)
        asyncio.run(asyncio.wait_for(main(model), 100))
        asyncio.run(model.aclose())


def in_process(model: HttpModel) -> None:
    assert asyncio.run(text_of(model.stream(HELLO))) == "Hi there"


def test_a_fork_cannot_read_the_replies_of_its_parent() -> None:
    def in_child(held: list[Any]) -> None:
        (reply,) = held
        for use in (lambda: reply.take(1), lambda: reply.ready(None)):
            try:
                use()
            except RuntimeError as error:
                assert "the parent of this forked process" in str(error)
            else:
                raise AssertionError("it was used")
        reply.close()
        held.clear()

    with slow_server() as server:
        model = model_at(server)
        endpoint = model.endpoint
        for _ in range(TIMES):
            body = endpoint.body(endpoint.request(as_messages("Wait."), (), None))
            reply = endpoint.client.send(endpoint.url, endpoint.headers(None), body, wakeup=None)
            wait_for_success(child_of(lambda: in_child([reply])))  # noqa: B023 - called at once
            reply.close()
