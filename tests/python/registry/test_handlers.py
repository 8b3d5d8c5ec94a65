"""Tests of handlers registered in Python: the tools they serve and the tools they add."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sample_registries import DETAILS, SEARCH, SHOP, entry_of, names, registry_of
from toolweave import tool
from toolweave.exceptions import ToolDefinitionError
from toolweave.registry import ToolRegistry


class Details:
    """Describe one item."""

    def __init__(self, params: dict[str, Any], handler: object) -> None:
        self.params, self.handler = params, handler

    async def do(self) -> str:
        return f"details of {self.params['item_name']}"


async def other(item_name: str) -> str:
    """Describe one item differently.

    Args:
        item_name: Its name.
    """
    return item_name


def test_a_handler_serves_a_tool_of_the_file() -> None:
    registry = ToolRegistry.loads(registry_of(Thing=SEARCH))
    before = registry.fingerprint
    assert registry.handler("search", type="https://schema.org/Thing")(Details) is Details
    assert registry.fingerprint == before
    assert registry.handler_for(entry_of(registry, "Recipe", "search")) is Details


def test_a_handler_takes_precedence_over_the_path_of_the_same_tool() -> None:
    registry = ToolRegistry.loads(SHOP)
    assert registry.handler_for(entry_of(registry, "Thing", "details")) is None
    registry.handler("details")(other)
    assert registry.handler_for(entry_of(registry, "Thing", "details")) is other
    assert registry.handler_for(entry_of(registry, "Recipe", "details")) is other
    # The path that the file gives for films is more specific.
    assert registry.handler_for(entry_of(registry, "Movie", "details")) is None
    registry.handler("details", type="Movie")(Details)
    assert registry.handler_for(entry_of(registry, "Movie", "details")) is Details


def test_a_handler_for_a_more_specific_type_wins() -> None:
    registry = ToolRegistry.loads(registry_of(Thing=SEARCH, Recipe=SEARCH))
    registry.handler("search")(other)
    assert registry.handler_for(entry_of(registry, "Recipe", "search")) is other
    registry.handler("search", type="CreativeWork")(Details)
    assert registry.handler_for(entry_of(registry, "Recipe", "search")) is Details
    assert registry.handler_for(entry_of(registry, "Movie", "search")) is Details
    assert registry.handler_for(entry_of(registry, "Product", "search")) is other


def test_a_handler_for_a_subtype_copies_the_inherited_tool() -> None:
    registry = ToolRegistry.loads(SHOP)
    registry.handler("details", type="Recipe", examples=["What is in a cake?"])(other)
    own, general = entry_of(registry, "Recipe", "details"), entry_of(registry, "Thing", "details")
    assert (own.type, general.type) == ("Recipe", "Thing")
    assert own.prompt == general.prompt
    assert own.return_struc == general.return_struc
    assert (own.examples, general.examples) == (("What is in a cake?",), ("What is in a pie?",))
    # In place, as a tool of the file would be.
    assert names(registry, "Recipe") == ["search", "details"]
    assert registry.handler_for(own) is other
    assert registry.handler_for(general) is None


def test_a_handler_of_a_site_is_for_that_site() -> None:
    registry = ToolRegistry.loads(SHOP)
    registry.handler("search", site="a")(other)
    registry.handler("search", site="default")(Details)
    assert registry.handler_for(entry_of(registry, "Movie", "search", "a")) is other
    assert registry.handler_for(entry_of(registry, "Movie", "search", "b")) is Details
    assert registry.handler_for(entry_of(registry, "Movie", "search")) is Details
    # The type counts before the site.
    registry.handler("search", type="Movie")(Details)
    assert registry.handler_for(entry_of(registry, "Movie", "search", "a")) is Details


def test_a_disabled_tool_stays_disabled_unless_a_subtype_has_a_handler() -> None:
    off = SEARCH.replace('name="search"', 'name="search" enabled="false"')
    registry = ToolRegistry.loads(registry_of(Thing=SEARCH, CreativeWork=off))
    registry.handler("search", type="CreativeWork")(other)
    assert names(registry, "CreativeWork") == names(registry, "Recipe") == []
    registry.handler("search", type="Recipe")(other)
    assert names(registry, "CreativeWork") == []
    assert names(registry, "Recipe") == ["search"]


def test_a_function_without_a_tool_adds_one() -> None:
    registry = ToolRegistry()
    registry.handler("more", type="Recipe")(other)
    entry = entry_of(registry, "Recipe", "more")
    assert names(registry, "Thing") == []
    assert entry.method == "builtin"
    assert entry.arguments == {"item_name": "Its name."}
    assert "Describe one item differently." in (entry.prompt or "")
    assert list(entry.parameters["properties"]) == ["item_name"]
    assert registry.handler_for(entry) is other


def test_injected_parameters_are_not_parameters_of_the_tool() -> None:
    class Request: ...

    async def details(item_name: str, handler: Request) -> str:
        return f"{item_name} {handler}"

    async def everything(params: dict[str, Any], handler: Request) -> str:
        "Handle everything."
        return f"{params} {handler}"

    registry = ToolRegistry()
    registry.handler("details")(details)
    registry.handler("everything")(everything)
    assert list(entry_of(registry, "Thing", "details").parameters["properties"]) == ["item_name"]
    assert entry_of(registry, "Thing", "everything").parameters["properties"] == {}
    assert "Handle everything." in (entry_of(registry, "Thing", "everything").prompt or "")


def test_a_class_without_a_tool_adds_one_from_the_given_fields() -> None:
    registry = ToolRegistry()
    structure = {"score": "integer between 0 and 100", "item_name": "the item"}
    registry.handler(
        "details",
        prompt="Rate {request.query}.",
        examples=["What is in a pie?"],
        arguments={"item_name": "Its name."},
        return_struc=structure,
    )(Details)
    entry = entry_of(registry, "Movie", "details")
    assert (entry.prompt, entry.examples) == ("Rate {request.query}.", ("What is in a pie?",))
    assert (entry.arguments, entry.return_struc) == ({"item_name": "Its name."}, structure)
    registry.handler("plain")(Details)
    assert "Describe one item." in (entry_of(registry, "Thing", "plain").prompt or "")


def test_given_fields_take_precedence_over_the_file() -> None:
    registry = ToolRegistry.loads(SHOP)
    registry.handler("search", prompt="Another {request.query}?")(other)
    entry = entry_of(registry, "Thing", "search")
    assert entry.prompt == "Another {request.query}?"
    assert entry.return_struc == {"score": "integer between 0 and 100"}


def test_handlers_survive_a_reload_and_so_do_their_tools(tmp_path: Path) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(SHOP, "utf-8")
    registry = ToolRegistry.load(file)
    registry.handler("details", type="Recipe")(other)
    registry.handler("more")(other)
    file.write_text(registry_of(Thing=DETAILS.replace("ask for", "want") + SEARCH), "utf-8")
    assert registry.reload() is True
    assert names(registry, "Recipe") == ["details", "search", "more"]
    # Its prompt is from the reloaded file.
    assert "want details" in (entry_of(registry, "Recipe", "details").prompt or "")
    assert registry.handler_for(entry_of(registry, "Recipe", "details")) is other
    file.write_text(registry_of(Thing=SEARCH), "utf-8")
    assert registry.reload() is True
    # The file no longer describes it, so its function does.
    assert "Describe one item differently" in (entry_of(registry, "Recipe", "details").prompt or "")
    assert names(registry, "Thing") == ["search", "more"]


def test_a_tool_registered_again_moves_to_the_end() -> None:
    registry = ToolRegistry()
    for name in ("first", "second", "first"):
        registry.handler(name)(lambda: None)
    assert names(registry, "Thing") == ["second", "first"]


def test_the_last_registered_handler_wins() -> None:
    registry = ToolRegistry.loads(SHOP)
    registry.handler("search", prompt="One {request.query}")(other)
    registry.handler("search")(Details)
    assert registry.handler_for(entry_of(registry, "Thing", "search")) is Details
    assert (entry_of(registry, "Thing", "search").prompt or "").startswith("Is {request.query}")


@pytest.mark.parametrize("handler", [3, "shop.Details", None, object, {"do": 1}])
def test_an_object_that_cannot_be_a_handler_is_refused_with_the_expected_type(handler: Any) -> None:
    registry = ToolRegistry.loads(SHOP)
    with pytest.raises(TypeError, match=r"tool 'search': .*do\(\)"):
        registry.handler("search")(handler)
    assert registry.handler_for(entry_of(registry, "Thing", "search")) is None


def test_a_function_that_cannot_be_a_tool_changes_nothing() -> None:
    def rate(file: Path, *, other: Details) -> None: ...

    registry = ToolRegistry.loads(SHOP)
    before = registry.snapshot
    with pytest.raises(ToolDefinitionError):
        registry.handler("rate")(rate)
    assert registry.snapshot is before
    # For a tool of the file it need not be one.
    registry.handler("search")(rate)


def test_a_tool_used_as_a_handler_is_returned_unchanged() -> None:
    made = tool(other, name="more")
    registry = ToolRegistry()
    assert registry.handler("more")(made) is made
    assert registry.handler_for(entry_of(registry, "Thing", "more")) is made
