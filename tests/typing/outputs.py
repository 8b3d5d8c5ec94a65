"""Types of outputs: read by mypy and pyright, never run."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Literal

from typing_extensions import assert_type

from toolweave import Agent, RunContext, SceneManager, SceneRequest, SceneResult, SceneRun
from toolweave.agent import AgentResult, AgentRun
from toolweave.natural import NaturalToolUse
from toolweave.output import OutputSchema
from toolweave.testing import ScriptedModel


class Trip:
    """A type of output."""

    def __init__(self, city: str) -> None:
        self.city = city


def find(city: str) -> Trip:
    return Trip(city)


Answer = Literal["yes", "no"]


async def outputs() -> None:
    model = ScriptedModel()

    text = Agent(model)
    assert_type(text, Agent[None, str])
    assert_type((await text.run("Hi!")).output, str)
    assert_type((await text.run("Hi!", output_type=Trip)).output, Trip)
    assert_type((await text.run("Hi!", output_type=list[int])).output, list[int])
    assert_type((await text.run("Hi!", output_type=find)).output, Trip)
    assert_type((await text.run("Hi!", output_type={"type": "object"})).output, Any)
    assert_type((await text.run("Hi!", output_type=Answer)).output, Any)
    assert_type(text.run_sync("Hi!", output_type=Trip), AgentResult[Trip])
    assert_type(text.open("Hi!", output_type=Trip), AgentRun[None, Trip])
    assert_type(text.open("Hi!").stream_output(), AsyncGenerator[Any, None])
    paused = await text.run("Hi!")
    assert_type((await text.resume(paused)).output, str)
    assert_type((await text.resume(paused, output_type=Trip)).output, Trip)

    trips = Agent(model, output_type=Trip)
    assert_type(trips, Agent[None, Trip])
    assert_type((await trips.run("Hi!")).output, Trip)
    assert_type((await trips.open("Hi!").wait()).output, Trip)
    assert_type((await trips.run("Hi!", output_type=int)).output, int)

    answers = Agent[None, Answer](model, output_type=Answer)
    assert_type((await answers.run("Hi!")).output, Answer)

    either = Agent[None, Trip | int](model, output_type=[Trip, int])
    assert_type((await either.run("Hi!")).output, Trip | int)

    for_users = Agent(model, deps_type=int, output_type=Trip)
    assert_type((await for_users.run("Hi!", deps=3)).output, Trip)
    assert_type((await for_users.run("Hi!", deps=3, output_type=bool)).output, bool)
    assert_type((await for_users.resume(paused, deps=3)).output, Trip)
    assert_type((await for_users.resume(paused, deps=3, output_type=bool)).output, bool)
    await for_users.run("Hi!", output_type=Trip)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]

    @trips.output_validator
    def check(trip: Trip) -> Trip:
        return trip

    @trips.output_validator
    async def check_with_context(context: RunContext, trip: Trip) -> Trip:
        return trip if context.run_id else Trip("Oslo")

    def check_number(number: int) -> int:
        return number

    def check_name(trip: Trip) -> str:
        return trip.city

    def check_for_others(context: RunContext[str], trip: Trip) -> Trip:
        return trip if context.deps else Trip("Oslo")

    text.output_validator(str.strip)
    trips.output_validator(check_number)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue,reportArgumentType]
    trips.output_validator(check_name)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue,reportArgumentType]
    for_users.output_validator(check_for_others)  # type: ignore[arg-type]  # pyright: ignore[reportCallIssue,reportArgumentType]

    assert_type(check(Trip("Oslo")), Trip)
    assert_type(await check_with_context(RunContext(None), Trip("Oslo")), Trip)
    assert_type(OutputSchema(Trip).schema["type"], Any)


async def scenes() -> None:
    model = ScriptedModel()

    text = SceneManager(model)
    assert_type(text, SceneManager[None, str])
    assert_type((await text.run("Hi!")).output, str)
    assert_type((await text.run("Hi!", mode="chaining", output_type=Trip)).output, Trip)
    assert_type((await text.run("Hi!", output_type=find)).output, Trip)
    assert_type((await text.run("Hi!", output_type=Answer)).output, Any)
    assert_type(text.run_sync("Hi!", output_type=list[int]), SceneResult[list[int]])
    assert_type(text.open("Hi!", output_type=Trip), SceneRun[Trip])

    trips = SceneManager(model, output_type=Trip)
    assert_type(trips, SceneManager[None, Trip])
    assert_type((await trips.run("Hi!")).output, Trip)
    assert_type(trips.run_sync("Hi!").output, Trip)
    assert_type((await trips.open("Hi!").wait()).output, Trip)
    assert_type((await trips.run("Hi!", output_type=int)).output, int)

    answers = SceneManager[None, Answer](model, output_type=Answer)
    assert_type((await answers.run("Hi!")).output, Answer)

    @trips.output_validator
    def check(context: RunContext, trip: Trip) -> Trip:
        return trip if context.run_id else Trip("Oslo")

    @trips.on_terminal
    def end(_: object, result: SceneResult[Trip]) -> None:
        assert_type(result.output, Trip)

    assert_type(check(RunContext(None), Trip("Oslo")), Trip)
    end(SceneRequest("Hi!"), await trips.run("Hi!"))


async def replies() -> None:
    model = ScriptedModel()
    use = NaturalToolUse(model, output_type=Trip)
    assert_type(await use.output(use.open("Hi!")), Trip)
    text = NaturalToolUse(model)
    assert_type(await text.output(text.open("Hi!")), str)
