"""Contract of `ChatModel`, for every adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from servers.adapters import ADAPTERS, QUIET, USAGE, Asked, Reply
from servers.model_answers import HI, read
from toolweave import FinishUpdate, FunctionContract, Joiner, TextDelta, TextMessage, UsageUpdate
from toolweave.models import as_model, closing, complete

pytestmark = [pytest.mark.filterwarnings(line) for line in QUIET]

each_adapter = pytest.mark.parametrize("name", ADAPTERS)
# A function returns or yields text: it has no calls, and cannot report truncation.
each_with_updates = pytest.mark.parametrize(
    "name", [name for name in ADAPTERS if name != "function"]
)

ADD = FunctionContract("Add", "Adds.", {"type": "object"})


def answering(
    name: str, reply: Reply | Callable[[str], Reply]
) -> AbstractAsyncContextManager[Asked]:
    return ADAPTERS[name](reply if callable(reply) else lambda _: reply)


@each_adapter
def test_a_reply_has_its_text_its_usage_and_one_end_that_is_last(name: str) -> None:
    pieces = ["Hel", "lo", " wörld ", "🌍", "\n\n", "<a & b>"]

    async def main() -> None:
        async with answering(name, Reply(pieces)) as asked:
            came = await read(asked.model)
        assert came.error is None
        texts = [update.text for update in came.updates if isinstance(update, TextDelta)]
        # `HttpModel` joins unread deltas.
        assert texts == pieces if name != "http" else came.text == "".join(pieces)
        ends = [update for update in came.updates if isinstance(update, FinishUpdate)]
        assert ends == [came.updates[-1]] == [FinishUpdate("stop")]
        used = [update for update in came.updates if isinstance(update, UsageUpdate)]
        assert used[-1:] == ([] if name == "function" else [USAGE])

    asyncio.run(main())


texts = st.text('ab"\\<{}é🌍 \n\u2028', min_size=1, max_size=8)


@each_adapter
@settings(max_examples=effort(3))
@given(st.lists(st.lists(texts, max_size=6), min_size=8, max_size=8))
def test_text_comes_whole_whatever_is_in_it(name: str, replies: list[list[str]]) -> None:
    by_prompt = {str(number): pieces for number, pieces in enumerate(replies)}

    async def main() -> None:
        async with answering(name, lambda text: Reply(by_prompt.get(text, ()))) as asked:
            for prompt, pieces in by_prompt.items():
                came = await read(asked.model, [TextMessage(prompt)])
                assert (came.text, came.error) == ("".join(pieces), None)

    asyncio.run(main())


@each_with_updates
def test_a_stream_that_ends_without_a_reason_is_taken_as_cut_off(name: str) -> None:
    async def main() -> None:
        async with answering(name, Reply(["Well"], end="missing")) as asked:
            came = await read(asked.model)
        assert (came.text, came.error) == ("Well", None)
        assert came.updates[-1] == FinishUpdate("missing")

    asyncio.run(main())


@each_with_updates
@pytest.mark.parametrize("end", ["missing", "cut"])
def test_a_call_that_was_cut_off_is_never_a_whole_one(name: str, end: str) -> None:
    async def main() -> None:
        async with answering(name, Reply(call='{"a": 1, "b"', end=end)) as asked:
            came = await read(asked.model, tools=[ADD])
        joiner = Joiner()
        for update in came.updates:
            joiner.push(update)
        joined = joiner.finish()
        assert not any(hasattr(message, "tool_calls") for message in joined.messages)
        assert [problem.kind for problem in joined.problems] == ["unclosed"]
        assert (came.error is None) is (end == "missing")

    asyncio.run(main())


@each_adapter
def test_updates_before_an_interruption_are_yielded(name: str) -> None:
    async def main() -> None:
        async with answering(name, Reply(["One ", "two "], end="cut")) as asked:
            came = await read(asked.model)
        assert came.text == "One two "
        assert came.error is not None
        assert came.error.status is None
        assert not any(isinstance(update, FinishUpdate) for update in came.updates)

    asyncio.run(main())


async def first(stream: Any) -> str:
    """Return the first word of a stream."""
    while not isinstance(update := await anext(stream), TextDelta):
        pass
    # `HttpModel` joins unread deltas.
    return update.text.partition(" ")[0]


@each_adapter
@pytest.mark.parametrize("how", ["closed", "dropped"])
def test_the_server_notices_when_the_reader_stops(name: str, how: str) -> None:
    async def main() -> None:
        async with answering(name, Reply(["One ", "two "], end="hold")) as asked:
            stream = asked.model.stream(HI)
            assert await first(stream) == "One"
            if how == "closed":
                async with closing(stream):
                    pass
            del stream
            await asked.left()

    asyncio.run(main())


@each_adapter
def test_the_server_notices_when_the_reader_is_cancelled(name: str) -> None:
    async def main() -> None:
        async with answering(name, Reply(["One "], end="hold")) as asked:
            came = asyncio.Event()

            async def read_on() -> None:
                async for update in asked.model.stream(HI):
                    if isinstance(update, TextDelta):
                        came.set()

            task = asyncio.create_task(read_on())
            await came.wait()
            await asyncio.sleep(0.01)  # so that it waits for data that does not arrive
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await asked.left()

    asyncio.run(main())


@each_adapter
def test_a_model_answers_again_after_replies_that_broke_or_were_left(name: str) -> None:
    replies = {"0": Reply(["One "], end="cut"), "1": Reply(["Two "], end="hold")}

    async def main() -> None:
        async with answering(name, lambda text: replies.get(text, Reply(["Three"]))) as asked:
            assert (await read(asked.model, [TextMessage("0")])).error is not None
            async with closing(asked.model.stream([TextMessage("1")])) as stream:
                assert await first(aiter(stream)) == "Two"
            assert (await read(asked.model, [TextMessage("2")])).text == "Three"

    asyncio.run(main())


@each_adapter
def test_one_model_holds_fifty_conversations_at_once(name: str) -> None:
    def reply_to(text: str) -> Reply:
        return Reply([f"{text}:", *(f" {piece}" for piece in range(5)), f" end of {text}"])

    async def main() -> None:
        async with answering(name, reply_to) as asked:
            prompts = [str(number) for number in range(50)]
            replies = await asyncio.gather(*(complete(asked.model, prompt) for prompt in prompts))
        for prompt, reply in zip(prompts, replies, strict=True):
            assert reply.messages[0] == TextMessage(
                "".join(reply_to(prompt).pieces), role="assistant"
            )
            assert (reply.finish_reason, reply.problems) == ("stop", ())

    asyncio.run(main())


@each_adapter
def test_a_model_has_a_name_and_a_provider(name: str) -> None:
    async def main() -> None:
        async with answering(name, Reply()) as asked:
            model = asked.model
        assert as_model(model) is model
        assert isinstance(model.name, str)
        assert isinstance(getattr(model, "provider", "unknown"), str)
        assert model.native_tools is (name != "function")

    asyncio.run(main())
