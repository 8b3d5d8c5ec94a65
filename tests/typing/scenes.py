"""Types of scenes: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from decimal import Decimal
from typing import Any

from typing_extensions import assert_never, assert_type

from toolweave import (
    Message,
    Scene,
    SceneContext,
    SceneManager,
    SceneRequest,
    SceneResult,
    SceneRun,
    SceneStatus,
    SceneStep,
    SceneStopReason,
    Toolset,
)
from toolweave.conversations import MemoryConversations
from toolweave.costs import Budget, Price, PriceTable
from toolweave.limits import RateLimit, RateLimiter
from toolweave.scenes import (
    Answer,
    Append,
    ClientResult,
    Deny,
    ExecutedTool,
    SceneOutcome,
    current_context,
)
from toolweave.summary import Summarizer
from toolweave.testing import ScriptedModel


class Calculator:
    def add(self, a: int, b: int) -> int:
        return a + b


class Responder:
    def act(self, context: SceneContext) -> str | None:
        return context.scene


async def polite(context: SceneContext) -> str:
    return f"Be polite to {context.request.user}."


model = ScriptedModel()
manager = SceneManager(
    model,
    mode="planning",
    prices={"m": Price(1, 2)},
    budget=Budget("0.5", "conversation"),
    rate_limiter=RateLimit(10, per=60),
    rate_key=lambda request: request.user or "",
    conversations=MemoryConversations(ttl=60),
    summarizer=Summarizer(model),
    guardrails=True,
    timeout=5.0,
    cache=True,
    deltas=False,
)
SceneManager(model, prices=PriceTable({}), budget=0.5, rate_limiter=RateLimiter(RateLimit(1)))
SceneManager(model, mode="all")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SceneManager(model, nonsense=1)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]

assert_type(
    manager.scene("Calculator", "Adds")
    .tool(max)
    .service(Calculator(), methods=["add"], timeout=3)
    .tools(Toolset())
    .client_tool("Get Location", {"type": "object"})
    .actor("Be brief.")
    .actor(polite)
    .actor(Responder()),
    Scene,
)
assert_type(manager.actor("Be brief."), SceneManager)
assert_type(manager.scenes, Mapping[str, Scene])


@manager.scene("Maths")
class Maths:
    def half(self, a: float) -> float:
        return a / 2


assert_type(Maths().half(3), float)

scene = manager.scene("Weather")


@scene.tool(retries=2)
def look_up(city: str) -> str:
    return city


assert_type(look_up("Oslo"), str)


@manager.authorize
def check(request: SceneRequest) -> bool:
    return request.user == "ann"


@manager.before
async def decide(request: SceneRequest) -> Answer | Deny | None:
    return Answer("Closed.") if request.metadata.get("closed") else None


@manager.after_scene
def after(request: SceneRequest, outcome: SceneOutcome) -> Append | None:
    return Append(outcome.text) if request.scene else None


@manager.on_terminal
def end(_: SceneRequest, result: SceneResult) -> None:
    assert_type(result.executed, tuple[ExecutedTool, ...])


def describe(status: SceneStatus, reason: SceneStopReason) -> str:
    if reason is SceneStopReason.COMPLETED:
        return status
    match reason:
        case SceneStopReason.MAX_ITERATIONS | SceneStopReason.BUDGET:
            return "limit"
        case SceneStopReason.RATE_LIMITED | SceneStopReason.UNAUTHORIZED:
            return "refused"
        case SceneStopReason.CANCELLED | SceneStopReason.AWAITING_CLIENT:
            return "paused"
        case SceneStopReason.ERROR:
            return "failed"
        case _:
            assert_never(reason)


async def main() -> None:
    assert_type(manager.stream("Hi!"), AsyncGenerator[SceneStep, None])
    async for step in manager.stream("Hi!", mode="chaining", conversation="c", streaming=True):
        assert_type(step.arguments, Mapping[str, Any] | None)
        assert_type(step.cost, Decimal | None)
        assert_type(step.total_cost, Decimal)
    result = await manager.run(SceneRequest("Hi!", user="ann", budget="0.1"))
    assert_type(result, SceneResult)
    assert_type(result.messages, tuple[Message, ...])
    await manager.run(conversation="c", results={"i1": {"city": "Oslo"}})
    await manager.run(conversation="c", results=[ClientResult("i1", "no", is_error=True)])
    await manager.run("Hi!", nonsense=1)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    run = manager.open([{"role": "user", "content": "Hi!"}])
    assert_type(run.stream_output(), AsyncGenerator[Any, None])
    assert_type(run, SceneRun)
    await run.cancel()
    assert_type(run.result, SceneResult | None)
    assert_type(current_context(), SceneContext | None)
