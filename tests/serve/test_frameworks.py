"""Agent loops of frameworks in Python."""

from __future__ import annotations

import pytest

from frameworks import CLIENTS
from loops import check_loop, each_way


@pytest.mark.parametrize("client", CLIENTS)
@each_way
def test_a_loop_runs_to_its_answer(client: str, scenario: str, setup: str, stream: bool) -> None:
    check_loop(CLIENTS[client], scenario, setup, stream)
