"""Client tools: the run pauses, is saved, and resumes with the results of the client."""

from __future__ import annotations

import json
from typing import Any

import pytest

import toolweave as tw
from calculator_scenes import (
    RecordingStore,
    call,
    manager_of,
    model_of,
    result_of,
    statuses_of,
    steps_of,
)
from coroutine_tests import on_a_loop
from toolweave import SceneManager, SceneStatus, SceneStopReason, ToolContext
from toolweave.conversations import Conversation, MemoryConversations
from toolweave.executor import Deferred
from toolweave.scenes import ClientResult
from toolweave.testing import ScriptedModel

WHERE = call("Get_Location", '{"accuracy": 5}')
SCHEMA = {"type": "object", "properties": {"accuracy": {"type": "integer"}}}


def asking(*replies: Any, store: MemoryConversations | None = None, **options: Any) -> SceneManager:
    manager = SceneManager(ScriptedModel(*replies), conversations=store, **options)

    async def ping() -> str:
        return "pong"

    scene = manager.scene("Places").client_tool("Get Location", SCHEMA).tool(ping)
    return scene.scene("Other").manager


ENTER = call("Places")


@on_a_loop
async def test_a_run_pauses_for_its_client_and_resumes_with_the_result() -> None:
    store = RecordingStore()
    manager = asking(ENTER, WHERE + call("ping"), "You are in Oslo.", store=store)
    steps = []
    async for step in manager.stream("Where am I?", conversation="c"):
        if step.status is SceneStatus.AWAITING_CLIENT:
            assert len(store.saved) == 1, "it is saved before it is announced"
        steps.append(step)
    assert statuses_of(steps) == [
        ("ExecutingScene", "Entering scene: Places"),
        ("FunctionRequest", "Executing tool: ping"),
        ("FunctionCompleted", "Tool ping executed: pong"),
        ("AwaitingClient", "Awaiting client: Get_Location"),
        ("Completed", ""),
    ]
    waiting, last = steps[-2:]
    assert waiting.arguments == {"accuracy": 5}
    assert waiting.interaction_id is not None
    assert waiting.call_id is not None
    assert waiting.scene == "Places"
    assert last.stop_reason is SceneStopReason.AWAITING_CLIENT
    # Another process: all that there is comes from the store, by way of JSON.
    again = MemoryConversations()
    stored = json.loads(json.dumps(store.saved[-1].to_dict()))
    await again.save(Conversation.from_dict(stored))
    manager = asking("You are in Oslo.", store=again)
    steps = await steps_of(
        manager, conversation="c", results={waiting.interaction_id: {"city": "Oslo"}}
    )
    assert statuses_of(steps) == [
        ("FunctionCompleted", 'Tool Get_Location executed: {"city":"Oslo"}'),
        ("ExecutingScene", "Entering scene: Places"),
        ("Running", "You are in Oslo."),
        ("Completed", "You are in Oslo."),
    ]
    read = model_of(manager).requests[0].messages[-1].text
    assert '"city": "Oslo"' in read
    assert "pong" in read
    kept_now = await again.load("c")
    assert kept_now is not None
    assert (kept_now.pending, kept_now.scene, kept_now.metadata) == ([], None, {})


@on_a_loop
async def test_every_call_has_one_result_in_the_history_in_the_order_of_the_calls() -> None:
    manager = asking(ENTER, call("ping") + WHERE + WHERE, "Done.")
    paused = await result_of(manager, "Where am I?")
    assert len(paused.awaiting) == 2
    first, second = (str(step.interaction_id) for step in paused.awaiting)
    assert first != second
    result = await result_of(
        manager,
        conversation=paused.conversation,
        results=[ClientResult(second, "Rome"), ClientResult(first, "Oslo")],
    )
    aggregate = [m for m in result.messages if isinstance(m, tw.ToolAggregateMessage)][-1]
    assert [r.result for r in aggregate.tool_results] == ["pong", "Oslo", "Rome"]
    assert [r.tool_call_id for r in aggregate.tool_results] == [c.id for c in aggregate.tool_calls]
    assert [each.result for each in result.executed] == ["Oslo", "Rome"]


@on_a_loop
async def test_a_run_waits_until_all_results_are_there() -> None:
    manager = asking(ENTER, WHERE + WHERE, "Done.")
    paused = await result_of(manager, "Where am I?", conversation="c")
    first, second = (str(step.interaction_id) for step in paused.awaiting)
    half = await result_of(manager, conversation="c", results={first: "Oslo"})
    assert half.stop_reason is SceneStopReason.AWAITING_CLIENT
    assert [step.interaction_id for step in half.awaiting] == [second]
    assert (await result_of(manager, conversation="c", results={second: "Rome"})).text == "Done."


@on_a_loop
async def test_the_model_reads_a_failure_of_the_client() -> None:
    manager = asking(ENTER, WHERE, "I do not know.")
    paused = await result_of(manager, "Where am I?", conversation="c")
    (waiting,) = paused.awaiting
    results = [ClientResult(str(waiting.interaction_id), "no permission", is_error=True)]
    steps = await steps_of(manager, conversation="c", results=results)
    assert statuses_of(steps)[0] == ("Error", "Error executing tool: no permission")
    assert not steps[0].fatal
    assert steps[0].call_id == waiting.call_id
    assert steps[-1].message == "I do not know."


@on_a_loop
async def test_continuing_without_results_puts_errors_in_their_place() -> None:
    manager = asking(ENTER, WHERE, "Hello again.")
    await result_of(manager, "Where am I?", conversation="c")
    steps = await steps_of(manager, "Never mind.", conversation="c")
    assert statuses_of(steps) == [
        ("Error", "Error executing tool: Error: No result received from client for this tool"),
        ("Running", "Hello again."),
        ("Completed", "Hello again."),
    ]
    result = await result_of(asking("Hi!"), "Hi!")
    assert result.text == "Hi!"
    read = model_of(manager).requests[-1].messages
    assert "No result received from client" in read[-1].text


@on_a_loop
async def test_a_request_may_have_results_and_input() -> None:
    manager = asking(ENTER, WHERE + WHERE, "Oslo it is.")
    paused = await result_of(manager, "Where am I?", conversation="c")
    first = str(paused.awaiting[0].interaction_id)
    result = await result_of(manager, "Hurry!", conversation="c", results={first: "Oslo"})
    assert result.text == "Oslo it is."
    assert [each.is_error for each in result.executed] == [False, True]
    assert "Hurry!" in model_of(manager).requests[-1].messages[-1].text


@on_a_loop
async def test_unexpected_results_are_an_error_that_names_the_pending_ones() -> None:
    manager = asking(ENTER, WHERE, "Oslo.")
    steps = await steps_of(manager, conversation="k", results={"x": 1})
    sentence = (
        "No pending client interaction found for conversation 'k'. "
        "The conversation key may be invalid or expired."
    )
    assert statuses_of(steps) == [("Error", sentence), ("Completed", "")]
    assert steps[0].fatal
    paused = await result_of(manager, "Where am I?", conversation="c")
    (waiting,) = paused.awaiting
    wrong = await result_of(manager, conversation="c", results={"x": 1})
    assert wrong.error == (
        f"No pending client interaction 'x' in conversation 'c'; pending: {waiting.interaction_id}"
    )
    # What was awaited is awaited still.
    right = await result_of(
        manager, conversation="c", results={str(waiting.interaction_id): "Oslo"}
    )
    assert right.text == "Oslo."


@on_a_loop
async def test_a_resumed_run_enters_the_scenes_left_in_the_queue() -> None:
    store = RecordingStore()
    plan = {
        "answer": None,
        "steps": [
            {"id": 1, "scene": "Places", "purpose": "Find the user", "depends_on": []},
            {"id": 2, "scene": "Other", "purpose": "Greet them", "depends_on": [1]},
        ],
    }
    manager = asking(json.dumps(plan), WHERE, store=store, mode="planning")
    paused = await result_of(manager, "Greet me where I am.", conversation="c")
    (waiting,) = paused.awaiting
    manager = asking("In Oslo.", "Hello!", "Hello to Oslo!", store=store)
    result = await result_of(
        manager, conversation="c", results={str(waiting.interaction_id): "Oslo"}
    )
    assert result.scenes == ("Places", "Other")
    assert result.text == "Hello to Oslo!"
    first, second, _ = model_of(manager).requests
    assert "Purpose of this step of the plan: Find the user" in first.messages[0].text
    assert "- Places: In Oslo." in second.messages[0].text


@pytest.mark.parametrize("queue", [{}, 5, {"mode": "direct", "queue": [1], "done": []}, None])
@on_a_loop
async def test_a_conversation_continues_without_a_readable_queue(queue: Any) -> None:
    store = RecordingStore()
    manager = asking(ENTER, WHERE, ENTER, "Oslo.", store=store)
    paused = await result_of(manager, "Where am I?", conversation="c")
    stored = store.saved[-1]
    (name,) = stored.metadata
    stored.metadata = {} if queue is None else {name: queue}
    await store.save(stored)
    results = {str(paused.awaiting[0].interaction_id): "Oslo"}
    assert (await result_of(manager, conversation="c", results=results)).text == "Oslo."


@on_a_loop
async def test_a_tool_that_defers_its_result_pauses_the_run_as_well() -> None:
    async def book() -> Deferred:
        return Deferred("booking-17")

    manager = SceneManager(ScriptedModel("<S/>", "<book/>", "Booked.", "<S/>", "<book/>"))
    manager.scene("S").tool(book)
    steps = await steps_of(manager, "Book!", conversation="c")
    assert statuses_of(steps)[1:] == [
        ("FunctionRequest", "Executing tool: book"),
        ("AwaitingClient", "Awaiting client: book"),
        ("Completed", ""),
    ]
    assert steps[-2].interaction_id == "booking-17"
    assert (
        await result_of(manager, conversation="c", results={"booking-17": "yes"})
    ).text == "Booked."
    # The key is the conversation's, and free again in the process.
    (again,) = (await result_of(manager, "Book!", conversation="d")).awaiting
    assert again.interaction_id == "booking-17"


@on_a_loop
async def test_a_tool_that_asks_the_user_continues_in_the_same_run() -> None:
    async def greet(context: ToolContext) -> str:
        return f"Hello, {await context.ask('Who are you?')}!"

    manager = SceneManager(ScriptedModel("<S/>", "<greet/>", "Greeted."))
    manager.scene("S").tool(greet)
    assert manager.resolve("nobody", 1) is tw.Outcome.NOT_FOUND
    steps = []
    async for step in manager.stream("Greet me!"):
        steps.append(step)
        if step.status is SceneStatus.AWAITING_CLIENT:
            assert manager.resolve(str(step.interaction_id), "Ann") is tw.Outcome.RESOLVED
    assert statuses_of(steps)[1:4] == [
        ("FunctionRequest", "Executing tool: greet"),
        ("AwaitingClient", "Who are you?"),
        ("FunctionCompleted", "Tool greet executed: Hello, Ann!"),
    ]
    assert steps[-1].stop_reason is SceneStopReason.COMPLETED


@on_a_loop
async def test_reused_call_ids_get_new_interactions() -> None:
    replies: list[Any] = [
        [tw.ToolCall("c0", "Places", {})],
        [tw.ToolCall("c0", "Get_Location", {})],
        [tw.ToolCall("c0", "Get_Location", {})],
    ]
    manager = asking(*replies, "Oslo.", tool_mode="native")
    first = (await result_of(manager, "Where am I?", conversation="c")).awaiting[0]
    again = await result_of(manager, conversation="c", results={str(first.interaction_id): "Oslo"})
    (second,) = again.awaiting
    assert first.interaction_id != second.interaction_id
    late = await result_of(manager, conversation="c", results={str(first.interaction_id): "Rome"})
    assert "No pending client interaction" in str(late.error)
    last = await result_of(manager, conversation="c", results={str(second.interaction_id): "Oslo"})
    assert last.text == "Oslo."


@on_a_loop
async def test_an_expired_conversation_cannot_be_resumed() -> None:
    now = [0.0]
    store = MemoryConversations(ttl=10, clock=lambda: now[0])
    manager = asking(ENTER, WHERE, store=store)
    paused = await result_of(manager, "Where am I?", conversation="c")
    now[0] = 11
    (waiting,) = paused.awaiting
    result = await result_of(
        manager, conversation="c", results={str(waiting.interaction_id): "Oslo"}
    )
    assert "may be invalid or expired" in str(result.error)


@on_a_loop
async def test_nothing_to_answer_is_an_error() -> None:
    assert (await result_of(asking())).error == "There is nothing to answer"


@on_a_loop
async def test_a_request_without_input_keeps_its_interactions() -> None:
    manager = asking(ENTER, WHERE, "In Oslo.")
    paused = await result_of(manager, "Where am I?", conversation="c")
    assert (await result_of(manager, conversation="c")).error == "There is nothing to answer"
    (waiting,) = paused.awaiting
    results = {str(waiting.interaction_id): "Oslo"}
    assert (await result_of(manager, conversation="c", results=results)).text == "In Oslo."
    assert (await result_of(manager, conversation="c")).error == "There is nothing to answer"


@on_a_loop
async def test_an_unanswered_request_can_be_continued_without_input() -> None:
    manager = manager_of(tw.ModelError("full", "m1", 429), "Hello!")
    assert (await result_of(manager, "Hi!", conversation="c")).stop_reason.value == "error"
    result = await result_of(manager, conversation="c")
    assert (result.text, [message.text for message in result.messages]) == (
        "Hello!",
        ["Hi!", "Hello!"],
    )


@pytest.mark.parametrize("schema", [{"type": 5}, {"$ref": "#/nowhere"}])
def test_an_invalid_schema_is_refused_at_registration(schema: Any) -> None:
    with pytest.raises((tw.ContractError, tw.SchemaError, tw.ToolDefinitionError)):
        SceneManager(ScriptedModel()).scene("S").client_tool("t", schema)
