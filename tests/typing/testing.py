"""Types of the testing package: read by mypy and pyright, never run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from unittest.mock import ANY

from typing_extensions import assert_type

from toolweave import Agent, Message, SceneResult, ToolResult
from toolweave.agent import AgentResult, AgentRun
from toolweave.models.http import HttpModel
from toolweave.protocols import ChatModel
from toolweave.testing import (
    CallMatcher,
    MadeCall,
    RecordedModelFixture,
    RecordingObserver,
    call,
    expect_calls,
    expect_trajectory,
)


def is_long(nights: int) -> bool:
    return nights > 1


def calls(
    result: AgentResult,
    scenes: SceneResult,
    run: AgentRun,
    messages: Sequence[Message],
    observer: RecordingObserver,
) -> None:
    assert_type(call("book", ..., city="Oslo", nights=is_long), CallMatcher)
    assert_type(expect_calls(result, "book", call("book", city=ANY)), tuple[MadeCall, ...])
    expect_calls(scenes, any_order=True, at_least=True)
    expect_calls(run)
    expect_calls(messages)
    expect_calls(observer)
    [made] = expect_calls([{"role": "user", "content": "Hi"}])
    assert_type(made.result, ToolResult | None)

    call("book", {"city": "Oslo"})  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    expect_calls(3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    expect_calls(result, 3)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def trajectories(result: AgentResult) -> None:
    expect_trajectory(result, requests=2, max_requests=3, order=["a", "b"], corrected="a")
    expect_trajectory(result, text=re.compile("x"), errors=0, corrected=("a", "b"))
    expect_trajectory(result, text=lambda text: text.isupper(), stop_reason="completed")

    expect_trajectory(result, requests="2")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def recorded(recorded_model: RecordedModelFixture) -> None:
    async def echo(messages: Sequence[Message]) -> str:
        return f"{len(messages)}"

    assert_type(recorded_model(echo), ChatModel)
    Agent(recorded_model(lambda: HttpModel("http://localhost/v1", "m"), name="one"))
    recorded_model(HttpModel("http://localhost/v1", "m"), normalize=str.strip)

    recorded_model("m")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
