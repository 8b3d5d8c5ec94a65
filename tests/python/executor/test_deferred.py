"""Deferred results: resolved once, from any thread or process, and after a restart."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave import ErrorCode, ToolAggregateMessage, ToolCall, ToolResult
from toolweave.exceptions import ResultError, SchemaError, ValidationError
from toolweave.executor._deferred import (
    METADATA,
    Deferred,
    DeferredResults,
    PendingResult,
    Resolution,
)
from toolweave.kinds import Outcome

T = TypeVar("T")

BOOK = ToolCall("call_0", "book", {"table": 4})
PAY = ToolCall("call_1", "pay", {"amount": 20.5})


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a test with a timeout."""

    async def limited() -> T:
        return await asyncio.wait_for(coroutine, 10)

    return asyncio.run(limited())


def restarted(results: DeferredResults) -> DeferredResults:
    """Return a copy restored from its serialized form."""
    return DeferredResults.from_dict(json.loads(json.dumps(results.to_dict())))


def test_a_key_is_resolved_once() -> None:
    results = DeferredResults()
    assert results.add(BOOK, "booking") == "booking"
    assert results.result_of("booking") is None
    assert results.resolve("booking", {"at": "20:00"}) is Outcome.RESOLVED
    assert results.resolve("booking", {"at": "20:00"}) is Outcome.DUPLICATE
    assert results.resolve("booking", {"at": "21:00"}) is Outcome.CONFLICT
    assert results.resolve("booking", {"at": "20:00"}, is_error=True) is Outcome.CONFLICT
    assert results.resolve("nothing", 1) is Outcome.NOT_FOUND
    assert results.result_of("booking") == Resolution({"at": "20:00"})


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, 1.0), (0, None), ([], {})])
def test_results_that_are_equal_in_python_may_conflict(one: object, other: object) -> None:
    results = DeferredResults()
    key = results.add(BOOK)
    results.resolve(key, one)
    assert results.resolve(key, one) is Outcome.DUPLICATE
    assert results.resolve(key, other) is Outcome.CONFLICT


def test_a_default_key_comes_from_the_call_id_and_is_unique() -> None:
    results = DeferredResults()
    assert Deferred().key is None
    assert [results.add(BOOK), results.add(BOOK), results.add(PAY)] == [
        "call_0",
        "call_0#2",
        "call_1",
    ]
    results.resolve("call_0", 1)
    assert results.add(BOOK) == "call_0#3"


def test_the_error_for_a_key_in_use_names_its_call() -> None:
    results = DeferredResults()
    results.add(BOOK, "k")
    with pytest.raises(ValueError, match="got 'k', which belongs to call 'call_0' of tool 'book'"):
        results.add(PAY, "k")
    results.resolve("k", 1)
    with pytest.raises(ValueError, match="got 'k', which belongs to call"):
        results.add(PAY, "k")


def test_a_pending_result_has_all_its_fields() -> None:
    results = DeferredResults()
    results.add(BOOK, "a", note="the kitchen calls back")
    results.add(PAY, "b", question="Which card?", schema={"enum": ["red", "blue"]})
    assert results.pending == (
        PendingResult("a", BOOK, "the kitchen calls back"),
        PendingResult("b", PAY, None, "Which card?", {"enum": ["red", "blue"]}),
    )
    results.resolve("a", 1)
    assert [entry.key for entry in results.pending] == ["b"]


def test_an_invalid_answer_is_rejected_and_stays_pending() -> None:
    results = DeferredResults()
    results.add(PAY, "card", question="Which card?", schema={"enum": ["red", "blue"]})
    with pytest.raises(ValidationError, match="green"):
        results.resolve("card", "green")
    assert results.result_of("card") is None
    assert results.resolve("card", "red") is Outcome.RESOLVED


def test_an_error_answer_need_not_match_the_schema() -> None:
    results = DeferredResults()
    results.add(PAY, "card", question="Which card?", schema={"type": "integer"})
    assert results.resolve("card", "none of your business", is_error=True) is Outcome.RESOLVED


def test_a_question_with_an_invalid_schema_is_not_asked() -> None:
    results = DeferredResults()
    with pytest.raises(SchemaError):
        results.add(PAY, question="Which card?", schema={"type": "card"})
    assert results.pending == ()


def test_a_result_that_is_not_json_is_rejected_and_stays_pending() -> None:
    results = DeferredResults()
    key = results.add(BOOK)
    with pytest.raises(ResultError, match="/table is of the type object"):
        results.resolve(key, {"table": object()})
    assert results.resolve(key, (1, 2)) is Outcome.RESOLVED
    assert results.result_of(key) == Resolution([1, 2])


def test_subsequent_changes_to_a_resolved_value_have_no_effect() -> None:
    results = DeferredResults()
    call = ToolCall("call_0", "book", {"tables": [4]})
    rows, schema = [1], {"type": "array", "items": {"type": "integer"}}
    key = results.add(call, question="Which?", schema=schema)
    results.resolve(key, rows)
    before = results.to_dict()
    rows.append(2)
    call.arguments["tables"].append(5)
    schema["items"]["type"] = "string"  # type: ignore[index]
    assert results.to_dict() == before
    before["entries"][0]["result"]["value"].append(3)
    before["entries"][0]["call"]["arguments"]["tables"].append(6)
    assert results.result_of(key) == Resolution([1])
    assert results.to_dict()["entries"][0]["call"]["arguments"] == {"tables": [4]}


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b", "c"]),
            st.sampled_from([None, "k", "l"]),
            st.none() | st.sampled_from([0, "x", {"y": [1.5]}]),
            st.booleans(),
        ),
        max_size=8,
    )
)
def test_a_restart_preserves_all_entries(story: list[Any]) -> None:
    results = DeferredResults()
    for name, wish, result, is_error in story:
        call = ToolCall(f"id_{name}", name, {"x": name})
        if wish in [entry["key"] for entry in results.to_dict()["entries"]]:
            wish = None
        key = results.add(call, wish, note=name, question=name, schema={"minLength": 0})
        if result is not None:
            results.resolve(key, result, is_error=is_error)
    again = restarted(results)
    assert again.to_dict() == results.to_dict()
    assert again.pending == results.pending
    for entry in results.to_dict()["entries"]:
        assert again.result_of(entry["key"]) == results.result_of(entry["key"])


def test_a_result_may_be_delivered_in_another_process() -> None:
    results = DeferredResults()
    results.add(BOOK, "booking")
    program = (
        "import json, sys\n"
        "from toolweave.executor._deferred import DeferredResults\n"
        "results = DeferredResults.from_dict(json.load(sys.stdin))\n"
        "assert results.resolve('booking', {'at': '20:00'}) == 'resolved'\n"
        "json.dump(results.to_dict(), sys.stdout)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(results.to_dict()),
        check=True,
        capture_output=True,
        text=True,
    )
    back = DeferredResults.from_dict(json.loads(done.stdout))
    assert back.pending == ()
    assert back.result_of("booking") == Resolution({"at": "20:00"})


@pytest.mark.parametrize(
    "fields", [{}, {"entries": [{}]}, {"entries": 7}, {"entries": [{"key": "k", "call": {}}]}]
)
def test_loading_invalid_data_is_an_error(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be the output of DeferredResults"):
        DeferredResults.from_dict(fields)


def test_a_waiter_receives_a_result_from_another_thread() -> None:
    async def main() -> None:
        results = DeferredResults()
        key = results.add(BOOK)
        waiting = [asyncio.ensure_future(results.wait(key)) for _ in range(3)]
        await asyncio.sleep(0)
        thread = threading.Thread(target=results.resolve, args=(key, "done"))
        thread.start()
        assert await asyncio.gather(*waiting) == [Resolution("done")] * 3
        thread.join()
        assert await results.wait(key) == Resolution("done")

    run(main())


def test_of_many_threads_that_resolve_a_key_exactly_one_succeeds() -> None:
    results = DeferredResults()
    for _ in range(50):
        key = results.add(BOOK)
        together = threading.Barrier(4)
        outcomes: list[Outcome] = []

        def resolve(value: int, key: str = key, barrier: threading.Barrier = together) -> None:
            barrier.wait(10)
            outcomes.append(results.resolve(key, value))  # noqa: B023 - joined in its round

        threads = [threading.Thread(target=resolve, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert sorted(outcomes) == [Outcome.CONFLICT] * 3 + [Outcome.RESOLVED]


def test_a_cancelled_waiter_is_removed() -> None:
    async def main() -> None:
        results = DeferredResults()
        key = results.add(BOOK)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(results.wait(key), 0.001)
        assert results.resolve(key, 1) is Outcome.RESOLVED

    run(main())


def test_a_waiter_on_a_closed_loop_does_not_prevent_resolving() -> None:
    results = DeferredResults()
    key = results.add(BOOK)
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(results.wait(key))
    loop.run_until_complete(asyncio.sleep(0))
    waiting.cancel()
    loop.close()
    assert results.resolve(key, 1) is Outcome.RESOLVED
    waiting.get_coro().close()
    waiting._log_destroy_pending = False  # type: ignore[attr-defined]


def test_waiting_for_an_unknown_key_is_an_error() -> None:
    with pytest.raises(KeyError, match="nothing"):
        run(DeferredResults().wait("nothing"))


def test_a_discarded_key_is_unknown() -> None:
    async def main() -> None:
        results = DeferredResults()
        key = results.add(BOOK)
        waiting = asyncio.ensure_future(results.wait(key))
        await asyncio.sleep(0)
        results.discard(key)
        with pytest.raises(KeyError, match="call_0"):
            await waiting
        assert results.resolve(key, 1) is Outcome.NOT_FOUND
        results.discard("never there")
        assert results.add(BOOK) == key

    run(main())


def aggregate(**fields: Any) -> ToolAggregateMessage:
    done = ToolCall("call_2", "add", {})
    result = ToolResult("call_2", "add", "3", duration=0.1)
    return ToolAggregateMessage([BOOK, PAY, done], [result], **fields)


def test_delivered_results_are_merged_in_call_order() -> None:
    results = DeferredResults()
    book, pay = results.add(BOOK), results.add(PAY)
    pending = aggregate(id="m1", chat_id="c1")
    assert results.merge_results(pending) is pending
    results.resolve(pay, "no money", is_error=True)
    half = results.merge_results(pending)
    assert [result.tool_call_id for result in half.tool_results] == ["call_1", "call_2"]
    assert half.tool_results[0] == ToolResult(
        "call_1", "pay", "no money", is_error=True, error_code=ErrorCode.TOOL_ERROR
    )
    results.resolve(book, {"confirmed": True})
    whole = restarted(results).merge_results(half)
    assert [result.result for result in whole.tool_results] == [
        '{"confirmed":true}',
        "no money",
        "3",
    ]
    assert whole.tool_results[0].value == {"confirmed": True}
    assert (whole.id, whole.chat_id, whole.tool_calls) == ("m1", "c1", pending.tool_calls)
    assert results.merge_results(whole) is whole


def test_a_long_deferred_result_is_truncated() -> None:
    results = DeferredResults()
    results.resolve(results.add(BOOK), "x" * 100)
    merged = results.merge_results(aggregate(), max_result_chars=10)
    assert merged.tool_results[0].result.startswith("x" * 10 + "\n[truncated: 90 of 100")


def test_a_result_goes_to_the_reply_whose_metadata_has_its_key() -> None:
    # Two replies with the same call and the same id, as models without ids produce them.
    results = DeferredResults()
    first, second = results.add(BOOK), results.add(BOOK)
    results.resolve(first, "one")
    results.resolve(second, "two")
    for key, text in ((first, "one"), (second, "two")):
        reply = ToolAggregateMessage([BOOK], [], metadata={METADATA: {"call_0": key}})
        assert results.merge_results(reply).tool_results[0].result == text


def test_without_metadata_a_result_goes_to_the_same_call_only() -> None:
    results = DeferredResults()
    results.resolve(results.add(BOOK), "one")
    other = ToolAggregateMessage([ToolCall("call_0", "book", {"table": 5})], [])
    assert results.merge_results(other) is other


def test_an_answer_to_a_question_is_not_merged_as_a_result() -> None:
    results = DeferredResults()
    results.resolve(results.add(BOOK, question="Which table?"), "the red one")
    pending = aggregate()
    assert results.merge_results(pending) is pending
