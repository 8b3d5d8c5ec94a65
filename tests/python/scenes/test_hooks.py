"""Hooks of applications: authorization, answers without the model, and appended texts."""

from __future__ import annotations

from typing import Any

import pytest

from calculator_scenes import (
    ADD,
    ENTER,
    RecordingStore,
    call,
    manager_of,
    model_of,
    result_of,
    statuses_of,
    steps_of,
)
from coroutine_tests import on_a_loop
from toolweave import SceneRequest, SceneResult, SceneStopReason
from toolweave.scenes import Answer, Append, Deny, SceneOutcome

NO = "You are not authorized to perform this action."


async def asynchronously(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("verdict", "message"),
    [(False, NO), (None, NO), (1, NO), (Deny(), NO), (Deny("Only for Ann."), "Only for Ann.")],
)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@on_a_loop
async def test_an_unauthorized_request_changes_nothing(
    verdict: Any, message: str, is_async: bool
) -> None:
    store = RecordingStore()
    manager = manager_of("Hello!", conversations=store)
    await result_of(manager, "Hi!", conversation="c")
    store.loaded.clear()
    store.saved.clear()

    @manager.authorize
    def check(request: SceneRequest) -> Any:
        assert request.user == "bob"
        return asynchronously(verdict) if is_async else verdict

    received: list[SceneResult] = []
    manager.on_terminal(received.append)
    steps = await steps_of(manager, "Hi!", conversation="c", user="bob", verbose=True)
    assert statuses_of(steps) == [
        ("Initializing", "Initializing context"),
        ("Error", message),
        ("Completed", ""),
    ]
    assert steps[1].fatal
    assert steps[2].stop_reason is SceneStopReason.UNAUTHORIZED
    assert (store.loaded, store.saved) == ([], [])
    assert len(model_of(manager).requests) == 1
    assert check is not None


@on_a_loop
async def test_an_authorized_request_runs() -> None:
    manager = manager_of("Hello!")
    manager.authorize(lambda request: request.user == "ann")
    assert (await result_of(manager, "Hi!", user="ann")).text == "Hello!"
    assert (await result_of(manager, "Hi!")).stop_reason is SceneStopReason.UNAUTHORIZED


@on_a_loop
async def test_a_request_can_be_denied_or_answered_without_the_model() -> None:
    store = RecordingStore()
    manager = manager_of("From the model.", conversations=store)

    @manager.before
    async def decide(request: SceneRequest) -> Any:
        return {"a": Answer("Closed."), "b": Deny("Not you.")}.get(request.user or "")

    steps = await steps_of(manager, "Open?", user="a", conversation="c")
    assert statuses_of(steps) == [("Running", "Closed."), ("Completed", "Closed.")]
    assert [message.text for message in store.saved[-1].messages] == ["Open?", "Closed."]
    denied = await result_of(manager, "Open?", user="b", conversation="c")
    assert (denied.error, denied.stop_reason.value) == ("Not you.", "unauthorized")
    assert len(store.saved) == 1
    assert (await result_of(manager, "Open?")).text == "From the model."


@on_a_loop
async def test_a_hook_can_append_to_the_answer_of_a_scene() -> None:
    manager = manager_of(ENTER, ADD, "42.")
    received: list[SceneOutcome] = []

    @manager.after_scene
    def add(_: SceneRequest, outcome: SceneOutcome) -> Append:
        received.append(outcome)
        return Append("Without VAT.")

    steps = await steps_of(manager, "15 + 27?")
    assert statuses_of(steps)[-3:] == [
        ("Running", "42."),
        ("Running", "Without VAT."),
        ("Completed", "42.\n\nWithout VAT."),
    ]
    assert received == [SceneOutcome("Calculator", "42.")]


@on_a_loop
async def test_a_run_can_be_ended_after_a_scene() -> None:
    both = call("Calculator") + call("Weather_Report")
    manager = manager_of(both, "42.")
    manager.after_scene(lambda _, outcome: Answer(f"Enough: {outcome.text}"))
    result = await result_of(manager, "Both!")
    assert result.text == "Enough: 42."
    assert result.scenes == ("Calculator",)
    assert result.stop_reason is SceneStopReason.COMPLETED


@on_a_loop
async def test_a_run_denied_after_a_scene_is_not_saved() -> None:
    store = RecordingStore()
    manager = manager_of(ENTER, "The password is 1234.", conversations=store)
    manager.after_scene(lambda _, outcome: "password" not in outcome.text)
    result = await result_of(manager, "Tell me!")
    assert result.stop_reason is SceneStopReason.UNAUTHORIZED
    assert not store.saved


@on_a_loop
async def test_the_terminal_hook_runs_once_and_can_append() -> None:
    store = RecordingStore()
    manager = manager_of("Hello!", conversations=store)
    received: list[tuple[str, str]] = []

    @manager.on_terminal
    async def end(_: SceneRequest, result: SceneResult) -> Append:
        received.append((result.stop_reason.value, result.text))
        return Append("Bye.")

    steps = await steps_of(manager, "Hi!")
    assert statuses_of(steps) == [
        ("Running", "Hello!"),
        ("Running", "Bye."),
        ("Completed", "Hello!\n\nBye."),
    ]
    assert received == [("completed", "Hello!")]
    assert [message.text for message in store.saved[0].messages] == ["Hi!", "Hello!", "Bye."]


@on_a_loop
async def test_failed_tools_do_not_end_a_run() -> None:
    manager = manager_of(ENTER, call("Fail"), call("Nope"), "Sorry.")
    received: list[str] = []
    manager.on_terminal(lambda _, result: received.append(result.stop_reason.value))
    await result_of(manager, "Try!")
    assert received == ["completed"]


@pytest.mark.parametrize("verdict", [Deny(), Answer("No.")])
@on_a_loop
async def test_a_terminal_hook_can_only_append(verdict: Any) -> None:
    store = RecordingStore()
    manager = manager_of("Hello!", conversations=store)
    manager.on_terminal(lambda _, __: verdict)
    steps = await steps_of(manager, "Hi!")
    assert [step.status.value for step in steps] == ["Running", "Error", "Completed"]
    assert "must return Append, True or None, got" in str(steps[1].message)
    assert not steps[1].fatal
    assert steps[2].stop_reason is SceneStopReason.COMPLETED
    assert len(store.saved) == 1


@pytest.mark.parametrize(
    ("kind", "verdict", "error"),
    [
        ("before", Append("Hi!"), "before must return Deny, Answer, a bool or None, got Append"),
        ("before", "yes", "a hook must return Deny, Answer, Append, True, False or None, got str"),
        ("after_scene", 5, "a hook must return Deny, Answer, Append, True, False or None, got int"),
    ],
)
@on_a_loop
async def test_an_invalid_verdict_is_an_error(kind: str, verdict: Any, error: str) -> None:
    manager = manager_of(ENTER, "42.")
    getattr(manager, kind)(lambda *_: verdict)
    result = await result_of(manager, "Hi!")
    assert (result.error, result.stop_reason) == (error, SceneStopReason.ERROR)


@on_a_loop
async def test_a_hook_that_raises_ends_the_run_in_an_error() -> None:
    manager = manager_of()

    @manager.authorize
    def broken(_: SceneRequest) -> bool:
        raise LookupError("no directory")

    steps = await steps_of(manager, "Hi!")
    assert statuses_of(steps) == [("Error", "Execution failed: no directory"), ("Completed", "")]
    assert steps[1].stop_reason is SceneStopReason.ERROR


@pytest.mark.parametrize("verdict", [Deny(), Answer("Closed."), False])
@pytest.mark.parametrize("kind", ["before", "after_scene"])
@on_a_loop
async def test_no_hook_runs_after_one_that_ends_the_run(kind: str, verdict: Any) -> None:
    asked: list[str] = []
    manager = manager_of(ENTER, "42.")
    getattr(manager, kind)(lambda *_: verdict)
    getattr(manager, kind)(lambda *_: asked.append(kind))
    await result_of(manager, "15 + 27?")
    assert asked == []


@on_a_loop
async def test_a_conversation_without_a_user_belongs_to_no_user() -> None:
    manager = manager_of("One.", "Two.", "Three.")
    for user in (None, "ann", None):
        result = await result_of(manager, "Go on.", conversation="c", user=user)
        assert result.stop_reason is SceneStopReason.COMPLETED


@on_a_loop
async def test_only_its_user_can_continue_a_conversation() -> None:
    store = RecordingStore()
    manager = manager_of("Hello!", "Hello again!", "Hello all!", conversations=store)
    await result_of(manager, "I am Ann.", conversation="c", user="ann")
    for user in ("bob", None):
        result = await result_of(manager, "Who am I?", conversation="c", user=user)
        assert result.stop_reason is SceneStopReason.UNAUTHORIZED
        assert result.error == "This conversation belongs to another user."
        assert result.messages == ()
    assert len(store.saved) == 1
    assert (
        await result_of(manager, "And now?", conversation="c", user="ann")
    ).text == "Hello again!"
