"""Scenes with the real clients of providers, real MCP servers, and the example on an endpoint."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest

import openai_endpoint
import toolweave as tw
from calculator_scenes import CALCULATOR, DOCUMENTED_STEPS, WholeNumbers, statuses_of
from coroutine_tests import collect, on_a_loop
from mcp_processes import SDK_SERVER
from paths import EXAMPLES
from servers import dialects
from servers.model_answers import in_use
from servers.sse import Answer, serving
from toolweave import SceneManager, SceneStopReason
from toolweave.costs import Price
from toolweave.integrations.mcp import connect_stdio
from toolweave.models.anthropic import AnthropicModel
from toolweave.models.openai import OpenAIModel
from toolweave.testing import ScriptedModel

EXAMPLE = EXAMPLES / "scenes.py"
REFUSAL = b'{"error": {"message": "slow down", "type": "x"}}'
ANSWER = ["The sum of 15 ", "and 27 is 42."]
ENTER = ("c0", "Calculator", ["{}"])
# Some servers count the calls of each reply from 0.
ADD = ("c0", "Add", ['{"a": 15, ', '"b": 27}'])


def openai(url: str) -> OpenAIModel:
    return OpenAIModel("m", base_url=f"{url}/v1", api_key="sk-secret", max_retries=0)


def anthropic(url: str) -> AnthropicModel:
    return AnthropicModel("m", base_url=url, api_key="sk-secret", max_retries=0)


SCRIPTS: dict[str, tuple[Any, list[list[bytes]]]] = {
    "openai native": (
        openai,
        [
            dialects.openai_calls([ENTER]),
            dialects.openai_calls([ADD]),
            dialects.openai_text(ANSWER),
        ],
    ),
    "openai natural": (
        openai,
        [
            dialects.openai_text(["<Calcu", "lator/>"]),
            dialects.openai_text(["<Ad", 'd>{"a": 15, ', '"b": 27}</Add>']),
            dialects.openai_text(ANSWER),
        ],
    ),
    "anthropic native": (
        anthropic,
        [
            dialects.anthropic_calls([ENTER]),
            dialects.anthropic_calls([ADD]),
            dialects.anthropic_text(ANSWER),
        ],
    ),
    "anthropic natural": (
        anthropic,
        [
            dialects.anthropic_text(["<Calcu", "lator/>"]),
            dialects.anthropic_text(["<Ad", 'd>{"a": 15, ', '"b": 27}</Add>']),
            dialects.anthropic_text(ANSWER),
        ],
    ),
}


def calculator_manager(model: Any, **options: Any) -> SceneManager:
    return (
        SceneManager(model, **options)
        .scene("Calculator", CALCULATOR)
        .service(WholeNumbers())
        .manager
    )


@pytest.mark.parametrize("way", SCRIPTS)
@on_a_loop
async def test_every_client_and_mode_gives_the_documented_stream(way: str) -> None:
    make, replies = SCRIPTS[way]
    mode: Any = way.split()[1]
    prices = {"m": Price(1_000_000, 1_000_000)}
    async with serving(*map(Answer, replies)) as served, in_use(make(served.url)) as model:
        manager = calculator_manager(model, tool_mode=mode, prices=prices)
        steps = await collect(manager.stream("What is 15 + 27?"))
    assert statuses_of(steps) == DOCUMENTED_STEPS
    assert len(served.requests) == 3
    assert sum(step.cost or 0 for step in steps) == steps[-1].total_cost > Decimal(0)
    assert not any(step.estimated for step in steps)


@on_a_loop
async def test_a_native_history_has_one_answer_for_each_call() -> None:
    make, replies = SCRIPTS["openai native"]
    async with serving(*map(Answer, replies)) as served, in_use(make(served.url)) as model:
        await calculator_manager(model).run("What is 15 + 27?")
    choosing, playing, answering = [request["body"] for request in served.requests]
    assert [each["function"]["name"] for each in choosing["tools"]] == ["Calculator"]
    assert [each["function"]["name"] for each in playing["tools"]] == ["Add"]
    roles = [message["role"] for message in answering["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert [m["content"] for m in answering["messages"] if m["role"] == "tool"] == [
        "Scene 'Calculator' entered. Serve the request now with the tools of this scene.",
        "42",
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (openai, r"127\.0\.0\.1:\d+ API error: 429 Too Many Requests"),
        (anthropic, "Anthropic API error: 429 Too Many Requests"),
    ],
)
@on_a_loop
async def test_a_refused_request_is_reported_with_its_status(make: Any, message: str) -> None:
    refusal = Answer([REFUSAL], status=429, kind="application/json")
    async with serving(refusal) as served, in_use(make(served.url)) as model:
        steps = await collect(calculator_manager(model).stream("What is 15 + 27?"))
    [(error, text), ended] = statuses_of(steps)
    assert (error, ended) == ("Error", ("Completed", ""))
    assert text is not None
    assert re.fullmatch(message, text)
    assert "slow down" in str(steps[0].error)
    assert "sk-secret" not in str(steps[0].error)


@on_a_loop
async def test_a_plan_is_requested_with_the_schema_that_providers_enforce() -> None:
    plan = json.dumps({"answer": "Hello!", "steps": []})
    async with (
        serving(Answer(dialects.openai_text([plan]))) as served,
        in_use(openai(served.url)) as model,
    ):
        result = await calculator_manager(model, mode="planning").run("Hi!")
    assert result.text == "Hello!"
    asked = served.requests[0]["body"]["response_format"]
    assert asked["type"] == "json_schema"
    assert "steps" in asked["json_schema"]["schema"]["properties"]


@on_a_loop
async def test_a_scene_can_use_the_tools_of_an_mcp_server() -> None:
    model = ScriptedModel("<Server/>", '<add>{"a": 15, "b": 27}</add>', "42.")
    server = connect_stdio(sys.executable, [SDK_SERVER, "stdio"])
    manager = SceneManager(model).scene("Server", "Has tools").tools(server).manager
    async with server:
        steps = await collect(manager.stream("What is 15 + 27?"))
    assert ("FunctionCompleted", "Tool add executed: 42") in statuses_of(steps)
    assert steps[-1].stop_reason is SceneStopReason.COMPLETED
    assert isinstance(steps[0], tw.SceneStep)


def test_the_example_asks_an_endpoint() -> None:
    replies = [
        "<Calculator/>",
        '<Add>{"a": 15, "b": 27}</Add>',
        "It is 42.",
        "<Calculator/>",
        '<Add>{"a": 10, "b": 5}</Add>',
        '<Multiply>{"a": 15, "b": 3}</Multiply>',
        "It is 45.",
    ]
    with openai_endpoint.serving(*replies) as endpoint:
        done = subprocess.run(
            [sys.executable, EXAMPLE, "--model", endpoint.url],
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert "FunctionCompleted  Tool Add executed: 42" in lines
    assert "Completed          It is 45." in lines
    assert len(endpoint.requests) == len(replies)
