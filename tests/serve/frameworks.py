"""Clients in Python: each runs the agent loop of its framework."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import agents
import anthropic
import openai
from langchain.agents import create_agent
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from loops import KEY, MODEL, QUESTION, Outcome, Tools

if TYPE_CHECKING:
    from collections.abc import Callable

    from loops import Run


def langchain(open_model: Callable[[str], Any]) -> Run:
    """Run an agent of LangChain."""

    def run(url: str, stream: bool) -> Outcome:
        tools = Tools()
        agent: Any = create_agent(open_model(url), [tools.add, tools.multiply])
        given = {"messages": [{"role": "user", "content": QUESTION}]}
        if not stream:
            return agent.invoke(given)["messages"][-1].text, tools.calls
        replies: dict[str, str] = {}
        for message, _ in agent.stream(given, stream_mode="messages"):
            if message.type == "AIMessageChunk":
                replies[message.id] = replies.get(message.id, "") + message.text
        return list(replies.values())[-1], tools.calls

    return run


def pydantic_ai(open_model: Callable[[str], Any]) -> Run:
    """Run an agent of pydantic-ai."""

    def run(url: str, stream: bool) -> Outcome:
        tools = Tools()
        agent = Agent(open_model(url), tools=[tools.add, tools.multiply])

        # `run_stream` takes text before a call for the answer.
        async def events() -> str:
            answer = ""
            async with agent.run_stream_events(QUESTION) as received:
                async for event in received:
                    if event.event_kind == "agent_run_result":
                        answer = event.result.output
            return answer

        return asyncio.run(events()) if stream else agent.run_sync(QUESTION).output, tools.calls

    return run


def openai_agents(open_model: Callable[[str], Any]) -> Run:
    """Run an agent of the SDK of OpenAI."""

    def run(url: str, stream: bool) -> Outcome:
        tools = Tools()
        functions: list[Any] = [
            agents.function_tool(tools.add),
            agents.function_tool(tools.multiply),
        ]
        settings = agents.RunConfig(tracing_disabled=True)

        async def main() -> str:
            agent = agents.Agent(name="acme", model=open_model(url), tools=functions)
            if not stream:
                result = await agents.Runner.run(agent, QUESTION, run_config=settings)
                return result.final_output
            events = agents.Runner.run_streamed(agent, QUESTION, run_config=settings)
            async for _ in events.stream_events():
                pass
            return events.final_output

        return asyncio.run(main()), tools.calls

    return run


def open_client(url: str) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=url, api_key=KEY, max_retries=0)


def anthropic_url(url: str) -> str:
    return url.removesuffix("/v1")


def open_anthropic(url: str) -> AnthropicProvider:
    client = anthropic.AsyncAnthropic(base_url=anthropic_url(url), api_key=KEY, max_retries=0)
    return AnthropicProvider(anthropic_client=client)


def open_openai(url: str) -> OpenAIProvider:
    return OpenAIProvider(openai_client=open_client(url))


CLIENTS: dict[str, Run] = {
    "langchain-openai chat": langchain(
        lambda url: ChatOpenAI(model=MODEL, base_url=url, api_key=KEY, max_retries=0)
    ),
    "langchain-openai responses": langchain(
        lambda url: ChatOpenAI(
            model=MODEL, base_url=url, api_key=KEY, max_retries=0, use_responses_api=True
        )
    ),
    "langchain-anthropic": langchain(
        lambda url: ChatAnthropic(
            model=MODEL, base_url=anthropic_url(url), api_key=KEY, max_retries=0, max_tokens=100
        )
    ),
    "pydantic-ai openai chat": pydantic_ai(
        lambda url: OpenAIChatModel(MODEL, provider=open_openai(url))
    ),
    "pydantic-ai openai responses": pydantic_ai(
        lambda url: OpenAIResponsesModel(MODEL, provider=open_openai(url))
    ),
    "pydantic-ai anthropic": pydantic_ai(
        lambda url: AnthropicModel(MODEL, provider=open_anthropic(url))
    ),
    "openai-agents chat": openai_agents(
        lambda url: agents.OpenAIChatCompletionsModel(MODEL, open_client(url))
    ),
    "openai-agents responses": openai_agents(
        lambda url: agents.OpenAIResponsesModel(MODEL, open_client(url))
    ),
}
