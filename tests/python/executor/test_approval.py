"""Approval: only an explicit yes allows a call, and only the call that was shown."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from package_logs import package_records
from toolweave import FunctionContract, ToolCall
from toolweave.executor._approval import ApprovalRecord, decide
from toolweave.executor._events import ToolApproval
from toolweave.protocols import Approval

T = TypeVar("T")

CONTRACT = FunctionContract("delete", "Deletes a file.", {"type": "object"})


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a test with a timeout."""

    async def limited() -> T:
        return await asyncio.wait_for(coroutine, 10)

    return asyncio.run(limited())


def call() -> ToolCall:
    return ToolCall("call_0", "delete", {"path": "notes.txt", "options": {"force": False}})


def ask(approver: Any, timeout: float | None = None) -> ApprovalRecord:
    return run(decide(approver, call(), CONTRACT, timeout))


def answering(answer: object) -> list[Any]:
    """Approvers of every kind that give one answer."""

    async def asynchronous(_call: ToolCall, _contract: FunctionContract) -> object:
        await asyncio.sleep(0)
        return answer

    class Callable:
        async def __call__(self, _call: ToolCall, _contract: FunctionContract) -> object:
            return answer

        def method(self, _call: ToolCall, _contract: FunctionContract) -> object:
            return answer

    return [
        lambda _call, _contract: answer,
        asynchronous,
        functools.partial(asynchronous),
        lambda call, contract: asynchronous(call, contract),
        Callable(),
        Callable().method,
    ]


@pytest.mark.parametrize("approver", [*answering(True), *answering(Approval.allow())])
def test_only_true_allows_the_call(approver: Any) -> None:
    record = ask(approver)
    assert (record.outcome, record.allowed, record.reason) == ("allowed", True, None)


@pytest.mark.parametrize("approver", answering(False))
def test_false_denies_the_call(approver: Any) -> None:
    record = ask(approver)
    assert (record.outcome, record.allowed) == ("denied", False)


@pytest.mark.parametrize("approver", answering(Approval.deny("not on Sundays")))
def test_a_denial_may_have_a_reason(approver: Any) -> None:
    record = ask(approver)
    assert (record.outcome, record.reason) == ("denied", "not on Sundays")
    assert record.event() == ToolApproval("call_0", "denied", "not on Sundays")


@pytest.mark.parametrize("nonsense", [None, 1, "yes", "allow", [True], object(), Approval])
def test_an_invalid_answer_is_an_error(nonsense: object) -> None:
    for approver in answering(nonsense):
        record = ask(approver)
        assert (record.outcome, record.allowed) == ("error", False)


@pytest.mark.parametrize(
    "error", [ValueError("broken"), asyncio.CancelledError(), asyncio.TimeoutError()]
)
def test_an_approver_that_raises_does_not_allow_the_call(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def approver(_call: ToolCall, _contract: FunctionContract) -> bool:
        raise error

    async def asynchronous(_call: ToolCall, _contract: FunctionContract) -> bool:
        raise error

    for each in (approver, asynchronous):
        record = ask(each)
        assert (record.outcome, record.allowed) == ("error", False)
        # The details are logged and not shown to the model.
        assert record.reason == "the approver failed"
    assert "an approver raised" in caplog.messages


def test_without_an_approver_calls_are_not_allowed() -> None:
    record = ask(None)
    assert (record.outcome, record.allowed) == ("missing_approver", False)
    assert record.reason == "there is nobody to approve it"


def test_an_approver_that_times_out_does_not_allow_the_call_even_if_it_still_answers() -> None:
    go = threading.Event()

    def blocking(_call: ToolCall, _contract: FunctionContract) -> bool:
        return go.wait(10)

    async def stubborn(_call: ToolCall, _contract: FunctionContract) -> bool:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            return True
        return True

    for approver in (blocking, stubborn):
        record = ask(approver, timeout=0.01)
        assert (record.outcome, record.allowed) == ("timeout", False)
        assert record.reason == "nobody decided within 0.01 seconds"
    go.set()


def test_a_blocking_approver_does_not_block_the_loop() -> None:
    async def main() -> None:
        go = threading.Event()
        deciding = asyncio.ensure_future(
            decide(lambda _call, _contract: go.wait(10), call(), CONTRACT)
        )
        for _ in range(10):
            await asyncio.sleep(0)
        assert not deciding.done()
        go.set()
        assert (await deciding).allowed

    run(main())


def test_an_approver_sees_the_context_of_the_call() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")

    async def main() -> None:
        user.set("ada")
        record = await decide(lambda _call, _contract: user.get() == "ada", call(), CONTRACT)
        assert record.allowed

    run(main())


def test_an_approver_is_shown_the_call_and_its_contract() -> None:
    seen: list[Any] = []

    def approver(shown: ToolCall, contract: FunctionContract) -> bool:
        seen.append((shown, contract))
        return True

    ask(approver)
    assert seen == [(call(), CONTRACT)]


def test_a_call_that_is_modified_during_approval_runs_as_it_was_shown() -> None:
    original = call()

    def approver(_call: ToolCall, _contract: FunctionContract) -> bool:
        original.arguments["options"]["force"] = True
        original.arguments["path"] = "everything"
        return True

    record = run(decide(approver, original, CONTRACT))
    assert record.allowed
    assert record.call == call()
    assert original != call()


def test_an_approver_that_modifies_the_arguments_does_not_allow_the_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def approver(shown: ToolCall, _contract: FunctionContract) -> bool:
        shown.arguments["options"]["force"] = 0
        return True

    record = ask(approver)
    assert (record.outcome, record.allowed) == ("error", False)
    assert record.call == call()
    assert "an approver changed the arguments of a call" in caplog.messages


def test_the_call_that_runs_is_a_copy_of_the_approved_one() -> None:
    kept: list[ToolCall] = []

    def approver(shown: ToolCall, _contract: FunctionContract) -> bool:
        kept.append(shown)
        return True

    record = ask(approver)
    kept[0].arguments["path"] = "everything"
    assert record.call == call()


@pytest.mark.parametrize("kind", ["async", "sync"])
def test_cancelling_the_caller_cancels_the_approver(kind: str) -> None:
    go = threading.Event()
    left: list[str] = []

    async def waits(_call: ToolCall, _contract: FunctionContract) -> bool:
        try:
            await asyncio.sleep(10)
        finally:
            left.append("left")
        return True

    def blocks(_call: ToolCall, _contract: FunctionContract) -> bool:
        return go.wait(10)

    async def main() -> None:
        approver = waits if kind == "async" else blocks
        deciding = asyncio.ensure_future(decide(approver, call(), CONTRACT))
        await asyncio.sleep(0.01)
        deciding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await deciding
        assert left == (["left"] if kind == "async" else [])
        assert asyncio.all_tasks() == {asyncio.current_task()} | {
            task for task in asyncio.all_tasks() if "limited" in repr(task)
        }
        go.set()

    run(main())


def test_every_decision_is_logged_without_the_arguments(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "toolweave")
    ask(lambda _call, _contract: Approval.deny("no"))
    (record,) = package_records(caplog)
    assert (record.name, record.getMessage()) == (
        "toolweave.executor",
        "approval of a call: denied",
    )
    assert vars(record)["outcome"] == "denied"
    assert vars(record)["tool_call_id"] == "call_0"
    assert "notes.txt" not in str(vars(record))
