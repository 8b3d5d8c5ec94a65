"""Ways to ask for an output: by the schema of the provider, in the instructions, or both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from coroutine_tests import on_a_loop
from output_types import City
from servers.dialects import anthropic_text, openai_text
from servers.model_answers import in_use
from servers.sse import Answer, serving
from toolweave import Agent
from toolweave.models.anthropic import AnthropicModel
from toolweave.models.http import HttpModel
from toolweave.models.openai import OpenAIModel

OSLO = '{"name": "Oslo", "people": 700000}'
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "people": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
    },
    "required": ["name"],
}


def add(a: int, b: int) -> int:
    return a + b


def openai(url: str) -> Any:
    return OpenAIModel("m", base_url=f"{url}/v1", api_key="sk-secret", max_retries=0)


def http(url: str) -> Any:
    return HttpModel(f"{url}/v1", "m", api_key="sk-secret")


def anthropic(url: str) -> Any:
    return AnthropicModel("m", base_url=url, api_key="sk-secret", max_retries=0)


def schema_of(body: dict[str, Any]) -> Any:
    """Return the schema in a request, in the form of either provider."""
    if "response_format" in body:
        assert body["response_format"]["type"] == "json_schema"
        return body["response_format"]["json_schema"]["schema"]
    return body.get("output_config", {}).get("format", {}).get("schema")


def prompt_of(body: dict[str, Any]) -> str:
    """Return the system message of a request."""
    return json.dumps(body.get("system") or body["messages"][0]["content"])


MAKERS = pytest.mark.parametrize("make", [openai, http, anthropic])


async def bodies(make: Any, *texts: str, **options: Any) -> list[dict[str, Any]]:
    """Return the requests of a run with these replies."""
    reply = anthropic_text if make is anthropic else openai_text
    answers = [Answer(reply([text])) for text in texts]
    async with serving(*answers) as served, in_use(make(served.url)) as model:
        result = await Agent(model, output_type=City, **options).run("Where?")
        assert result.output == City(name="Oslo", people=700000)
        return [request["body"] for request in served.requests]


@MAKERS
@on_a_loop
async def test_without_tools_the_schema_goes_both_ways(make: Any) -> None:
    [body] = await bodies(make, OSLO)
    assert schema_of(body) == SCHEMA
    assert "Answer with JSON only" in prompt_of(body)


@MAKERS
@on_a_loop
async def test_a_prompted_output_has_no_schema_for_the_provider(make: Any) -> None:
    [body] = await bodies(make, OSLO, output_mode="prompted")
    assert schema_of(body) is None
    assert "Answer with JSON only" in prompt_of(body)


@MAKERS
@on_a_loop
async def test_a_native_output_is_not_in_the_instructions(make: Any) -> None:
    first, second = await bodies(make, "{}", OSLO, output_mode="native")
    assert schema_of(first) == schema_of(second) == SCHEMA
    assert "Answer with JSON only" not in prompt_of(first)


@MAKERS
@on_a_loop
async def test_with_tools_only_a_native_output_is_enforced(make: Any) -> None:
    [body] = await bodies(make, OSLO, tools=[add])
    assert schema_of(body) is None
    assert "First call the tools" in prompt_of(body)
    [body] = await bodies(make, OSLO, tools=[add], output_mode="native")
    assert schema_of(body) == SCHEMA
    assert body["tools"]


@MAKERS
@on_a_loop
async def test_a_schema_that_forbids_calls_in_the_text_is_not_sent(make: Any) -> None:
    [body] = await bodies(make, OSLO, tools=[add], output_mode="native", tool_mode="natural")
    assert schema_of(body) is None
    assert "First call the tools" in prompt_of(body)


@pytest.mark.parametrize("make", [openai, http])
@on_a_loop
async def test_a_server_that_rejects_schemas_is_asked_without(make: Any) -> None:
    refusal = {"error": {"message": "response_format is not supported", "param": None}}
    refused = Answer([json.dumps(refusal).encode()], status=400, kind="application/json")
    answer = Answer(openai_text([OSLO]))
    async with serving(refused, answer) as served, in_use(make(served.url)) as model:
        result = await Agent(model, output_type=City).run("Where?")
    assert result.output == City(name="Oslo", people=700000)
    first, second = (request["body"] for request in served.requests)
    assert (schema_of(first), schema_of(second)) == (SCHEMA, None)


@pytest.mark.parametrize("make", [openai, http])
@on_a_loop
async def test_a_model_reads_the_form_that_a_server_does_not_enforce(make: Any) -> None:
    refusal = {"error": {"message": "response_format is not supported", "param": None}}
    refused = Answer([json.dumps(refusal).encode()], status=400, kind="application/json")
    answers = [Answer(openai_text([text])) for text in ("In Oslo.", OSLO, OSLO)]
    async with serving(refused, *answers) as served, in_use(make(served.url)) as model:
        agent = Agent(model, output_type=City, output_mode="native", output_retries=0)
        outputs = [(await agent.run("Where?")).output for _ in range(2)]
    assert outputs == [City(name="Oslo", people=700000)] * 2
    asked = ["Answer with JSON only" in prompt_of(each["body"]) for each in served.requests]
    assert asked == [False, False, True, True]
