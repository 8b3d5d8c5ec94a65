"""Spans and metrics of scenes: the run, its scenes as agents, requests and tools in them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

import toolweave as tw
from calculator_scenes import ADD, ENTER, call, manager_of, result_of
from coroutine_tests import on_a_loop
from toolweave.models import complete
from toolweave.testing import ScriptedModel
from toolweave.tracing._metrics import OPERATION_DURATION, TOKEN_USAGE
from tracing_spans import exporter, points, reader, tree


@pytest.fixture
def spans() -> InMemorySpanExporter:
    reader()
    exporter().clear()
    return exporter()


@on_a_loop
async def test_a_run_is_a_workflow_whose_scenes_are_agents(spans: Any) -> None:
    manager = manager_of(
        [ENTER, tw.UsageUpdate(1, 1)],
        [ADD, tw.UsageUpdate(2, 2)],
        ["42.", tw.UsageUpdate(3, 3)],
        name="office",
    )
    async with manager.open("15 + 27?", conversation="c") as run:
        async for _ in run:
            assert not trace.get_current_span().get_span_context().is_valid
    finished = spans.get_finished_spans()
    assert tree(finished) == {
        "": ["invoke_workflow office"],
        "invoke_workflow office": ["plan office", "invoke_agent Calculator"],
        "plan office": ["chat m1"],
        "invoke_agent Calculator": ["chat m1", "execute_tool Add", "chat m1"],
    }
    found = {span.name: span.attributes for span in finished}
    workflow = found["invoke_workflow office"]
    assert workflow["gen_ai.operation.name"] == "invoke_workflow"
    assert workflow["gen_ai.workflow.name"] == "office"
    assert workflow["gen_ai.conversation.id"] == "c"
    assert workflow["gen_ai.usage.input_tokens"] == 6
    assert found["plan office"]["gen_ai.operation.name"] == "plan"
    assert found["invoke_agent Calculator"]["gen_ai.agent.name"] == "Calculator"


@on_a_loop
async def test_a_run_that_failed_is_a_span_that_failed(spans: Any) -> None:
    await result_of(manager_of(tw.ModelError("down"), name="closed"), "Hi!")
    found = {span.name: span for span in spans.get_finished_spans()}
    workflow = found["invoke_workflow closed"]
    assert not workflow.status.is_ok
    assert workflow.attributes["error.type"] == "ModelError"
    assert "down" not in str(workflow.status.description)


@on_a_loop
async def test_a_scene_that_pauses_for_its_client_has_not_failed(spans: Any) -> None:
    manager = tw.SceneManager(ScriptedModel(ENTER, call("Locate"), call("Locate")))
    manager.scene("Calculator").client_tool("Locate", {"type": "object"})
    manager.scene("Weather Report")
    result = await result_of(manager, "Where am I?")
    assert result.stop_reason == "awaiting_client"
    found = {span.name: span for span in spans.get_finished_spans()}
    agent = found["invoke_agent Calculator"]
    assert (agent.status.status_code, agent.attributes.get("error.type")) == (
        StatusCode.UNSET,
        None,
    )


@on_a_loop
async def test_plans_have_their_own_spans(spans: Any) -> None:
    plan = {"answer": "Hello!", "steps": []}
    await result_of(manager_of(json.dumps(plan), mode="planning", name="planner"), "Hi!")
    assert tree(spans.get_finished_spans())["plan planner"] == ["chat m1"]


@on_a_loop
async def test_tokens_and_durations_are_measured(spans: Any) -> None:
    model = ScriptedModel(["Hi!", tw.UsageUpdate(7, 3)], name="measured", provider="acme")
    await complete(model, "Hello!")
    of_model = {"gen_ai__request__model": "measured", "gen_ai__provider__name": "acme"}
    (inputs,) = points(TOKEN_USAGE, gen_ai__token__type="input", **of_model)
    (outputs,) = points(TOKEN_USAGE, gen_ai__token__type="output", **of_model)
    assert (inputs.sum, outputs.sum) == (7, 3)
    assert inputs.explicit_bounds[:3] == (1, 4, 16)
    (duration,) = points(OPERATION_DURATION, gen_ai__operation__name="chat", **of_model)
    assert duration.count == 1
    assert duration.sum > 0
    await result_of(manager_of("Hello!", name="counted"), "Hi!")
    (run,) = points(OPERATION_DURATION, gen_ai__workflow__name="counted")
    assert run.count == 1
    # What the run adds up is not counted again.
    assert not points(TOKEN_USAGE, gen_ai__workflow__name="counted")
    assert spans.get_finished_spans()


@on_a_loop
async def test_failures_are_recorded_as_failures(spans: Any) -> None:
    model = ScriptedModel(tw.ModelError("down"), name="failing")
    with pytest.raises(tw.ModelError):
        await complete(model, "Hello!")
    (duration,) = points(OPERATION_DURATION, gen_ai__request__model="failing")
    assert duration.attributes is not None
    assert duration.attributes["error.type"] == "ModelError"
    assert not points(TOKEN_USAGE, gen_ai__request__model="failing")
    assert spans.get_finished_spans()


@on_a_loop
async def test_conversations_are_not_a_metric_attribute(spans: Any) -> None:
    for number in range(3):
        await result_of(manager_of(ENTER, "42.", name="few"), "15 + 27?", conversation=f"c{number}")
    (point,) = points(OPERATION_DURATION, gen_ai__workflow__name="few")
    assert point.count == 3
    assert spans.get_finished_spans()


def test_opentelemetry_is_not_imported_unless_the_application_uses_it() -> None:
    program = (
        "import asyncio, sys; import toolweave as tw; from toolweave.testing import ScriptedModel;"
        "m = tw.SceneManager(ScriptedModel('Hi!')); m.scene('S'); asyncio.run(m.run('Hi!'));"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
