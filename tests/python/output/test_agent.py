"""Agents with an output type: asking, asking again, validators, functions, and the errors."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coroutine_tests import collect, on_a_loop
from output_types import City, Colour
from toolweave import (
    Agent,
    Deferred,
    FinishReason,
    FinishUpdate,
    ModelRetry,
    RunContext,
    StopReason,
    TextDelta,
    ToolAggregateMessage,
)
from toolweave.agent import AgentResult
from toolweave.exceptions import OutputError, OutputTypeError
from toolweave.testing import ScriptedModel

OSLO = '{"name": "Oslo", "people": 700000}'
WRONG = '{"name": "Oslo", "people": "many"}'
CALL = '<add>{"a": 2, "b": 3}</add>'


def add(a: int, b: int) -> int:
    return a + b


def texts(model: ScriptedModel, request: int) -> list[str]:
    return [getattr(message, "text", "") for message in model.requests[request].messages]


@on_a_loop
async def test_the_output_is_a_value_of_the_type() -> None:
    result = await Agent(ScriptedModel(f"Here it is: {OSLO}"), output_type=City).run("Where?")
    assert result.output == City(name="Oslo", people=700000)
    assert (result.stop_reason, result.iterations) == (StopReason.COMPLETED, 1)


@on_a_loop
async def test_without_an_output_type_the_output_is_the_text() -> None:
    result = await Agent(ScriptedModel(" Hello. ")).run("Hi!")
    assert result.output == result.text == "Hello."


@on_a_loop
async def test_a_run_may_have_an_output_type_of_its_own() -> None:
    agent = Agent(ScriptedModel("3.", OSLO), output_type=City)
    assert (await agent.run("How many?", output_type=int)).output == 3
    assert (await agent.run("Where?")).output == City(name="Oslo", people=700000)


@on_a_loop
async def test_a_run_is_resumed_with_an_output_type() -> None:
    async def book() -> Deferred:
        return Deferred("booking")

    model = ScriptedModel("<book/>", '{"people": "many"}', OSLO)
    agent = Agent(model, [book])
    paused = await agent.run("Book a city!", output_type=City)
    assert paused.stop_reason is StopReason.DEFERRED
    with pytest.raises(OutputError, match="'deferred', without an output"):
        _ = paused.output
    agent.resolve("booking", "booked")
    resumed = await agent.resume(paused, output_type=City)
    assert resumed.output == City(name="Oslo", people=700000)
    assert len(model.requests) == 3


@on_a_loop
async def test_the_model_is_shown_the_schema_after_the_instructions() -> None:
    model = ScriptedModel("red")
    await Agent(model, instructions="Be brief.", output_type=Colour).run("Which?")
    assert texts(model, 0)[0] == (
        "Be brief.\n\nAnswer with exactly one of these and nothing else: red, dark blue"
    )
    assert model.requests[0].options is None


class TestRetries:
    """Replies that are no output, and the request after them."""

    @on_a_loop
    async def test_an_invalid_reply_is_asked_for_once_more_with_all_violations(self) -> None:
        model = ScriptedModel('{"people": "many"}', OSLO)
        result = await Agent(model, output_type=City).run("Where?")
        assert result.output == City(name="Oslo", people=700000)
        assert len(model.requests) == 2
        assert "/name: missing" in texts(model, 1)[-1]
        assert "/people" in texts(model, 1)[-1]
        # What the model has written is in the history, and so is the question.
        assert [message.role.value for message in result.messages] == [
            "user", "assistant", "user", "assistant",
        ]  # fmt: skip
        assert result.messages[2].metadata == {"output_retry": True}

    @on_a_loop
    async def test_the_second_invalid_reply_is_an_error_that_holds_everything(self) -> None:
        run = Agent(ScriptedModel("No.", WRONG), output_type=City).open("Where?")
        with pytest.raises(OutputError) as raised:
            await run.wait()
        error = raised.value
        assert error.text == WRONG
        assert error.partial == {"name": "Oslo", "people": "many"}
        assert [violation.path for violation in error.violations] == ["/people"]
        assert error.messages == run.messages

    @pytest.mark.parametrize("retries", [0, 2])
    @on_a_loop
    async def test_the_number_of_retries_is_an_option(self, retries: int) -> None:
        model = ScriptedModel(*["No."] * (retries + 1))
        with pytest.raises(OutputError):
            await Agent(model, output_type=City, output_retries=retries).run("Where?")
        assert len(model.requests) == retries + 1

    @on_a_loop
    async def test_the_iterations_of_a_run_bound_its_retries(self) -> None:
        model = ScriptedModel("No.")
        with pytest.raises(OutputError):
            await Agent(model, output_type=City, max_iterations=1).run("Where?")
        assert len(model.requests) == 1

    @on_a_loop
    async def test_a_reply_that_was_cut_off_is_not_asked_for_again(self) -> None:
        model = ScriptedModel([TextDelta('{"name": "Oslo'), FinishUpdate(FinishReason.LENGTH)])
        with pytest.raises(OutputError, match="cut off") as raised:
            await Agent(model, output_type=City).run("Where?")
        assert len(model.requests) == 1
        assert raised.value.partial == {"name": "Oslo"}

    @given(st.lists(st.sampled_from([OSLO, WRONG, "No.", "[]"]), min_size=4, max_size=4))
    def test_a_run_makes_as_many_requests_as_it_needs(self, replies: list[str]) -> None:
        model = ScriptedModel(*replies)
        agent = Agent(model, output_type=City, output_retries=2)
        expected = replies.index(OSLO) if OSLO in replies else 3
        if expected < 3:
            assert asyncio.run(agent.run("Where?")).output.name == "Oslo"
        else:
            with pytest.raises(OutputError):
                asyncio.run(agent.run("Where?"))
        assert len(model.requests) == min(expected + 1, 3)


class TestTools:
    """Calls and outputs in one run."""

    @on_a_loop
    async def test_calls_come_first_and_the_output_last(self) -> None:
        model = ScriptedModel(f"{OSLO}\n{CALL}", OSLO)
        result = await Agent(model, [add], output_type=City).run("Where?")
        assert result.output == City(name="Oslo", people=700000)
        assert len([m for m in result.messages if isinstance(m, ToolAggregateMessage)]) == 1

    @pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "{}\n"])
    @on_a_loop
    async def test_json_that_is_the_output_is_no_call(self, form: str) -> None:
        text = form.replace("{}", OSLO)
        result = await Agent(ScriptedModel(text), [add], output_type=City).run("Where?")
        assert result.output == City(name="Oslo", people=700000)

    @pytest.mark.parametrize("form", ["{}", "```json\n{}\n```"])
    @on_a_loop
    async def test_json_that_is_a_call_is_no_output(self, form: str) -> None:
        call = form.replace("{}", '{"name": "add", "arguments": {"a": 2, "b": 3}}')
        result = await Agent(ScriptedModel(call, OSLO), [add], output_type=City).run("Where?")
        assert result.output == City(name="Oslo", people=700000)
        assert any(isinstance(message, ToolAggregateMessage) for message in result.messages)

    @on_a_loop
    async def test_a_call_that_was_left_as_text_is_asked_for_again(self) -> None:
        call = 'I call it:\n```json\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n```'
        model = ScriptedModel(call, OSLO)
        result = await Agent(model, [add], output_type=City).run("Where?")
        assert result.output == City(name="Oslo", people=700000)
        assert "call of add" in texts(model, 1)[-1]

    @on_a_loop
    async def test_a_run_that_ends_before_its_output_has_none(self) -> None:
        agent = Agent(ScriptedModel(CALL), [add], output_type=City, max_iterations=1)
        result = await agent.run("Where?")
        assert result.stop_reason is StopReason.MAX_ITERATIONS
        with pytest.raises(OutputError, match="'max_iterations'") as raised:
            result.output  # noqa: B018 - raises
        assert raised.value.messages == result.messages

    @on_a_loop
    async def test_an_answer_at_the_limit_is_an_output(self) -> None:
        model = ScriptedModel(CALL, OSLO)
        agent = Agent(model, [add], output_type=City, max_iterations=1, answer_at_limit=True)
        assert (await agent.run("Where?")).output == City(name="Oslo", people=700000)


class TestFunctions:
    """Functions as output, and validators."""

    @on_a_loop
    async def test_the_return_value_of_a_function_is_the_output(self) -> None:
        async def find(name: str, context: RunContext[str]) -> str:
            return f"{name} for {context.deps}"

        agent = Agent(ScriptedModel('{"name": "Oslo"}'), deps_type=str, output_type=find)
        assert (await agent.run("Where?", deps="Ann")).output == "Oslo for Ann"

    @on_a_loop
    async def test_a_function_may_refuse_an_output(self) -> None:
        def find(name: str) -> str:
            if name == "Oslo":
                raise ModelRetry("Oslo is closed.")
            return name

        model = ScriptedModel('{"name": "Oslo"}', '{"name": "Rome"}')
        assert (await Agent(model, output_type=find).run("Where?")).output == "Rome"
        assert texts(model, 1)[-1].startswith("Oslo is closed.\n\nAnswer with JSON only")

    @on_a_loop
    async def test_validators_check_and_change_the_output_in_order(self) -> None:
        agent = Agent(ScriptedModel("2"), output_type=int, name="Counter")

        @agent.output_validator
        def double(value: int) -> int:
            return value * 2

        @agent.output_validator
        async def add_messages(context: RunContext, value: int) -> int:
            return value + len(context.messages)

        assert (await agent.run("How many?")).output == 6

    @on_a_loop
    async def test_a_validator_that_always_refuses_ends_the_run(self) -> None:
        agent = Agent(ScriptedModel("1", "2"), output_type=int)

        @agent.output_validator
        def refuse(value: int) -> int:
            raise ModelRetry(f"not {value}")

        with pytest.raises(OutputError, match="the output was refused: not 2") as raised:
            await agent.run("How many?")
        assert isinstance(raised.value.__cause__, ModelRetry)

    @on_a_loop
    async def test_a_validator_of_text_needs_no_output_type(self) -> None:
        model = ScriptedModel("hello", "HELLO")
        agent = Agent(model)

        @agent.output_validator
        def loud(text: str) -> str:
            if not text.isupper():
                raise ModelRetry("Louder!")
            return text

        assert (await agent.run("Hi!")).output == "HELLO"
        assert texts(model, 1)[-1] == "Louder!"

    @on_a_loop
    async def test_other_exceptions_are_raised(self) -> None:
        agent = Agent(ScriptedModel("1"), output_type=int)

        @agent.output_validator
        def fail(value: int) -> int:
            raise LookupError(f"no such number: {value}")

        with pytest.raises(LookupError, match="no such number"):
            await agent.run("How many?")


@on_a_loop
async def test_the_text_of_an_output_streams_and_the_result_is_last() -> None:
    *events, last = await collect(Agent(ScriptedModel(OSLO), output_type=City).stream("Where?"))
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == OSLO
    assert isinstance(last, AgentResult)
    assert last.output == City(name="Oslo", people=700000)


def test_bad_options_are_refused_when_the_agent_is_made() -> None:
    model = ScriptedModel()
    with pytest.raises(OutputTypeError, match="City and Place"):
        Agent(model, output_type=City | Place)
    with pytest.raises(ValueError, match="output_mode"):
        Agent(model, output_mode="json")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="output_retries"):
        Agent(model, output_retries=-1)
    agent = Agent(model, output_type=Literal["a"])
    with pytest.raises(TypeError, match="a validator must take the output"):
        agent.output_validator(lambda: 1)
    agent.output_validator(str.strip)
    with pytest.raises(ValueError, match="output validators"):
        agent.open("Hi!", output_type=int)


class Place(City):
    """A city by another name."""


@on_a_loop
async def test_outputs_of_any_type_are_pickled_with_their_result() -> None:
    import pickle

    result: Any = await Agent(ScriptedModel("red"), output_type=Colour).run("Which?")
    assert pickle.loads(pickle.dumps(result)).output is Colour.RED
