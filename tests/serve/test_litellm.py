"""Agent loops of LiteLLM, in an environment of its own."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from litellm_clients import CLIENTS
from loops import check_loop, each_way
from servers.adapters import QUIET

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.filterwarnings(line) for line in QUIET]


@pytest.fixture(autouse=True, scope="module")
def _event_loop() -> Iterator[None]:
    """Provide the event loop that LiteLLM would make for this thread and leave open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    asyncio.set_event_loop(None)
    loop.close()


@pytest.mark.parametrize("client", CLIENTS)
@each_way
def test_a_loop_runs_to_its_answer(client: str, scenario: str, setup: str, stream: bool) -> None:
    check_loop(CLIENTS[client], scenario, setup, stream)
