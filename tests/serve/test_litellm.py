"""Agent loops of LiteLLM, in an environment of its own."""

from __future__ import annotations

import pytest

from litellm_clients import CLIENTS
from loops import check_loop, each_way
from servers.adapters import QUIET

pytestmark = [pytest.mark.filterwarnings(line) for line in QUIET]


@pytest.mark.parametrize("client", CLIENTS)
@each_way
def test_a_loop_runs_to_its_answer(client: str, scenario: str, setup: str, stream: bool) -> None:
    check_loop(CLIENTS[client], scenario, setup, stream)
