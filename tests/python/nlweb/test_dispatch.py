"""Tests of selected tools in NLWeb's own dispatcher."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler_registries import Registry
from nlweb_site import DETAILS, SEARCH, Details, Handler, Scores, tool
from servers.sse import Answer, serving
from toolweave import ToolContext
from toolweave import tool as toolweave_tool
from toolweave._core import ToolEntry
from toolweave.nlweb import ToolRunner, make_selector
from toolweave.nlweb._messages import answers
from toolweave.selection import SelectionPolicy

ALLOWED = SelectionPolicy(strategy="each", prefilter=None, allowed_handlers=("nlweb_site",))


async def served(scores: Any, *tools: Any, handlers: Any = None, **options: Any) -> Handler:
    """Return a handler whose query was routed and dispatched."""
    handler = options.pop("handler", None) or Handler()
    registry = Registry(handlers or {}, tools)
    selector = make_selector(registry, Scores(**scores), **options)
    await selector(handler).do()
    await handler.route_query_based_on_tools()
    return handler


def serve(scores: Any, *tools: Any, **options: Any) -> Handler:
    return asyncio.run(served(scores, *tools, **options))


def error(text: str) -> dict[str, Any]:
    """Return an error as both versions of NLWeb's client show it."""
    return {"message_type": "error", "message": text, "content": text, "sender_type": "system"}


CHOSEN = {"details": {"score": 85, "item_name": "Pad Thai"}, "search": 30}


@pytest.mark.parametrize("policy", [None, ALLOWED])
def test_nlweb_runs_its_own_handlers(policy: SelectionPolicy | None) -> None:
    handler = serve(CHOSEN, SEARCH, DETAILS, policy=policy)
    assert handler.tool_routing_results[0]["tool"].handler_class == "nlweb_site.Details"
    assert handler.messages[1:] == [
        {"message_type": "item_details", "params": {"score": 85, "item_name": "Pad Thai"}}
    ]
    assert handler.searched == []


def test_nlweb_runs_search_itself() -> None:
    handler = serve({"search": 95}, SEARCH, DETAILS)
    assert handler.searched == [["soup", "salad"]]


@pytest.mark.parametrize(
    "broken",
    [
        tool("details", handler="nlweb_site.Gone"),
        tool("details", handler="nlweb_site_that_is_gone.Details"),
        tool("details", handler="asyncio.Event"),
        tool("details", method="code"),
        tool("details", method="url", path="http://127.0.0.1:9/ask"),
    ],
)
def test_a_tool_that_cannot_run_is_not_selected_and_search_keeps_its_items(
    broken: Any, caplog: pytest.LogCaptureFixture
) -> None:
    handler = serve({"details": 95, "search": 30}, SEARCH, broken, policy=ALLOWED)
    assert handler.searched == [["soup", "salad"]]
    assert not handler.abort_fast_track_event.is_set()
    assert handler.messages[0]["selected_tool"] == "search"
    assert "the selected tool cannot run, so search is used" in caplog.text


def test_nlweb_searches_even_if_there_is_no_search_tool() -> None:
    handler = serve({"details": 95, "other": 1}, tool("details"), tool("other"), policy=ALLOWED)
    assert handler.tool_routing_results == []
    assert handler.searched == [["soup", "salad"]]


def test_without_allowed_handlers_nlweb_imports_handlers_itself() -> None:
    elsewhere = tool("details", handler="nlweb_site_that_is_gone.Details")
    handler = serve({"details": 95}, SEARCH, elsewhere)
    assert handler.tool_routing_results[0]["tool"].handler_class == elsewhere.handler
    # A bug of NLWeb that allowed handlers avoid.
    assert handler.searched == [[]]


# Handlers that NLWeb's dispatcher cannot run itself.


class Registered(Details):
    async def do(self) -> None:
        await self.handler.send_message({"message_type": "registered", "params": self.params})


async def function(item_name: str, handler: Handler) -> None:
    await handler.send_message({"message_type": "function", "item": item_name})


@toolweave_tool
async def as_tool(item_name: str, context: ToolContext) -> None:
    await context.metadata["handler"].send_message({"message_type": "tool", "item": item_name})


@pytest.mark.parametrize(
    ("handler", "sent"),
    [
        (Registered, {"message_type": "registered", "params": {"item_name": "Pad Thai"}}),
        (function, {"message_type": "function", "item": "Pad Thai"}),
        (as_tool, {"message_type": "tool", "item": "Pad Thai"}),
    ],
)
def test_a_handler_that_is_registered_in_python_runs_in_nlweb(
    handler: object, sent: dict[str, Any]
) -> None:
    done = serve(CHOSEN, SEARCH, DETAILS, handlers={"details": handler})
    assert done.tool_routing_results[0]["tool"].handler_class == "toolweave.nlweb.ToolRunner"
    assert done.messages[1:] == [sent]
    assert done.searched == []


def test_a_score_is_not_passed_to_a_handler_in_python() -> None:
    bare = ToolEntry("bare", prompt="tool=bare {request.query}")
    done = serve({"bare": 90}, SEARCH, bare, handlers={"bare": Registered})
    assert done.tool_routing_results[0]["result"] == {"score": 90}
    assert done.messages[1:] == [{"message_type": "registered", "params": {}}]


def test_a_function_with_a_dotted_path_runs_in_nlweb_if_allowed() -> None:
    path = f"{__name__}.function"
    policy = SelectionPolicy(strategy="each", allowed_handlers=(__name__,))
    entry = tool("details", handler=path, asks={"item_name": "the name of the item"})
    done = serve(CHOSEN, SEARCH, entry, policy=policy)
    assert done.messages[1:] == [{"message_type": "function", "item": "Pad Thai"}]


def test_a_registered_handler_that_times_out_is_stopped() -> None:
    stopped = threading.Event()

    async def hangs() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    done = serve(CHOSEN, SEARCH, DETAILS, handlers={"details": hangs}, handler_timeout=0.01)
    assert stopped.is_set()
    text = "The tool 'details' did not finish in time."
    assert done.messages[1:] == [error(text)]
    # NLWeb has discarded the items that a search would need.
    assert done.searched == []


@pytest.mark.parametrize("handler", [Details, function])
def test_a_failing_registered_handler_sends_an_error_and_is_logged(
    handler: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Gone(Handler):
        async def send_message(self, message: dict[str, Any]) -> None:
            if message["message_type"] in ("item_details", "function"):
                raise OSError("the disk at /srv is gone")
            await super().send_message(message)

    done = serve(CHOSEN, SEARCH, DETAILS, handlers={"details": handler}, handler=Gone())
    assert done.messages[1:] == [error("The tool 'details' failed.")]
    assert "the disk at /srv is gone" in caplog.text


def test_parameters_that_the_handler_lacks_are_an_error() -> None:
    async def needs_more(item_name: str, calories: int) -> None:
        raise AssertionError(item_name, calories)

    done = serve(CHOSEN, SEARCH, DETAILS, handlers={"details": needs_more})
    assert done.messages[1:] == [error("The tool 'details' failed.")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("No eggs in it.", "No eggs in it."),
        (3, "3"),
        (True, "true"),
        ({"calories": 3}, '{"calories": 3}'),
        (["one", "two"], ["one", "two"]),
        (None, []),
        ("", []),
        ([], []),
    ],
)
@pytest.mark.parametrize("newer", [False, True])
def test_the_return_value_of_a_handler_in_python_is_the_answer(
    value: Any, expected: Any, newer: bool
) -> None:
    async def returns() -> Any:
        return value

    state = {"message_sender": object()} if newer else {}
    done = serve(CHOSEN, SEARCH, DETAILS, handlers={"details": returns}, handler=Handler(**state))
    texts = [expected] if isinstance(expected, str) else expected
    # The client of August shows `answer`. November stores `content`, and by default the user as
    # the sender.
    assert done.messages[1:] == [
        {"message_type": "nlws", "answer": text, "content": text, "sender_type": "assistant"}
        for text in texts
    ]


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ({"name": "soup"}, [{"name": "soup"}]),
        ([{"name": "soup"}, {"url": "/pho"}], [{"name": "soup"}, {"url": "/pho"}]),
        ({"results": [{"a": 1}]}, [{"a": 1}]),
        ({"message_type": "result", "content": [{"a": 1}]}, [{"a": 1}]),
        ({"message_type": "result_batch", "results": [{"a": 1}]}, [{"a": 1}]),
    ],
)
def test_items_become_results_in_the_format_of_each_version(value: Any, items: list[Any]) -> None:
    assert answers(value, newer=False) == [
        {"message_type": "result_batch", "results": items, "sender_type": "assistant"}
    ]
    assert answers(value, newer=True) == [
        {"message_type": "result", "content": items, "sender_type": "assistant"}
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["message_type", "results", "content", "name", "url", "x"]),
            inner | st.sampled_from(["result", "result_batch", "complete", "nlws"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(value=JSON, newer=st.booleans())
def test_every_message_has_a_type_and_a_sender(value: Any, newer: bool) -> None:
    for message in answers(value, newer=newer):
        assert isinstance(message["message_type"], str)
        assert message["message_type"] != ("result_batch" if newer else "result") or not isinstance(
            message.get("results" if newer else "content"), list
        )
        assert "sender_type" in message


def test_messages_of_another_nlweb_are_forwarded() -> None:
    sent = [
        {"message_type": "result_batch", "results": [{"name": "Pad Thai"}]},
        {"message_type": "complete"},
    ]
    stream = [b"data: " + json.dumps(message).encode() + b"\n\n" for message in sent]

    async def main() -> tuple[Handler, list[dict[str, Any]]]:
        async with serving(Answer(stream)) as server:
            remote = tool(
                "remote", method="url", path=server.url + "/ask", asks={"query": "what to ask"}
            )
            host = server.url.removeprefix("http://")
            scores = {"remote": {"score": 80, "query": "thai noodles"}}
            handler = await served(scores, SEARCH, remote, allowed_hosts=[host])
            return handler, server.requests

    handler, [request] = asyncio.run(main())
    assert request["body"] == {"query": "thai noodles"}
    assert handler.messages[1:] == [{**sent[0], "sender_type": "assistant"}]
    assert handler.searched == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("soup", ["soup"]),
        (["a", {"message_type": "x"}, 7, None], ["a", "x", "7"]),
        (None, []),
        ({"results": "none"}, ['{"results": "none"}']),
        ({"message_type": "end-nlweb-response"}, []),
    ],
)
def test_answers_of_endpoints_become_nlweb_messages(answer: object, expected: list[Any]) -> None:
    found = answers(answer, newer=False)
    assert [each.get("answer", each["message_type"]) for each in found] == expected


def test_a_runner_without_a_routed_query_says_so() -> None:
    with pytest.raises(LookupError, match=r"was not routed by toolweave\.nlweb"):
        ToolRunner({}, Handler())
    with pytest.raises(LookupError, match=r"was not routed by toolweave\.nlweb"):
        ToolRunner({}, Handler(tool_routing_results=[{"tool": object(), "result": {}}]))
