"""The handlers of the NLWeb example: real answers, and an answer to any arguments."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from paths import EXAMPLES

EXAMPLE = EXAMPLES / "nlweb_router"
sys.path.insert(0, str(EXAMPLE))

catalogue = importlib.import_module("catalogue")
bounds = importlib.import_module("bounds")
kitchen = importlib.import_module("kitchen")
HANDLERS = {
    name: getattr(importlib.import_module(f"methods.{module}"), name)
    for module, name in {
        "search": "SearchHandler",
        "details": "DetailsHandler",
        "compare": "CompareHandler",
        "ensemble": "EnsembleHandler",
        "substitution": "SubstitutionHandler",
        "accompaniment": "AccompanimentHandler",
        "statistics": "StatisticsHandler",
    }.items()
}


class Request:
    def __init__(self, item_type: Any = "Recipe", query: Any = "") -> None:
        self.item_type = item_type
        self.query = query
        self.messages: list[dict[str, Any]] = []

    async def send_message(self, message: dict[str, Any]) -> None:
        self.messages.append(message)


def answered(handler: str, params: Any, request: Request) -> list[dict[str, Any]]:
    asyncio.run(HANDLERS[handler](params, request).do())
    return request.messages


def answer(handler: str, item_type: str = "Recipe", **params: Any) -> dict[str, Any]:
    [message] = answered(handler, params, Request(item_type))
    return message


NAMES = [
    "search_query",
    "item_name",
    "item1_name",
    "item2_name",
    "details_requested",
    "queries",
    "ensemble_type",
    "recipe_name",
    "dietary_need",
    "unavailable_ingredient",
    "preference",
    "main_item",
    "query_type",
    "measure",
    "about",
]
SENSIBLE = ["Chicken Alfredo", "Jaws", "vegan", "egg", "wine", "average", "year", "genre", "1990s"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from([*SENSIBLE, 'NEAR("', "a* OR (", "title:", "--", "%", "\0", "\ud800", "["]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize("handler", HANDLERS)
@settings(max_examples=effort(60), deadline=None)
@given(
    params=st.dictionaries(st.sampled_from(NAMES), JSON) | JSON,
    item_type=st.sampled_from(["Recipe", "{http://nlweb.ai/base}Movie", "Item", "Boat"]) | JSON,
    query=JSON,
)
def test_any_parameters_get_an_answer(
    handler: str, params: Any, item_type: Any, query: Any
) -> None:
    messages = answered(handler, params, Request(item_type, query))
    assert messages
    for message in messages:
        assert message["message_type"]
        assert message["text"]
        json.dumps(message)


@settings(max_examples=effort(200), deadline=None)
@given(st.text() | st.from_regex(r"[\"'*()^:+A-Z \-]{0,40}"), st.sampled_from(["Recipe", "Item"]))
def test_any_text_is_a_question(question: str, item_type: str) -> None:
    known = catalogue.open_catalogue()
    assert len(known.search(question, item_type).items) <= 5
    known.find(question, item_type)
    known.near(question, item_type)


@pytest.mark.parametrize("words", ["a " * 100_000, "under " * 20_000, '"' * 100_000, "1" * 100_000])
def test_a_long_question_is_accepted(words: str) -> None:
    catalogue.open_catalogue().search(words)
    catalogue.open_catalogue().find(words)


def test_every_item_is_found_by_its_name() -> None:
    known = catalogue.open_catalogue()
    for item in known.items:
        for title in (item.title, item.title.upper(), f"the recipe {item.title}"):
            assert known.find(title, item.kind) == item


def test_every_item_is_found_by_searching_for_its_name() -> None:
    known = catalogue.open_catalogue()
    for item in known.items:
        found = known.search(item.title, item.kind)
        assert item in found.items[:2], item.title
        assert found.all_words


@pytest.mark.parametrize(
    ("question", "condition", "values"),
    [
        ("soup under 30 minutes", "COALESCE(minutes, runtime) < ?", [30]),
        ("a film of at most 2 hours", "COALESCE(minutes, runtime) <= ?", [120]),
        ("more than 40 g of protein", "protein > ?", [40]),
        ("40 grams protein", "protein >= ?", [40]),
        ("from the 1990s", "year BETWEEN ? AND ?", [1990, 1999]),
        ("80s horror", "year BETWEEN ? AND ?", [1980, 1989]),
        ("after 1999", "year > ?", [1999]),
        ("movies from 1994", "year = ?", [1994]),
        ("2001: A Space Odyssey", "1", []),
        ("12 Angry Men", "1", []),
    ],
)
def test_numbers_are_read_as_bounds(question: str, condition: str, values: list[int]) -> None:
    assert bounds.read(question)[1:] == (condition, values)


def test_search_respects_words_and_bounds() -> None:
    found = answer("SearchHandler", search_query="vegetarian pasta under 30 minutes")
    assert [entry["name"] for entry in found["results"]] == ["Penne Arrabbiata"]
    without = answer("SearchHandler", search_query="Italian pasta without meat")
    assert "Spaghetti Bolognese" not in without["text"]
    assert "Penne Arrabbiata" in without["text"]


def test_search_reports_partial_matches() -> None:
    assert answer("SearchHandler", search_query="dinosaur stew")["all_words"] is False
    assert answer("SearchHandler", search_query="dinosaur")["message_type"] == "no_results"
    assert answer("SearchHandler", "Product", search_query="soup")["message_type"] == "no_results"


def test_search_defaults_to_the_users_question() -> None:
    [message] = answered("SearchHandler", {}, Request("Movie", "Hitchcock"))
    assert {entry["name"] for entry in message["results"]} == {"Psycho", "Vertigo"}


def test_details_gives_the_fields_that_are_asked_for() -> None:
    asked = answer("DetailsHandler", "Movie", item_name="dark knight", details_requested="director")
    assert asked["details"] == {"director": "Christopher Nolan"}
    whole = answer("DetailsHandler", item_name="moussaka")
    assert {"ingredients", "steps", "minutes"} <= set(whole["details"])


def test_details_of_an_unknown_item_suggest_similar_names() -> None:
    message = answer("DetailsHandler", item_name="chicken wellington")
    assert message["message_type"] == "no_results"
    assert "Grilled Chicken" in message["near"]


def test_compare_says_how_numbers_differ() -> None:
    message = answer(
        "CompareHandler", item1_name="Chicken Alfredo", item2_name="Spaghetti Carbonara"
    )
    assert message["differences"] == {"minutes": 5, "servings": 0, "calories": 160, "protein": 17}


@pytest.mark.parametrize("second", ["", "Nothing of the kind", "chicken alfredo"])
def test_compare_needs_two_items(second: str) -> None:
    message = answer("CompareHandler", item1_name="Chicken Alfredo", item2_name=second)
    assert message["message_type"] == "no_results"


def test_a_recipe_and_a_movie_cannot_be_compared() -> None:
    message = answer("CompareHandler", "Item", item1_name="Chicken Alfredo", item2_name="Jaws")
    assert message["message_type"] == "no_results"


def test_ensemble_offers_each_item_once() -> None:
    message = answer("EnsembleHandler", queries=["Greek salad", "a Greek salad", "Thai soup zzz"])
    parts = list(message["parts"].values())
    assert parts[0] == "Greek Salad"
    assert len(set(parts)) == 3


def test_ensemble_searches_concurrently(monkeypatch: pytest.MonkeyPatch) -> None:
    known = catalogue.open_catalogue()
    search, started = known.search, []
    all_started = asyncio.Event()

    async def look(_: Any, function: Any, *args: Any) -> Any:
        started.append(args)
        if len(started) == 3:
            all_started.set()
        await asyncio.wait_for(all_started.wait(), 5)
        return function(*args)

    monkeypatch.setattr(HANDLERS["EnsembleHandler"], "look", look)
    message = answer("EnsembleHandler", queries=["soup", "salad", "dessert"])
    assert all(message["parts"].values())
    assert known.search == search


@pytest.mark.parametrize(
    "recipe", [i for i in catalogue.open_catalogue().items if i.kind == "Recipe"]
)
def test_a_substitute_for_a_diet_suits_the_diet(recipe: Any) -> None:
    for diet in kitchen.table("diets"):
        for line in recipe.facts["ingredients"]:
            if kitchen.breaks(line, diet):
                for row in kitchen.substitutes(line, diet):
                    assert not kitchen.breaks(row["use"], diet), (line, diet, row)


def test_substitution_adapts_a_recipe() -> None:
    message = answer("SubstitutionHandler", recipe_name="chocolate cake", dietary_need="no dairy")
    assert set(message["substitutions"]) == {"240 ml buttermilk", "120 g butter"}
    assert all(message["substitutions"].values())


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"recipe_name": "Chocolate Cake"},
        {"recipe_name": "Chocolate Cake", "dietary_need": "keto"},
        {"recipe_name": "Moon Cheese", "dietary_need": "vegan"},
        {"unavailable_ingredient": "plutonium"},
    ],
)
def test_substitution_reports_unknown_names(params: dict[str, str]) -> None:
    assert answer("SubstitutionHandler", **params)["message_type"] == "no_results"


def test_accompaniment_pairs_what_is_asked_for() -> None:
    wines = answer("AccompanimentHandler", main_item="Lamb Tagine", search_query="wine")
    assert wines["results"]
    assert all("wine" in entry["sort"] for entry in wines["results"])
    sauce = answer("AccompanimentHandler", main_item="roast turkey", search_query="a sauce")
    assert [entry["name"] for entry in sauce["results"]] == ["Cranberry Sauce"]


def test_accompaniment_never_pairs_a_dish_with_itself() -> None:
    for item in catalogue.open_catalogue().items:
        if item.kind == "Recipe":
            message = answer("AccompanimentHandler", main_item=item.title)
            assert item.title not in [entry["name"] for entry in message.get("results", ())]


def test_statistics_are_those_of_the_data() -> None:
    movies = json.loads((EXAMPLE / "data" / "movies.json").read_text(encoding="utf-8"))
    runtimes = [movie["runtime"] for movie in movies if movie["director"] == "Christopher Nolan"]
    message = answer(
        "StatisticsHandler",
        "Movie",
        query_type="average",
        measure="runtime",
        about="Christopher Nolan",
    )
    assert message["count"] == len(runtimes)
    assert message["average"] == round(sum(runtimes) / len(runtimes), 1)
    assert (message["lowest"], message["highest"]) == (min(runtimes), max(runtimes))
    total = answer("StatisticsHandler", "Movie", query_type="count")
    assert total["count"] == len(movies)
    each = answer("StatisticsHandler", "Movie", query_type="each", measure="director")
    assert each["counts"]["Steven Spielberg"] == 5


def test_statistics_report_what_cannot_be_measured() -> None:
    message = answer("StatisticsHandler", "Movie", query_type="average", measure="calories")
    assert "runtime" in message["text"]
    assert message["message_type"] == "no_results"


def test_the_catalogue_can_be_a_file(tmp_path: Path) -> None:
    known = catalogue.open_catalogue()
    place = tmp_path / "items.db"
    stored = catalogue.Catalogue(known.items, place)
    assert place.stat().st_size > 0
    assert stored.search("soup", "Recipe") == known.search("soup", "Recipe")
