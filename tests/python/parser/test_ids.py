"""Ids from an `id_factory`: calls have unique ids, whatever it returns."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolweave as tw
from executor_events import call
from parser_replies import TOOLS, source
from toolweave.executor import ToolExecutor
from toolweave.natural import NaturalToolUse, NaturalToolUseParser
from toolweave.testing import ScriptedModel
from virtual_time import run

PING = "<Ping>{}</Ping>"
PING_TOOL: dict[str, Any] = {"name": "Ping", "parameters": {"type": "object", "properties": {}}}
IDS = st.lists(st.sampled_from(["", "a", "b", "call_0", "call_2", "a#2", "\ud800", "x\udfffy"]))


def ids_of(events: Any) -> list[str]:
    return [event.id for event in events if isinstance(event, (tw.ToolCall, tw.InvalidToolCall))]


def check(ids: list[str], given: list[str], count: int) -> None:
    """Check that there is a unique str for each call, and that valid ids are used."""
    assert len(ids) == count
    assert len(set(ids)) == count
    for number, found in enumerate(ids):
        assert found
        found.encode()
        wanted = given[number] if number < len(given) else ""
        fits = wanted and wanted.isprintable() and wanted not in ids[:number]
        assert (found == wanted) == bool(fits)


@given(returned=IDS, count=st.integers(0, 8))
def test_calls_have_unique_ids_for_any_factory(returned: list[str], count: int) -> None:
    def factory(index: int) -> str:
        return returned[index] if index < len(returned) else ""

    reply = f"a{PING}" * count
    events = tw.parse(reply, TOOLS, id_factory=factory)
    assert source(events) == reply
    check(ids_of(events), returned, count)

    parser = tw.Parser(TOOLS, id_factory=factory)
    # The ids of one reply do not affect the next.
    for _ in range(2):
        chunks = [*(event for chunk in reply for event in parser.push(chunk)), *parser.finish()]
        assert ids_of(chunks) == ids_of(events)
    reader = tw.UpdateReader(tw.Parser(TOOLS), call_ids=factory)
    read = [*reader.push(tw.TextDelta(reply)), *reader.finish(truncated=False)]
    assert ids_of(read) == ids_of(events)


@given(returned=IDS, count=st.integers(0, 8))
def test_the_executor_assigns_missing_ids(returned: list[str], count: int) -> None:
    def factory(position: int) -> str:
        return returned[position] if position < len(returned) else ""

    async def main() -> None:
        executor = ToolExecutor(id_factory=factory)
        aggregate = await executor.execute([tw.ToolCall("", "Ping", {}) for _ in range(count)])
        ids = [call.id for call in aggregate.tool_calls]
        assert len(set(ids)) == len(ids) == count
        assert all(ids)
        assert ids == [result.tool_call_id for result in aggregate.tool_results]
        tw.to_openai([aggregate])

    run(main())


@pytest.mark.parametrize(("returned", "logged"), [("", "''"), ("\udc00", "'\\udc00'")])
def test_an_invalid_id_is_replaced_with_a_warning(
    returned: str, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    def factory(_: int) -> str:
        return returned

    with caplog.at_level(logging.WARNING, "toolweave"):
        tw.parse(PING, TOOLS, id_factory=factory)
        run(ToolExecutor(id_factory=factory).execute([call("Ping", call_id="")]))
    assert [record.name for record in caplog.records] == ["toolweave.parser", "toolweave.executor"]
    for record in caplog.records:
        assert "id_factory must return" in record.getMessage()
        assert vars(record)["returned"] == logged
        assert vars(record)["tool_call_id"] == "call_0"


def test_a_repeated_id_is_replaced_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "toolweave"):
        events = tw.parse(PING * 3, TOOLS, id_factory=lambda _: "same")
    assert ids_of(events) == ["same", "call_1", "call_2"]
    assert [vars(record)["returned"] for record in caplog.records] == ["'same'"] * 2


def test_a_call_found_by_a_fallback_has_a_valid_id() -> None:
    async def main() -> None:
        parser = NaturalToolUseParser(
            ScriptedModel("Let me ping."),
            [PING_TOOL],
            fallback=ScriptedModel('{"name": "Ping", "arguments": {}}'),
            rewrite_plain_replies=True,
            id_factory=lambda _: "\ud800",
        )
        events = [event async for event in parser.stream("Ping!")]
        assert ids_of(events) == ["call_0"]

    asyncio.run(main())


def test_a_reply_with_repeated_ids_runs_completely() -> None:
    async def main() -> None:
        use = NaturalToolUse(
            ScriptedModel(f"One {PING}, two {PING}."),
            [PING_TOOL],
            handlers={"Ping": lambda: "pong"},
            id_factory=lambda _: "",
        )
        messages = await use.complete("Ping twice.")
        texts = [each.text for each in messages if isinstance(each, tw.TextMessage)]
        assert texts == ["One ", ", two ", "."]
        aggregates = [each for each in messages if isinstance(each, tw.ToolAggregateMessage)]
        results = [result.result for each in aggregates for result in each.tool_results]
        assert results == ["pong", "pong"]

    asyncio.run(main())
