"""Tests of batched requests on any loop, in any thread, and with refused parameters."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from coroutine_tests import TEST_TIMEOUT, on_a_loop
from sample_selections import ITEMS, named, tools
from servers.dialects import delta
from servers.scorers import refused, scored, scoring
from servers.sse import Answer, serving
from toolweave import SelectionPolicy, ToolSelector, UsageUpdate
from toolweave._core import HttpBatch, HttpWakeup
from toolweave.kinds import FinishReason
from toolweave.models._conversation import as_messages
from toolweave.models.http import HttpModel
from toolweave.models.http._batch import BatchResult, RequestBatch
from toolweave.selection import CallLimiter, as_scorer
from toolweave.selection._model import ModelScorer, NativeScorer
from tracing_spans import exporter
from virtual_time import run

EACH = SelectionPolicy(strategy="each", prefilter=None)


def test_a_model_with_its_own_stream_method_is_called_through_it() -> None:
    class Own(HttpModel):
        def stream(self, *args: Any, **kwargs: Any) -> Any:
            return super().stream(*args, **kwargs)

    assert type(as_scorer(Own("http://127.0.0.1/v1", "m"))) is ModelScorer
    plain = as_scorer(HttpModel("http://127.0.0.1/v1", "m"))
    assert (type(plain), plain.name) == (NativeScorer, "m")


@on_a_loop
async def test_replies_received_while_the_loop_is_busy_are_taken_together() -> None:
    wakeup = HttpWakeup()
    try:
        async with scoring() as served, HttpModel(served.url, "m") as model:
            endpoint = model.endpoint
            batch = HttpBatch(endpoint.client, wakeup)
            for number, name in enumerate("abc"):
                request = endpoint.request(as_messages(f"<{name}>"), (), None)
                batch.start(number, endpoint.url, endpoint.headers(None), endpoint.body(request))
            await served.until_open("a", "b", "c")
            for number, name in enumerate("cab"):
                served.answer(name, scored(20))
                # The server is on this loop, but nothing reads the wakeup.
                for _ in range(10_000):
                    if batch.in_flight == 2 - number:
                        break
                    await asyncio.sleep(0.001)
            assert wakeup.ready_keys(9) == [batch.key]
            assert sorted(ended[0] for ended in batch.take()) == [0, 1, 2]
            assert (batch.take(), wakeup.ready_keys(9)) == ([], [])
    finally:
        wakeup.close()


@on_a_loop
async def test_a_stopped_request_reports_no_outcome() -> None:
    notified = asyncio.Event()
    async with scoring() as served, HttpModel(served.url, "m") as model:
        batch = RequestBatch(model.endpoint, notified.set)
        batch.start(1, as_messages("<a>"))
        batch.start(2, as_messages("<b>"))
        await served.until_open("a", "b")
        batch.stop(1)
        batch.stop(1)
        await served.until_left("a")
        served.answer("b", scored("Hm."))
        await asyncio.wait_for(notified.wait(), TEST_TIMEOUT)
        assert batch.take() == [
            BatchResult(2, "Hm.", FinishReason.STOP, UsageUpdate(7, 5, 2), None)
        ]
        await batch.aclose()
        await batch.aclose()


class Proactor(asyncio.SelectorEventLoop):
    """Loop that cannot watch sockets, like the proactor loop on Windows."""

    def add_reader(self, *_: Any) -> None:  # type: ignore[override]
        raise NotImplementedError


def test_a_loop_that_cannot_watch_sockets_still_receives_replies() -> None:
    async def main() -> None:
        limiter = CallLimiter(3)
        async with scoring() as served, HttpModel(served.url, "m") as model:
            for _ in range(3):
                selector = ToolSelector(tools(*"abcde"), model, EACH, limiter=limiter, cache_ttl=0)
                task = asyncio.create_task(selector.select("x"))
                for count in (20, 30, 95):
                    await served.until(lambda: len(served.open) == 3)
                    served.answer(next(iter(served.open)), scored(count))
                selection = await asyncio.wait_for(task, TEST_TIMEOUT)
                assert (selection.score, selection.calls, limiter.free) == (95, 5, 3)
                await served.until(lambda: not served.open)

    run(main(), Proactor())


@on_a_loop
async def test_parameters_rejected_by_a_server_are_omitted_from_then_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def answer(request: dict[str, Any]) -> Answer:
        if "stream_options" in request["body"]:
            _, kind, pieces = refused(400, "Unknown parameter: stream_options.")
            return Answer(pieces, 400, kind)
        return Answer(scored(20)[2])

    async with serving(answer) as served, HttpModel(f"{served.url}/v1", "m") as model:
        for asked in (4, 6):
            selection = await ToolSelector(tools("a", "b"), model, EACH).select("x")
            assert [one.score for one in selection.ranking] == [20, 20]
            assert (selection.calls, len(served.requests)) == (2, asked)
    [record] = [record for record in caplog.records if record.name == "toolweave.models"]
    assert record.getMessage() == "m refuses stream_options; asked without"


@on_a_loop
async def test_a_failing_key_function_is_an_error_of_the_tools() -> None:
    def key() -> str:
        raise OSError("the vault is shut")

    limiter = CallLimiter(1)
    async with scoring() as served, HttpModel(served.url, "m", key) as model:
        selector = ToolSelector(tools("a", "b", "search"), model, EACH, limiter=limiter)
        selection = await selector.select("x")
        assert [one.error for one in selection.ranking] == ["OSError: the vault is shut"] * 3
    assert (selection.fallback, limiter.free, served.asked) == (True, 1, [])


@on_a_loop
async def test_base_exceptions_are_raised() -> None:
    class Interrupt(BaseException):
        pass

    def key() -> str:
        raise Interrupt

    limiter = CallLimiter(2)
    async with HttpModel("http://127.0.0.1:9/v1", "m", key) as model:
        with pytest.raises(Interrupt):
            await ToolSelector(tools("a", "b", "c"), model, EACH, limiter=limiter).select("x")
    assert limiter.free == 2


@pytest.mark.parametrize(
    ("ending", "how"),
    [([], "without a finish reason"), ([delta("abort")], "with the finish reason 'abort'")],
)
@on_a_loop
async def test_a_reply_without_a_known_finish_reason_is_cut_off_and_logged(
    ending: list[bytes], how: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        serving(Answer([delta(content=named("search")), *ending])) as served,
        HttpModel(f"{served.url}/v1", "m") as model,
    ):
        selection = await ToolSelector(ITEMS, model).select("x")
    assert selection.errors[0].error == "ModelError: the reply was cut off (missing)"
    messages = [record.getMessage() for record in caplog.records]
    assert f"reply of m ended {how}; it is taken as cut off" in messages


@on_a_loop
async def test_every_request_is_a_child_span_of_the_selection() -> None:
    exporter().clear()
    policy = SelectionPolicy(strategy="each", max_concurrency=2)
    async with scoring() as served, HttpModel(served.url, "m", max_retries=0) as model:
        task = asyncio.create_task(ToolSelector(tools(*"abc"), model, policy).select("a secret"))
        await served.until_open(*"ab")
        served.answer("a", refused(500))
        # The third request starts once the first has ended.
        await served.until_open(*"bc")
        served.answer("b", scored(95))
        await asyncio.wait_for(task, TEST_TIMEOUT)
    *chats, select = exporter().get_finished_spans()
    assert (select.name, [chat.name for chat in chats]) == ("select_tool Thing", ["chat m"] * 3)
    for chat in chats:
        assert chat.parent is not None
        assert chat.parent.span_id == select.context.span_id
        assert "secret" not in chat.to_json()
    failures = [str((chat.attributes or {}).get("error.type")) for chat in chats]
    assert {failure.rpartition(".")[2] for failure in failures} == {
        "None",
        "ModelError",
        "CancelledError",
    }
    [whole] = [
        chat.attributes or {} for chat in chats if not (chat.attributes or {}).get("error.type")
    ]
    assert whole["gen_ai.response.finish_reasons"] == ("stop",)
    assert whole["gen_ai.usage.input_tokens"] == 7


def test_one_model_selects_on_several_loops_at_once_and_one_after_another() -> None:
    limiter = CallLimiter(4)
    found: list[int] = []

    async def main(model: HttpModel) -> int:
        selector = ToolSelector(tools(*"abcdef"), model, EACH, limiter=limiter, cache_ttl=0)
        made = [selector.select(str(number)) for number in range(3)]
        return sum(
            selection.calls - len(selection.errors) for selection in await asyncio.gather(*made)
        )

    async def serve(ready: Callable[[str], None], over: threading.Event) -> None:
        async with serving(Answer(scored(20)[2])) as served:
            ready(f"{served.url}/v1")
            await asyncio.to_thread(over.wait, TEST_TIMEOUT)

    over = threading.Event()
    there = threading.Event()
    urls: list[str] = []

    def ready(url: str) -> None:
        urls.append(url)
        there.set()

    def work(model: HttpModel) -> None:
        found.extend(asyncio.run(main(model)) for _ in range(3))

    serving_thread = threading.Thread(target=lambda: asyncio.run(serve(ready, over)))
    serving_thread.start()
    try:
        assert there.wait(TEST_TIMEOUT)
        model = HttpModel(urls[0], "m")
        threads = [threading.Thread(target=work, args=(model,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(TEST_TIMEOUT)
        asyncio.run(model.aclose())
    finally:
        over.set()
        serving_thread.join(TEST_TIMEOUT)
    assert (found, limiter.free) == ([18] * 9, 4)
