"""Overhead of agents with a model that answers at once, for toolweave and others."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import agents
import pydantic_ai
from agents.items import ModelResponse as AgentsResponse
from agents.models.interface import Model as AgentsModel
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import DeltaToolCall
from pydantic_ai.models.function import FunctionModel as PydanticFunctionModel
from pydantic_ai.usage import RequestUsage

from loop import seconds_of
from report import Section, Target
from toolweave import (
    Agent,
    FinishUpdate,
    Message,
    Price,
    PriceTable,
    SceneManager,
    SceneStatus,
    TextDelta,
    ToolAggregateMessage,
    ToolCallUpdate,
    Update,
    UsageUpdate,
    tool,
)

if TYPE_CHECKING:
    from streaming import Effort

TURNS = 10
CALLS = 3
ANSWER = "All of it is added up."

Run = Callable[[], Awaitable[int]]
"""Function that runs an agent from the question to the answer, and returns the number of events."""


@dataclass(frozen=True)
class Contestant:
    """Contestant that runs the same conversation."""

    name: str
    package: str | None
    run: Run
    streams: bool = False
    """True if the run emits events, whose number `run` returns."""

    @property
    def label(self) -> str:
        """Name, with the package and its version."""
        return self.name + (f" ({self.package} {version(self.package)})" if self.package else "")


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def wanted(turn: int) -> list[dict[str, int]]:
    """Return the arguments of the calls of a turn, which differ between turns."""
    return [{"a": turn, "b": number} for number in range(CALLS)]


def written(turn: int) -> list[tuple[str, str]]:
    """Return the ids and JSON arguments of the calls of a turn."""
    return [(f"call_{turn}_{at}", json.dumps(given)) for at, given in enumerate(wanted(turn))]


EXPECTED = TURNS * CALLS


def checked(text: object, results: int) -> None:
    """Raise `AssertionError` unless a run has the expected text and results."""
    if text != ANSWER or results != EXPECTED:
        raise AssertionError(f"a run came to {text!r} after {results} results")


class Instant:
    """Model of toolweave that answers at once, by the turn that the history implies."""

    name = "instant"
    provider = "bench"

    def __init__(self, *, native_tools: bool) -> None:
        self.native_tools = native_tools
        usage = UsageUpdate(100, 20)
        self._replies: list[list[Update]] = []
        for turn in range(TURNS):
            calls: list[Update] = [
                ToolCallUpdate(call, at, "add", arguments)
                if native_tools
                else TextDelta(f"<add>{arguments}</add>")
                for at, (call, arguments) in enumerate(written(turn))
            ]
            finish = FinishUpdate("tool_calls" if native_tools else "stop")
            self._replies.append([*calls, usage, finish])
        self._replies.append([TextDelta(ANSWER), usage, FinishUpdate("stop")])

    async def stream(
        self,
        messages: Sequence[Message],
        *,
        tools: Sequence[Any] = (),  # noqa: ARG002
        options: Any = None,  # noqa: ARG002
    ) -> AsyncIterator[Update]:
        """Stream the reply of the turn."""
        if self.native_tools:
            turn = sum(isinstance(message, ToolAggregateMessage) for message in messages)
        else:
            turn = sum("<tool_response" in getattr(message, "text", "") for message in messages[1:])
        for update in self._replies[turn]:
            yield update


def agent_run(*, native: bool) -> Run:
    """Return a run of toolweave's agent that needs only the result."""
    agent = Agent(Instant(native_tools=native), [tool(add)], max_iterations=TURNS + 1)

    async def run() -> int:
        result = await agent.run("Add it all up.")
        made = [m for m in result.messages if isinstance(m, ToolAggregateMessage)]
        checked(result.text, sum(len(message.tool_results) for message in made))
        return 0

    return run


def agent_stream(*, native: bool) -> Run:
    """Return a run of toolweave's agent that consumes every event."""
    agent = Agent(Instant(native_tools=native), [tool(add)], max_iterations=TURNS + 1)

    async def run() -> int:
        events, results, text = 0, 0, ""
        async for event in agent.stream("Add it all up."):
            events += 1
            if isinstance(event, ToolAggregateMessage):
                results += len(event.tool_results)
            text = getattr(event, "text", "")
        checked(text, results)
        return events

    return run


def scenes(*, native: bool) -> Run:
    """Return a run of a scene manager that consumes every step, with prices and conversations."""
    prices = PriceTable({"instant": Price("0.15", "0.60")})
    model = Instant(native_tools=native)
    manager = SceneManager(model, mode="scene", max_iterations=TURNS + 1, prices=prices)
    manager.scene("Sums", "Adds numbers").tool(tool(add))

    async def run() -> int:
        steps, results, text = 0, 0, ""
        async for step in manager.stream("Add it all up.", scene="Sums"):
            steps += 1
            results += step.status is SceneStatus.FUNCTION_COMPLETED
            text = step.message
        checked(text, results)
        return steps

    return run


def by_hand() -> Run:
    """Return the lower bound: no validation, no limits, no error handling."""

    async def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
        turn = sum(message["role"] == "assistant" for message in messages)
        if turn == TURNS:
            return {"role": "assistant", "content": ANSWER}
        calls = [{"id": call, "arguments": arguments} for call, arguments in written(turn)]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    async def run() -> int:
        messages: list[dict[str, Any]] = [{"role": "user", "content": "Add it all up."}]
        results = 0
        while True:
            reply = await model(messages)
            messages.append(reply)
            calls = reply.get("tool_calls")
            if calls is None:
                checked(reply["content"], results)
                return 0
            values = await asyncio.gather(*[add(**json.loads(c["arguments"])) for c in calls])
            results += len(values)
            for call, value in zip(calls, values, strict=True):
                content = json.dumps(value)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})

    return run


def _pydantic_model() -> PydanticFunctionModel:
    usage = RequestUsage(input_tokens=100, output_tokens=20)  # or it would count words

    def turn_of(messages: list[Any]) -> int:
        return sum(isinstance(message, ModelResponse) for message in messages)

    async def reply(messages: list[Any], _: Any) -> ModelResponse:
        turn = turn_of(messages)
        if turn == TURNS:
            return ModelResponse([TextPart(ANSWER)], usage=usage)
        calls = [ToolCallPart("add", arguments, call) for call, arguments in written(turn)]
        return ModelResponse(calls, usage=usage)

    async def pieces(messages: list[Any], _: Any) -> AsyncIterator[Any]:
        turn = turn_of(messages)
        if turn == TURNS:
            yield ANSWER
            return
        for at, (call, arguments) in enumerate(written(turn)):
            yield {at: DeltaToolCall("add", arguments, tool_call_id=call)}

    return PydanticFunctionModel(reply, stream_function=pieces)


def _returns(messages: Sequence[Any]) -> int:
    return sum(part.part_kind == "tool-return" for message in messages for part in message.parts)


def pydantic() -> Run:
    """Return a run of a pydantic-ai agent with its own model for tests."""
    agent = pydantic_ai.Agent(_pydantic_model(), tools=[add])

    async def run() -> int:
        result = await agent.run("Add it all up.")
        checked(result.output, _returns(result.all_messages()))
        return 0

    return run


def pydantic_streamed() -> Run:
    """Return the same run, consuming every event."""
    agent = pydantic_ai.Agent(_pydantic_model(), tools=[add])

    async def run() -> int:
        events, result = 0, None
        async with agent.run_stream_events("Add it all up.") as stream:
            async for event in stream:
                events += 1
                result = getattr(event, "result", None) or result
        if result is None or not hasattr(result, "output"):
            raise AssertionError("a run without a result")
        checked(result.output, _returns(result.all_messages()))
        return events

    return run


class InstantAgentsModel(AgentsModel):
    """Model for openai-agents that answers at once."""

    async def get_response(self, *args: Any, **given: Any) -> AgentsResponse:
        return AgentsResponse(_output(args, given), agents.Usage(requests=1), None)

    async def stream_response(self, *args: Any, **given: Any) -> AsyncIterator[Any]:
        response = Response.model_construct(
            id="r", created_at=0, model="instant", object="response", output=_output(args, given)
        )
        response.usage = None
        yield ResponseCompletedEvent.model_construct(
            type="response.completed", response=response, sequence_number=0
        )


def _output(args: Sequence[Any], given: dict[str, Any]) -> list[Any]:
    asked = given["input"] if "input" in given else args[1]
    items = asked if isinstance(asked, list) else []
    turn = sum(item.get("type") == "function_call" for item in items) // CALLS
    if turn == TURNS:
        text = ResponseOutputText(text=ANSWER, type="output_text", annotations=[])
        return [
            ResponseOutputMessage(
                id="m", content=[text], role="assistant", status="completed", type="message"
            )
        ]
    return [
        ResponseFunctionToolCall(
            call_id=call, name="add", arguments=arguments, type="function_call"
        )
        for call, arguments in written(turn)
    ]


def _openai_agent() -> tuple[Any, Any]:
    agent = agents.Agent(
        name="bench", model=InstantAgentsModel(), tools=[agents.function_tool(add)]
    )
    return agent, agents.RunConfig(tracing_disabled=True)


def openai() -> Run:
    """Return a run of an agent of openai-agents, without its tracing."""
    agent, config = _openai_agent()

    async def run() -> int:
        result = await agents.Runner.run(
            agent, "Add it all up.", max_turns=TURNS + 1, run_config=config
        )
        made = [item for item in result.new_items if item.type == "tool_call_output_item"]
        checked(result.final_output, len(made))
        return 0

    return run


def openai_streamed() -> Run:
    """Return the same run, consuming every event."""
    agent, config = _openai_agent()

    async def run() -> int:
        result = agents.Runner.run_streamed(
            agent, "Add it all up.", max_turns=TURNS + 1, run_config=config
        )
        events = 0
        async for _ in result.stream_events():
            events += 1
        made = [item for item in result.new_items if item.type == "tool_call_output_item"]
        checked(result.final_output, len(made))
        return events

    return run


AGENT_RUN = "toolweave `Agent.run`, native calls"
AGENT_STREAM = "toolweave `Agent.stream`, native calls"
SCENES = "toolweave `SceneManager.stream`, native calls"

CONTESTANTS = [
    Contestant(AGENT_RUN, "toolweave", agent_run(native=True)),
    Contestant(AGENT_STREAM, "toolweave", agent_stream(native=True), streams=True),
    Contestant("toolweave `Agent.run`, calls in text", "toolweave", agent_run(native=False)),
    Contestant(
        "toolweave `Agent.stream`, calls in text",
        "toolweave",
        agent_stream(native=False),
        streams=True,
    ),
    Contestant(SCENES, "toolweave", scenes(native=True), streams=True),
    Contestant(
        "toolweave `SceneManager.stream`, calls in text",
        "toolweave",
        scenes(native=False),
        streams=True,
    ),
    Contestant("pydantic-ai `Agent.run`", "pydantic-ai-slim", pydantic()),
    Contestant(
        "pydantic-ai `Agent.run_stream_events`",
        "pydantic-ai-slim",
        pydantic_streamed(),
        streams=True,
    ),
    Contestant("openai-agents `Runner.run`", "openai-agents", openai()),
    Contestant(
        "openai-agents `Runner.run_streamed`", "openai-agents", openai_streamed(), streams=True
    ),
    Contestant("a loop around `asyncio.gather` only", None, by_hand()),
]


async def measure(effort: Effort) -> tuple[dict[str, float], dict[str, int]]:
    """Measure microseconds and events per run, by contestant.

    Contestants take turns, and the minimum counts, since other load can only add time.
    """
    per_run: dict[str, float] = {}
    events: dict[str, int] = {}
    rounds: dict[str, int] = {}
    for each in CONTESTANTS:
        print(f"scenes: {each.name}", file=sys.stderr)
        events[each.name] = await each.run()
        once = await seconds_of(each.run, 2)
        rounds[each.name] = max(1, int(effort.seconds / 10 / max(once, 1e-7)))
    for _ in range(max(effort.repeats, 5) * 2):
        for each in CONTESTANTS:
            gc.collect()
            took = await seconds_of(each.run, rounds[each.name]) * 1e6
            per_run[each.name] = min(took, per_run.get(each.name, took))
    return per_run, events


def run(effort: Effort) -> Section:
    """Run all contestants with the same conversation."""
    per_run, events = asyncio.run(measure(effort))
    rows: list[list[str]] = []
    for each in CONTESTANTS:
        took, count = per_run[each.name], events[each.name]
        rows.append(
            [
                each.label,
                f"{took:,.0f}",
                f"{took / TURNS:,.0f}",
                f"{count:,}" if each.streams else "-",
                f"{count / took * 1e6:,.0f}" if each.streams else "-",
            ]
        )
    others = [each for each in CONTESTANTS if each.package not in (None, "toolweave")]
    targets: list[Target] = []
    for what, name, streams in (
        ("a run, relative to the best of the others", AGENT_RUN, False),
        ("a streamed run, relative to the best of the others", AGENT_STREAM, True),
        ("a streamed run of scenes, relative to the best streamed run of the others", SCENES, True),
        ("the same, relative to the best run of the others that is not streamed", SCENES, False),
    ):
        best = min(per_run[each.name] for each in others if each.streams is streams)
        targets.append(Target(what, 0.25, per_run[name] / best))
    return Section(
        "Agent loop",
        f"CPU microseconds of a run with a model that replies immediately: {TURNS} replies with "
        f"{CALLS} calls each of a trivial async tool, then the answer. Per run and per turn; for "
        "runs that emit events, their number, and the number per second of CPU time. Tracing is "
        "off, and the model reports usage, so that no library estimates tokens.",
        ["", "run", "turn", "events", "events per second"],
        rows,
        targets,
    )
