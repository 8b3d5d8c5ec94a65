"""Recording the replies of scenarios."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from toolweave._demo.record import record, scenario_json
from toolweave.testing import ScriptedModel

CALL = '<OrderPizza>{"kind": "Funghi"}</OrderPizza>'


def scenario() -> dict[str, Any]:
    return {
        "label": "A tool that asks back",
        "prompt": "A pizza, please.",
        "tools": ["OrderPizza"],
        "replies": [
            {"record": {}},
            [
                {"if": "one small", "record": {"answer": "small"}},
                {"if": "one large", "record": {"answer": "large"}},
            ],
        ],
    }


def test_missing_replies_of_a_scenario_are_recorded_with_the_users_answers() -> None:
    fields = scenario()
    model = ScriptedModel(CALL, "In 20 minutes.", "In 30 minutes.", name="m")
    asyncio.run(record(model, "m", fields))
    (first, (small, large)) = fields["replies"]
    assert first["deltas"] == [CALL]
    assert (small["deltas"], large["deltas"]) == (["In 20 minutes."], ["In 30 minutes."])
    assert {each["model"] for each in (first, small, large)} == {"m"}
    results = [request.messages[-1].text for request in model.requests]
    assert "one small Funghi" in results[1]
    assert "one large Funghi" in results[2]
    assert json.loads(scenario_json(fields)) == fields
    # Existing replies are not requested again.
    asyncio.run(record(ScriptedModel(), "other", fields))
    assert first["model"] == "m"


def test_a_reply_after_the_final_one_cannot_be_recorded() -> None:
    with pytest.raises(SystemExit, match="was completed after 1 replies"):
        asyncio.run(record(ScriptedModel("No pizza today."), "m", scenario()))
