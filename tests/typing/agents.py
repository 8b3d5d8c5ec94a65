"""Types of natural tool use and agents: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from typing_extensions import assert_never, assert_type

from toolweave import (
    Agent,
    Discarded,
    FabricatedResult,
    FinishUpdate,
    FunctionCalling,
    InvalidToolCall,
    Message,
    NaturalToolUse,
    NaturalToolUseParser,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolAggregateMessage,
    ToolCall,
    ToolCallDelta,
    ToolCallStart,
    ToolDeferred,
    ToolResult,
    UsageMessage,
    UsageUpdate,
    tool,
)
from toolweave.agent import AgentEvent, AgentResult, AgentRun
from toolweave.executor import (
    ToolApproval,
    ToolApprovalRequested,
    ToolProgress,
    ToolQuestion,
    ToolStarted,
)
from toolweave.natural import ParsedReply, ReplyEvent, ReplyRun, ToolUseEvent
from toolweave.protocols import ModelOptions


@tool
def add(a: int, b: int) -> int:
    return a + b


async def whole(messages: Sequence[Message]) -> str:
    return f"{len(messages)}"


async def pieces(messages: Sequence[Message]) -> AsyncIterator[str]:
    yield f"{len(messages)}"


async def reading() -> None:
    parser = NaturalToolUseParser(whole, ["add", add], repair="syntax", tool_mode="auto")
    assert_type(parser.stream("Hi!"), AsyncGenerator[ReplyEvent, None])
    assert_type(await parser.complete("Hi!"), ParsedReply)
    async for event in parser.stream("Hi!", tools=[], options=ModelOptions(temperature=0)):
        match event:
            case TextDelta(text) | ReasoningDelta(text):
                assert_type(text, str)
            case ToolCallStart() | ToolCallDelta() | ToolCall() | InvalidToolCall():
                assert_type(event.index, int)
            case Discarded(raw=raw) | FabricatedResult(raw=raw):
                assert_type(raw, str)
            case UsageUpdate() | FinishUpdate():
                pass
            case _:
                assert_never(event)

    NaturalToolUseParser(whole, tool_mode="both")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    NaturalToolUseParser(whole, timeout=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def using() -> None:
    use = NaturalToolUse(pieces, [add, whole], fallback=whole, timeout=3, repair="none")
    calling: FunctionCalling = use
    assert_type(await calling.complete("Hi!"), list[Message])
    assert_type(use.stream("Hi!"), AsyncGenerator[ToolUseEvent, None])
    async with use.open([{"role": "user", "content": "Hi!"}]) as reply:
        assert_type(reply, ReplyRun)
        async for event in reply:
            match event:
                case TextDelta() | ReasoningDelta() | Discarded() | FabricatedResult():
                    pass
                case ToolCallStart() | ToolCallDelta() | ToolCall() | InvalidToolCall():
                    pass
                case ToolStarted() | ToolProgress() | ToolQuestion():
                    pass
                case ToolApprovalRequested() | ToolApproval():
                    assert_type(event.tool_call_id, str)
                case ToolDeferred() | ToolResult():
                    assert_type(event.name, str)
                case ToolAggregateMessage() | UsageMessage() | FinishUpdate():
                    pass
                case _:
                    assert_never(event)
    assert_type(reply.messages, tuple[Message, ...])

    NaturalToolUse(whole, [add], time_out=3)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    NaturalToolUse(7)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


async def running() -> None:
    agent = Agent(whole, [add], instructions="Be brief.", max_iterations=3, observer=print)
    result = await agent.run("Hi!")
    assert_type(result, AgentResult)
    assert_type(result.stop_reason, StopReason)
    assert_type(result.deferred, tuple[ToolDeferred, ...])
    assert_type(agent.run_sync("Hi!", history=result.messages), AgentResult)
    assert_type(await agent.resume(result), AgentResult)
    assert_type(agent.stream("Hi!"), AsyncGenerator[AgentEvent, None])
    async with agent.open(None, history=result.messages) as run:
        assert_type(run, AgentRun)
        async for event in run:
            if isinstance(event, AgentResult):
                assert_type(event.usage, UsageMessage)
    assert_type(run.result, AgentResult | None)

    Agent(whole, [add], "Be brief.")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
