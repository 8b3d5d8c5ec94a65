"""Tests of the class that replaces NLWeb's own, with handlers like NLWeb's."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler_registries import Registry
from nlweb_site import COMPARE, DETAILS, SEARCH, Handler, Scores, tool
from toolweave import ToolRegistry
from toolweave._core import ToolEntry
from toolweave.nlweb import RoutedTool, make_selector
from toolweave.selection import SelectionPolicy

WAIT = 10.0
TOOLS = (SEARCH, DETAILS, COMPARE)


async def routed_handler(handler: Handler, scorer: Any, *tools: Any, **options: Any) -> Handler:
    registry = Registry(options.pop("handlers", {}), tools or TOOLS)
    selector = make_selector(registry, scorer, **options)(handler)
    await selector.do()
    return handler


def route(scorer: Any, *tools: Any, handler: Handler | None = None, **options: Any) -> Handler:
    """Return a handler whose query was routed."""
    handler = Handler() if handler is None else handler
    return asyncio.run(routed_handler(handler, scorer, *tools, **options))


def results(handler: Handler) -> list[tuple[str, float, dict[str, Any]]]:
    return [
        (each["tool"].name, each["score"], each["result"]) for each in handler.tool_routing_results
    ]


def test_the_selected_tool_is_where_nlweb_reads_it() -> None:
    handler = route(Scores(search=60, details={"score": 85, "item_name": "Pad Thai"}))
    [best] = handler.tool_routing_results
    chosen: RoutedTool = best["tool"]
    assert best["result"] == {"score": 85, "item_name": "Pad Thai"}
    assert best["score"] == 85
    assert type(best["score"]) is int
    assert (chosen.name, chosen.schema_type) == ("details", "Recipe")
    assert chosen.handler_class == "nlweb_site.Details"
    assert chosen.prompt == DETAILS.prompt
    assert chosen.return_structure == DETAILS.return_struc
    assert (chosen.path, chosen.method, dict(chosen.arguments)) == ("", "", {})
    assert list(chosen.examples) == []
    assert handler.abort_fast_track_event.is_set()
    assert handler.state.started == handler.state.done == ["ToolSelector"]


def test_the_selection_message_equals_that_of_nlweb() -> None:
    handler = route(Scores(details={"score": 85, "item_name": "Pad Thai"}))
    [message] = handler.messages
    elapsed = message.pop("time_elapsed")
    assert elapsed.endswith("s")
    assert len(elapsed.partition(".")[2]) == 4
    assert float(elapsed[:-1]) >= 0
    assert message == {
        "message_type": "tool_selection",
        "selected_tool": "details",
        "score": 85,
        "parameters": {"score": 85, "item_name": "Pad Thai"},
        "query": "spicy noodles",
    }


def test_search_does_not_abort_the_fast_track() -> None:
    handler = route(Scores(search={"score": 88, "search_query": "noodles"}))
    assert results(handler) == [("search", 88, {"score": 88, "search_query": "noodles"})]
    assert handler.tool_routing_results[0]["tool"].handler_class is None
    assert not handler.abort_fast_track_event.is_set()
    assert handler.messages[0]["selected_tool"] == "search"


def test_the_best_three_that_reach_the_threshold_are_kept_in_order() -> None:
    tools = [tool(name, handler="a.B") for name in "abcde"]
    handler = route(Scores(a=70, b=89.5, c=69.9, d=88, e=71), *tools)
    assert [(name, score) for name, score, _ in results(handler)] == [
        ("b", 89.5),
        ("d", 88),
        ("e", 71),
    ]


def test_a_score_of_90_stops_early() -> None:
    slow = asyncio.Event()
    cancelled: list[str] = []

    async def scorer(prompt: str, schema: object) -> Any:  # noqa: ARG001
        if "tool=details" in prompt:
            return {"score": 90, "item_name": "Pad Thai"}
        try:
            await slow.wait()
        except asyncio.CancelledError:
            cancelled.append(prompt.split()[0])
            raise

    handler = route(scorer)
    assert [name for name, _, _ in results(handler)] == ["details"]
    assert sorted(cancelled) == ["tool=compare", "tool=search"]


# Replies with which NLWeb loses the selection, or the whole query.


@pytest.mark.parametrize("score", ["85", "85.0", " 85 ", "85%", 85.0])
def test_scores_in_strings_are_read(score: Any) -> None:
    handler = route(Scores(search=80, details={"score": score, "item_name": "Pad Thai"}))
    assert results(handler)[0][:2] == ("details", 85)


@pytest.mark.parametrize(
    "bad",
    [
        {"score": "high"},
        {"score": None},
        {"score": [95]},
        {},
        "no JSON at all",
        "[1, 2]",
        OSError("no connection"),
        ValueError("out of order"),
    ],
)
def test_one_failing_tool_affects_no_other(bad: Any) -> None:
    handler = route(Scores(search=20, details={"score": 85, "item_name": "x"}, compare=bad))
    assert results(handler)[0] == ("details", 85, {"score": 85, "item_name": "x"})


def test_below_the_threshold_search_is_selected_with_its_own_score() -> None:
    handler = route(Scores(search=12, details=60, compare=69))
    assert results(handler) == [("search", 12, {"score": 12, "search_query": "spicy noodles"})]
    assert not handler.abort_fast_track_event.is_set()
    assert handler.messages[0]["score"] == 12


def test_every_entry_has_a_result_even_without_a_reply() -> None:
    handler = route(Scores(search=OSError("gone"), details=OSError("gone"), compare=3))
    [(name, score, result)] = results(handler)
    assert (name, score, result["score"]) == ("search", 0, 0)
    assert "gone" in result["justification"]
    assert handler.messages[0]["parameters"] == result


def test_without_tools_search_is_selected() -> None:
    handler = route(Scores(compare=10), COMPARE, DETAILS)
    assert handler.tool_routing_results == []
    message = handler.messages[0]
    assert (message["selected_tool"], message["score"]) == ("search", 0)
    assert message["parameters"] == {
        "score": 0,
        "justification": "Default fallback - no tools met threshold",
    }
    assert not handler.abort_fast_track_event.is_set()


def test_a_tool_without_a_prompt_is_scored() -> None:
    asked: list[str] = []

    async def scorer(prompt: str, schema: object) -> Any:  # noqa: ARG001
        asked.append(prompt)
        return {"score": 10}

    route(scorer, SEARCH, tool("bare", prompt=None))
    assert len(asked) == 2
    assert all("spicy noodles" in prompt for prompt in asked)


SOLE = {
    "score": 100,
    "justification": "the only tool for this type and site",
    "search_query": "spicy noodles",
}


@pytest.mark.parametrize(
    "structure",
    [
        None,
        {"score": "100"},
        {"score": "integer between 0 and 100", "search_query": "what to search for"},
        {"type": "object", "properties": {"score": {"type": "integer"}}},
    ],
)
def test_the_only_tool_needs_no_model_and_always_has_the_query(structure: Any) -> None:
    scorer = Scores()
    sole = ToolEntry(
        "conversation_search", handler="nlweb_site.Details", prompt="100!", return_struc=structure
    )
    handler = route(scorer, sole)
    assert results(handler) == [("conversation_search", 100, SOLE)]
    assert handler.tool_routing_results[0]["tool"].return_structure == structure
    assert scorer.prompts == []
    asyncio.run(handler.route_query_based_on_tools())
    assert handler.messages[1:] == [{"message_type": "item_details", "params": SOLE}]


@pytest.mark.parametrize("structure", [None, {"score": "100"}])
def test_a_function_that_is_the_only_tool_receives_the_query(structure: Any) -> None:
    async def search(search_query: str) -> str:
        return f"found {search_query}"

    sole = ToolEntry("history", prompt="100!", return_struc=structure)
    handler = route(Scores(), sole, handlers={"history": search})
    assert results(handler)[0][2] == SOLE
    asyncio.run(handler.route_query_based_on_tools())
    assert handler.messages[1]["answer"] == "found spicy noodles"


def test_parameters_of_a_function_that_is_the_only_tool_take_one_call() -> None:
    async def details(item_name: str) -> str:
        return f"all about {item_name}"

    registry = ToolRegistry()
    registry.handler("details")(details)
    scorer = AlwaysReplying({"score": 20, "item_name": "Pad Thai"})
    handler = Handler()
    asyncio.run(make_selector(registry, scorer)(handler).do())
    assert results(handler) == [("details", 100, {**SOLE, "item_name": "Pad Thai"})]
    asyncio.run(handler.route_query_based_on_tools())
    assert handler.messages[1]["answer"] == "all about Pad Thai"


def test_a_tool_with_invalid_parameters_is_not_asked_about_again() -> None:
    strict = tool("strict", handler="nlweb_site.Details")
    schema = {"type": "object", "properties": {"item_name": {"type": "string"}}}
    asks = ToolEntry(
        "asks",
        handler="nlweb_site.Details",
        prompt="tool=asks {request.query}",
        return_struc={**schema, "required": ["item_name"]},
    )
    scorer = Scores(asks=85, strict=10)
    handler = route(scorer, strict, asks)
    assert results(handler) == [("asks", 85, {"score": 85})]
    assert len(scorer.prompts) == 2


# When nothing is chosen.


@pytest.mark.parametrize(
    ("handler", "options"),
    [
        ({"generate_mode": "deep_research"}, {}),
        ({"generate_mode": "unified"}, {"skip_modes": ["unified"]}),
        ({"generate_mode": "summarize"}, {}),
        ({"generate_mode": "generate"}, {}),
        ({}, {"enabled": False}),
        ({}, {"enabled": lambda: False}),
        ({}, {"enabled": lambda: 1 / 0}),
    ],
)
def test_if_no_tool_is_needed_only_the_step_is_reported(
    handler: dict[str, Any], options: dict[str, Any]
) -> None:
    scorer = Scores(details=95)
    done = route(scorer, handler=Handler(**handler), **options)
    assert done.state.done == ["ToolSelector"]
    assert (done.messages, done.tool_routing_results, scorer.prompts) == ([], [], [])


@pytest.mark.parametrize("mode", ["none", "list", "", None])
def test_every_other_mode_selects_a_tool(mode: Any) -> None:
    handler = route(Scores(details=95), handler=Handler(generate_mode=mode))
    assert handler.tool_routing_results


def test_a_failed_selection_is_logged_and_selects_search(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(Registry):
        def tools_for(self, *_: object) -> Any:
            raise OSError("the disk is gone")

    async def main(handler: Handler) -> None:
        await make_selector(Broken(), Scores())(handler).do()

    handler = Handler()
    asyncio.run(main(handler))
    assert handler.tool_routing_results == []
    assert handler.messages[0]["selected_tool"] == "search"
    assert handler.state.done == ["ToolSelector"]
    [record] = [each for each in caplog.records if each.name == "toolweave.nlweb"]
    assert record.levelname == "ERROR"
    assert "the disk is gone" in caplog.text


def test_a_disconnected_user_changes_nothing() -> None:
    class Gone(Handler):
        async def send_message(self, message: object) -> None:  # noqa: ARG002
            raise ConnectionResetError

    handler = route(Scores(details=95), handler=Gone())
    assert results(handler)[0][0] == "details"
    assert handler.state.done == ["ToolSelector"]


# The message, in the two states of NLWeb.


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize("streaming", [False, True])
def test_since_november_the_selection_is_sent_only_in_debug_mode_and_never_as_the_user(
    debug: bool, streaming: bool
) -> None:
    given = Handler(debug_mode=debug, streaming=streaming)
    handler = route(Scores(details={"score": 85, "item_name": "Pad Thai"}), handler=given)
    assert results(handler)[0][0] == "details"
    assert len(handler.messages) == debug
    for message in handler.messages:
        kept = stored_by_november(message)
        assert kept["sender_type"] == "system"
        assert ("content" in message) is not streaming
        if not streaming:
            assert kept["content"]["selected_tool"] == "details"
            assert kept["content"]["parameters"] == {"score": 85, "item_name": "Pad Thai"}


def stored_by_november(message: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a message that NLWeb stores for a reply in one JSON document."""
    return {
        "sender_type": message.get("sender_type", "user"),
        "message_type": message.get("message_type", "query"),
        "content": message.get("content", ""),
    }


# Parameters.


def test_undeclared_members_are_passed_to_handlers_of_nlweb() -> None:
    fields = {"score": 85, "item_name": "Pad Thai", "item_url": "/pad-thai", "x": {"y": [1]}}
    for strategy in ("each", "choose"):
        parameters = {name: value for name, value in fields.items() if name != "score"}
        reply = {"tool": "details", "score": 85, "parameters": parameters}
        scorer = Scores(details=fields) if strategy == "each" else AlwaysReplying(reply)
        handler = route(scorer, policy=SelectionPolicy(strategy=strategy))
        assert handler.tool_routing_results[0]["result"] == fields


def test_undeclared_members_are_not_passed_to_handlers_in_python() -> None:
    got: list[dict[str, Any]] = []

    async def details(params: dict[str, Any]) -> None:
        got.append(params)

    reply = {"score": 85, "item_name": "Pad Thai", "item_url": "/pad-thai"}
    handler = route(Scores(details=reply), handlers={"details": details})
    asyncio.run(handler.route_query_based_on_tools())
    assert got == [{"item_name": "Pad Thai"}]


class AlwaysReplying:
    """Scorer with one reply."""

    def __init__(self, reply: dict[str, Any]) -> None:
        self.reply = reply

    async def __call__(self, prompt: str, schema: object) -> Any:  # noqa: ARG002
        return self.reply


# The query.


def test_the_decontextualized_query_is_awaited() -> None:
    async def main() -> list[str]:
        handler, scorer = Handler("and spicier?"), Scores(search=80)
        handler.state.decontextualized.clear()
        task = asyncio.create_task(routed_handler(handler, scorer))
        await asyncio.sleep(0)
        assert scorer.prompts == []
        handler.decontextualized_query = "spicier noodles"
        handler.state.decontextualized.set()
        await asyncio.wait_for(task, WAIT)
        assert handler.messages[0]["query"] == "spicier noodles"
        return scorer.prompts

    prompts = asyncio.run(main())
    assert all("query=spicier noodles" in prompt for prompt in prompts)


def test_the_wait_for_the_decontextualized_query_has_a_timeout(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handler = Handler("and spicier?", prev_queries=["noodles"])
    handler.state.decontextualized.clear()
    scorer = Scores(search=80)
    route(scorer, handler=handler, decontextualization_timeout=0.01)
    assert "query=and spicier? previous queries: ['noodles']" in scorer.prompts[0]
    assert results(handler)[0][:2] == ("search", 80)
    assert "did not come in time" in caplog.text


def test_a_failing_decontextualizer_leaves_the_query_unchanged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    handler = Handler()
    handler.state.decontextualized.clear()

    async def fails() -> None:
        raise KeyError("decontextualized")

    handler.state.wait_for_decontextualization = fails  # type: ignore[method-assign]
    assert results(route(Scores(search=80), handler=handler))[0][0] == "search"
    assert "the decontextualized query did not come" in caplog.text


# Cancelling.


def test_cancellation_is_raised_and_cancels_the_calls() -> None:
    cancelled: list[str] = []

    async def main() -> Handler:
        asked = asyncio.Event()

        async def scorer(prompt: str, schema: object) -> Any:  # noqa: ARG001
            asked.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(prompt.split()[0])
                raise

        handler = Handler()
        task = asyncio.create_task(routed_handler(handler, scorer))
        await asyncio.wait_for(asked.wait(), WAIT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asyncio.shield(task), WAIT)
        return handler

    handler = asyncio.run(main())
    assert sorted(cancelled) == ["tool=compare", "tool=details", "tool=search"]
    assert handler.state.done == ["ToolSelector"]
    assert handler.tool_routing_results == []


# Policies.


def test_choose_makes_one_call() -> None:
    prompts: list[str] = []

    async def scorer(prompt: str, schema: object) -> Any:  # noqa: ARG001
        prompts.append(prompt)
        return {"tool": "details", "score": 85, "parameters": {"item_name": "Pad Thai"}}

    handler = route(scorer, policy=SelectionPolicy(strategy="choose"))
    assert results(handler) == [("details", 85, {"score": 85, "item_name": "Pad Thai"})]
    assert len(prompts) == 1


def test_by_default_every_tool_is_asked_about_as_nlweb_does() -> None:
    scorer = Scores()
    tools = [tool(f"t{number}", handler="a.B") for number in range(20)]
    route(scorer, *tools)
    assert len(scorer.prompts) == 20


def test_logs_do_not_contain_the_query(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "toolweave.nlweb"):
        route(Scores(details=OSError("gone")), handler=Handler("my secret"))
    assert "my secret" not in caplog.text


# The same routing.


def nlweb_chooses(scores: list[tuple[str, int]]) -> tuple[str, int] | None:
    """Return NLWeb's choice for numeric scores in document order."""
    for name, score in scores:
        if score >= 90:
            return name, score
    best = sorted(scores, key=lambda each: each[1], reverse=True)
    good = [each for each in best if each[1] >= 70]
    return good[0] if good else next((each for each in best if each[0] == "search"), None)


NAMES = ["search", "details", "compare", "ensemble", "statistics"]


@given(
    scores=st.lists(
        st.tuples(st.sampled_from(NAMES), st.integers(0, 89)),
        min_size=2,
        unique_by=lambda each: each[0],
    ),
    top=st.none() | st.integers(90, 100),
)
def test_without_a_race_nlweb_selects_the_same_tool(
    scores: list[tuple[str, int]], top: int | None
) -> None:
    if top is not None:
        scores[-1] = (scores[-1][0], top)
    handler = route(Scores(**dict(scores)), *(tool(name, handler="a.B") for name, _ in scores))
    expected = nlweb_chooses(scores)
    assert [each[:2] for each in results(handler)][:1] == ([] if expected is None else [expected])
    aborted = expected is not None and expected[0] != "search"
    assert handler.abort_fast_track_event.is_set() is aborted
