"""`HttpModel` in front of a scripted server, and checks of its errors."""

from __future__ import annotations

import asyncio
import gc
import logging
import re
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from toolweave import FinishUpdate, ReasoningDelta, TextDelta, ToolCallUpdate, Update
from toolweave.exceptions import ModelError
from toolweave.models.http import HttpModel

from .adapters import KEY
from .model_answers import HI, Read, read
from .raw import RawServer, Script, raw_server

SHORT = 0.2
"""Seconds that a test waits for a server that does not answer."""


@pytest.fixture(autouse=True)
def nothing_logged_shows_the_key(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Check that no log record contains the key; modules rebind it as an autouse fixture."""
    with caplog.at_level(logging.DEBUG):
        yield
    for record in caplog.records:
        assert KEY not in record.getMessage()
        assert KEY not in str(vars(record))


def model(url: str, **options: Any) -> HttpModel:
    """Return a model for the server, by default without retries."""
    settings: dict[str, Any] = {"provider": "acme", "max_retries": 0, "proxy": None, **options}
    return HttpModel(f"{url}/v1", settings.pop("model", "m"), settings.pop("key", KEY), **settings)


def ask(
    *scripts: Script,
    messages: Any = HI,
    make: Callable[..., HttpModel] = model,
    server_options: Any = None,
    asked: Any = None,
    **options: Any,
) -> tuple[Read, RawServer]:
    """Make one request; return its outcome and the server, with all connections closed.

    Args:
        scripts: Scripts of the server.
        messages: Messages of the request.
        make: Factory of the model, from the server's URL and the `options`.
        server_options: Options of `raw_server`.
        asked: Tools and options of the request.
        options: Options of the model.
    """

    async def main() -> Read:
        async with make(server.url, **options) as one:
            return await read(one, messages, **(asked or {}))

    with raw_server(*scripts, **(server_options or {})) as server:
        came = asyncio.run(main())
        if not server.are_left():
            # Models with equal settings share their connections. One that an earlier test has left
            # in a reference cycle keeps them open until it is collected.
            gc.collect()
        server.all_left()
    return came, server


def failed(came: Read, *says: str, status: int | None = None, secret: str = KEY) -> ModelError:
    """Return the error of an incomplete reply, and check that it contains no secret.

    Args:
        came: Outcome of the reply.
        says: Patterns that the message matches.
        status: Expected status.
        secret: Text that must not occur.
    """
    error = came.error
    assert error is not None, came.updates
    assert not any(isinstance(update, FinishUpdate) for update in came.updates)
    assert error.status == status
    assert error.provider == "acme"
    shown = [str(error), repr(error), *map(str, error.args), *traceback.format_exception(error)]
    assert not any(secret in text for text in shown), shown
    assert "\n" not in str(error)
    assert len(str(error)) < 1000
    for pattern in says:
        assert re.search(pattern, str(error)), str(error)
    return error


def in_one(updates: Iterable[Update]) -> list[Update]:
    """Merge adjacent deltas, as a slow reader receives them."""
    done: list[Update] = []
    for update in updates:
        last = done[-1] if done else None
        if (isinstance(update, TextDelta) and isinstance(last, TextDelta)) or (
            isinstance(update, ReasoningDelta) and isinstance(last, ReasoningDelta)
        ):
            done[-1] = type(update)(last.text + update.text)
        elif (
            isinstance(update, ToolCallUpdate)
            and isinstance(last, ToolCallUpdate)
            and update.function_name is None
            and update.function_args is not None
            and last.function_args is not None
            and (update.tool_call_id, update.index) == (last.tool_call_id, last.index)
        ):
            arguments = last.function_args + update.function_args
            done[-1] = ToolCallUpdate(last.tool_call_id, last.index, last.function_name, arguments)
        else:
            done.append(update)
    return done


def received(error: ModelError) -> int:
    """Return the number of received bytes that the message states."""
    found = re.search(r"after ([\d,]+) bytes? of the reply", str(error))
    assert found is not None, str(error)
    return int(found[1].replace(",", ""))
