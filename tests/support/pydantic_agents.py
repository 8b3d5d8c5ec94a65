"""Agents of pydantic-ai with a model that writes calls as text."""

from __future__ import annotations

import asyncio
from typing import Any

from openai import AsyncOpenAI, DefaultAsyncHttpxClient
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.tools import ToolDefinition

from openai_endpoint import Endpoint
from toolweave.integrations.pydantic_ai import NaturalToolUseModel

CALL = '<add>\n```json\n{"a": 15, "b": 27}\n```\n</add>'


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def definition(name: str, schema: dict[str, Any] | None = None) -> ToolDefinition:
    return ToolDefinition(name=name, parameters_json_schema=schema or {"type": "object"})


def provider(endpoint: Endpoint) -> OpenAIProvider:
    # Without CA certificates, which take longer to load than a test.
    web = DefaultAsyncHttpxClient(verify=False)
    client = AsyncOpenAI(base_url=endpoint.url, api_key="key", max_retries=0, http_client=web)
    return OpenAIProvider(openai_client=client)


def natural(endpoint: Endpoint, **options: Any) -> NaturalToolUseModel:
    return NaturalToolUseModel(OpenAIChatModel("natural", provider=provider(endpoint)), **options)


def run(agent: Agent[Any, Any], prompt: Any = "Hi", **asked: Any) -> Any:
    async def main() -> Any:
        async with agent:
            return await agent.run(prompt, **asked)

    return asyncio.run(main())


def stream(agent: Agent[Any, Any], prompt: str = "Hi", events: list[Any] | None = None) -> Any:
    """Run an agent with streaming requests, and return its output."""
    seen: list[Any] = [] if events is None else events

    async def main() -> Any:
        async with agent, agent.iter(prompt) as steps:
            async for node in steps:
                if Agent.is_model_request_node(node):
                    async with node.stream(steps.ctx) as streamed:
                        seen.extend([event async for event in streamed])
        assert steps.result is not None
        return steps.result.output

    return asyncio.run(main())
