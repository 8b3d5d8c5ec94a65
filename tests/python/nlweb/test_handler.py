"""Tests of the query, type, site and placeholders read from NLWeb's handlers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handler_registries import Registry
from nlweb_site import Handler, tool
from toolweave.nlweb import make_selector
from toolweave.nlweb._handler import item_type_of, placeholders, query_of, site_of

ALL = [
    "request.query",
    "request.rawQuery",
    "request.previousQueries",
    "request.site",
    "site.itemType",
    "request.itemType",
    "request.contextUrl",
    "request.contextDescription",
    "request.prevAnswers",
    "request.answers",
    "request.top_k",
    "request.item_name",
    "request.details_requested",
]


@pytest.mark.parametrize(
    ("item_type", "expected"),
    [
        ("{http://nlweb.ai/base}Recipe", "Recipe"),
        ("Recipe", "Recipe"),
        ("https://schema.org/Movie", "Movie"),
        ("schema:Movie", "Movie"),
        (["{http://nlweb.ai/base}Recipe", "Movie"], "Recipe"),
        (None, "Thing"),
        ("", "Thing"),
        ([], "Thing"),
        (7, "Thing"),
    ],
)
def test_the_type_is_read_in_any_notation(item_type: Any, expected: str) -> None:
    assert item_type_of(Handler(item_type=item_type)) == expected


@pytest.mark.parametrize(
    ("site", "expected"),
    [
        ("seriouseats", "seriouseats"),
        (["seriouseats", "imdb"], "seriouseats"),
        ([], None),
        ("", None),
        (None, None),
    ],
)
def test_the_site_is_a_name_or_the_first_of_a_list(site: Any, expected: str | None) -> None:
    assert site_of(Handler(site=site)) == expected


@pytest.mark.parametrize("unknown", [None, ""])
def test_without_a_decontextualized_query_the_query_is_used(unknown: str | None) -> None:
    assert query_of(Handler("noodles", decontextualized_query=unknown)) == "noodles"
    assert query_of(Handler("noodles", decontextualized_query="spicy")) == "spicy"


def test_every_placeholder_has_the_value_that_nlweb_gives_it() -> None:
    handler = Handler(
        "and spicier?",
        decontextualized_query="spicier noodles",
        prev_queries=["noodles"],
        context_url="http://127.0.0.1/noodles",
        context_description="a page about noodles",
        last_answers=[{"title": "Pad Thai"}],
        final_ranked_answers=[1],
        top_k=5,
        item_name="Pad Thai",
        details_requested="calories",
    )
    assert placeholders(handler, ALL) == {
        "request.query": "spicier noodles",
        "request.rawQuery": "and spicier?",
        "request.previousQueries": "['noodles']",
        "request.site": "seriouseats",
        "site.itemType": "Recipe",
        "request.itemType": "{http://nlweb.ai/base}Recipe",
        "request.contextUrl": "http://127.0.0.1/noodles",
        "request.contextDescription": "a page about noodles",
        "request.prevAnswers": "[{'title': 'Pad Thai'}]",
        "request.answers": "[1]",
        "request.top_k": "5",
        "request.item_name": "Pad Thai",
        "request.details_requested": "calories",
    }


def test_missing_attributes_are_empty_or_have_the_default_of_nlweb() -> None:
    class Bare:
        query = "noodles"
        state = None

        def send_message(self, message: dict[str, Any]) -> None: ...

    found = placeholders(Bare(), ALL)
    assert found == {
        **dict.fromkeys(ALL, ""),
        "request.query": "noodles",
        "request.rawQuery": "noodles",
        "site.itemType": "Thing",
        "request.top_k": "3",
    }


def test_a_list_of_sites_is_rendered_as_nlweb_renders_it() -> None:
    handler = Handler(site=["seriouseats", "imdb"])
    assert placeholders(handler, ["request.site"]) == {"request.site": "['seriouseats', 'imdb']"}


def test_a_value_that_cannot_be_rendered_is_left_empty(caplog: pytest.LogCaptureFixture) -> None:
    class Unsayable:
        def __str__(self) -> str:
            raise OSError("gone")

    found = placeholders(Handler(last_answers=Unsayable()), ["request.prevAnswers"])
    assert found == {"request.prevAnswers": ""}
    assert "a placeholder is left empty" in caplog.text


def test_only_placeholders_of_the_prompts_are_looked_up() -> None:
    class Counted:
        looked = 0

        def __str__(self) -> str:
            Counted.looked += 1
            return "answers"

    prompts: list[str] = []

    async def scorer(prompt: str, schema: object) -> Any:  # noqa: ARG001
        prompts.append(prompt)
        return {"score": 80}

    async def main(*asked: str) -> None:
        tools = [tool(f"t{at}", handler="a.B", prompt=text) for at, text in enumerate(asked)]
        selector = make_selector(Registry({}, tools), scorer)
        await selector(Handler(last_answers=Counted())).do()

    asyncio.run(main("{request.query}", "{request.query} {request.site}"))
    assert Counted.looked == 0
    asyncio.run(main("{request.query}", "{request.prevAnswers} {request.query}"))
    assert Counted.looked == 1
    assert any("answers spicy noodles" in prompt for prompt in prompts)


@given(
    query=st.text(max_size=20),
    previous=st.lists(st.text(max_size=5), max_size=3),
    decontextualized=st.none() | st.text(max_size=10),
    item_type=st.none() | st.text(max_size=10) | st.lists(st.text(max_size=5), max_size=2),
    site=st.none() | st.text(max_size=5) | st.lists(st.text(max_size=5), max_size=2),
)
def test_any_attributes_of_a_handler_are_accepted(
    query: str, previous: list[str], decontextualized: Any, item_type: Any, site: Any
) -> None:
    async def scorer(prompt: str, schema: object) -> Any:  # noqa: ARG001
        return {"score": 80}

    handler = Handler(
        query,
        prev_queries=previous,
        decontextualized_query=decontextualized,
        item_type=item_type,
        site=site,
    )
    prompt = " ".join(f"{{{name}}}" for name in ALL)
    tools = [tool(name, handler="a.B", prompt=prompt) for name in "ab"]
    asyncio.run(make_selector(Registry({}, tools), scorer)(handler).do())
    assert handler.tool_routing_results[0]["tool"].name == "a"
    assert handler.state.done == ["ToolSelector"]
