"""Agent loops of clients for Node."""

from __future__ import annotations

import pytest

from loops import check_loop, each_way
from node_programs import node_client

CLIENTS = (
    "openai chat",
    "openai responses",
    "anthropic messages",
    "anthropic toolRunner",
    "ai-sdk openai chat",
    "ai-sdk openai responses",
    "ai-sdk openai-compatible",
    "ai-sdk anthropic",
)


@pytest.mark.parametrize("client", CLIENTS)
@each_way
def test_a_loop_runs_to_its_answer(client: str, scenario: str, setup: str, stream: bool) -> None:
    check_loop(node_client(client), scenario, setup, stream)
