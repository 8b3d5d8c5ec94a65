"""Tests of the defaults: the tools, model and settings of the running NLWeb."""

from __future__ import annotations

import asyncio
import importlib
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolweave.nlweb
from handler_registries import Registry
from markdown_blocks import blocks
from nlweb_site import SEARCH, Handler, Scores, tool
from paths import DOCS
from toolweave.exceptions import RegistryError
from toolweave.nlweb import ToolSelector, configure, init, make_selector
from toolweave.nlweb._installation import load_registry
from toolweave.selection import SelectionPolicy

TOOLS = """
    <Tools>
      <Item>
        <Tool name="search">
          <prompt>tool=search {request.query}</prompt>
          <returnStruc>{"score": "integer between 0 and 100", "search_query": "text"}</returnStruc>
        </Tool>
        <Tool name="details">
          <handler>methods.item_details.ItemDetailsHandler</handler>
          <prompt>tool=details {request.query}</prompt>
          <returnStruc>{"score": "integer between 0 and 100", "item_name": "text"}</returnStruc>
        </Tool>
      </Item>
    </Tools>
"""
CONFIG = """
    class Config:
        enabled = True
        aggregated = True
        preferred_llm_endpoint = "azure_openai"
        config_directory = None
        def is_tool_selection_enabled(self):
            return self.enabled
        def is_aggregation_enabled(self):
            return self.aggregated
    CONFIG = Config()
"""
ROUTER = """
    class ToolSelector:
        TYPE_HIERARCHY = {"Recipe": ["Item"]}
"""
LLM = """
    asked = []
    replies = {}
    async def ask_llm(prompt, schema, provider=None, level="low", timeout=8, query_params=None):
        asked.append((prompt, schema, level, query_params))
        name = prompt.partition("tool=")[2].split()[0]
        return replies.get(name, {})
"""


@pytest.fixture
def nlweb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A running NLWeb server, with its packages loaded but not its models."""
    for name, text in {"__init__": "", "config": CONFIG, "llm": LLM, "router": ROUTER}.items():
        file = tmp_path / "code" / "core" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), "utf-8")
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "tools.xml").write_text(textwrap.dedent(TOOLS).strip(), "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    monkeypatch.setenv("NLWEB_CONFIG_DIR", str(folder))
    import core.config  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

    assert "core.llm" not in sys.modules
    configure()
    yield core.config.CONFIG
    configure()
    for name in [name for name in sys.modules if name.partition(".")[0] == "core"]:
        del sys.modules[name]


def model() -> Any:
    return sys.modules["core.llm"]


def chosen(handler: Handler) -> list[str]:
    asyncio.run(ToolSelector(handler).do())
    return [each["tool"].name for each in handler.tool_routing_results]


@pytest.mark.usefixtures("nlweb")
def test_changing_one_import_is_enough() -> None:
    import core.llm  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

    core.llm.replies["details"] = {"score": "86", "item_name": "Pad Thai"}
    handler = Handler(query_params={"llm_level": ["low"]})
    assert chosen(handler) == ["details"]
    assert handler.tool_routing_results[0]["result"] == {"score": 86, "item_name": "Pad Thai"}
    # Exactly NLWeb's own prompts: the structure is a separate argument.
    prompts = sorted(prompt for prompt, *_ in model().asked)
    assert prompts == ["tool=details spicy noodles", "tool=search spicy noodles"]
    for prompt, structure, level, query_params in model().asked:
        assert structure["score"] == "integer between 0 and 100", prompt
        assert (level, query_params) == ("high", {"llm_level": ["low"]})


@pytest.mark.usefixtures("nlweb")
def test_the_model_is_imported_on_demand_and_no_reply_is_an_error() -> None:
    handler = Handler()
    assert chosen(handler) == ["search"]
    assert len(model().asked) == 2
    justification = handler.tool_routing_results[0]["result"]["justification"]
    assert "NLWeb's model did not reply, or not in time" in justification


@pytest.mark.usefixtures("nlweb")
def test_another_strategy_asks_the_same_model_with_its_own_schema() -> None:
    configure(policy=SelectionPolicy(strategy="choose"))
    import core.llm  # pyright: ignore[reportMissingImports]

    async def ask_llm(prompt: str, schema: Any, **_: Any) -> Any:  # noqa: ARG001
        assert {"tool", "score", "parameters"} <= set(schema["properties"])
        return {"tool": "details", "score": 90, "parameters": {"item_name": "Pad Thai"}}

    core.llm.ask_llm = ask_llm
    assert chosen(Handler()) == ["details"]


def test_the_setting_of_nlweb_is_read_for_every_query(nlweb: Any) -> None:
    nlweb.enabled = False
    assert chosen(Handler()) == []
    assert "core.llm" not in sys.modules
    nlweb.enabled = True
    assert chosen(Handler()) == ["search"]


def test_tools_are_loaded_from_the_configuration_folder(
    nlweb: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NLWEB_CONFIG_DIR")
    with pytest.raises(RegistryError, match=r"tools\.xml cannot be found"):
        load_registry()
    nlweb.config_directory = str(tmp_path / "config")
    assert [entry.name for entry in load_registry().tools_for("Recipe")] == ["search", "details"]
    monkeypatch.setenv("HERE", str(tmp_path))
    monkeypatch.setenv("NLWEB_CONFIG_DIR", "$HERE/config")
    nlweb.config_directory = None
    assert len(load_registry().tools_for("Recipe")) == 2


@pytest.mark.usefixtures("nlweb")
def test_an_invalid_file_is_logged_and_loaded_once_it_is_valid(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "config" / "tools.xml"
    whole = file.read_text("utf-8")
    file.write_text(whole.replace("</Tools>", ""), "utf-8")
    handler = Handler()
    assert chosen(handler) == []
    assert handler.messages[0]["selected_tool"] == "search"
    assert "tools.xml:" in caplog.text
    file.unlink()
    assert chosen(Handler()) == []
    assert "the tools cannot be read from" in caplog.text
    file.write_text(whole, "utf-8")
    assert chosen(Handler()) == ["search"]


@pytest.mark.usefixtures("nlweb")
def test_an_invalid_tool_is_skipped_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "config" / "tools.xml"
    broken = '<Tool name="compare"><returnStruc>{"score": 1,}</returnStruc></Tool></Item>'
    file.write_text(file.read_text("utf-8").replace("</Item>", broken), "utf-8")
    assert chosen(Handler()) == ["search"]
    assert len(model().asked) == 2
    assert "left out of the tools" in caplog.text
    assert "TW007" in caplog.text


@pytest.mark.usefixtures("nlweb")
def test_tools_can_be_loaded_at_startup(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "config" / "tools.xml"
    kept = tmp_path / "kept"
    file.rename(kept)
    init()
    assert "there are no tools: the tools cannot be read from" in caplog.text
    kept.rename(file)
    init()
    file.unlink()
    assert chosen(Handler()) == ["search"]


def test_for_all_sites_without_aggregation_search_is_selected_without_a_model(nlweb: Any) -> None:
    nlweb.aggregated = False
    handler = Handler(site="all", item_type="{http://nlweb.ai/base}Item")
    handler.state.decontextualized.clear()
    assert chosen(handler) == ["search"]
    assert handler.tool_routing_results[0]["result"]["search_query"] == "spicy noodles"
    assert not handler.abort_fast_track_event.is_set()
    assert "core.llm" not in sys.modules
    nlweb.aggregated = True
    assert chosen(Handler(site="all")) == ["search"]
    assert len(model().asked) == 2


@pytest.mark.usefixtures("nlweb")
def test_a_hierarchy_edited_in_nlweb_is_used(tmp_path: Path) -> None:
    file = tmp_path / "config" / "tools.xml"
    edited = (
        file.read_text("utf-8").replace("<Item>", "<NewsQuery>").replace("</Item>", "</NewsQuery>")
    )
    file.write_text(edited, "utf-8")
    assert chosen(Handler()) == []
    import core.router  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]

    core.router.ToolSelector.TYPE_HIERARCHY = {"NewsQuery": []}
    assert chosen(Handler()) == ["search"]
    core.router.ToolSelector.TYPE_HIERARCHY = {}
    assert chosen(Handler()) == []
    configure(type_hierarchy={"NewsQuery": []})
    assert chosen(Handler()) == ["search"]


def test_a_cached_selection_belongs_to_the_model_of_the_request(nlweb: Any) -> None:
    for params, calls in [
        ({}, 2),
        ({"query_id": "7"}, 2),
        ({"llm_provider": ["anthropic"]}, 4),
        ({"llm_provider": ["anthropic"]}, 4),
        ({"llm_provider": ["anthropic"], "llm_level": ["low"]}, 6),
        ({}, 6),
    ]:
        import core.llm  # pyright: ignore[reportMissingImports]

        core.llm.replies.update(search={"score": 80}, details={"score": 10})
        assert chosen(Handler(query_params=params)) == ["search"]
        assert len(model().asked) == calls, params
    nlweb.preferred_llm_endpoint = "gemini"
    assert chosen(Handler()) == ["search"]
    assert len(model().asked) == 8


@pytest.mark.usefixtures("nlweb")
def test_nothing_is_cached_when_the_cache_is_off() -> None:
    import core.llm  # pyright: ignore[reportMissingImports]

    core.llm.replies.update(search={"score": 80}, details={"score": 10})
    configure(cache=None)
    assert chosen(Handler()) == chosen(Handler()) == ["search"]
    assert len(model().asked) == 4


def test_without_logging_configured_warnings_go_to_standard_error() -> None:
    program = """
        import asyncio, sys
        from nlweb_site import SEARCH, DETAILS, Handler, Scores
        from handler_registries import Registry
        from toolweave.nlweb import make_selector
        scores = Scores(search=80, details=OSError("no connection"))
        asyncio.run(make_selector(Registry({}, [SEARCH, DETAILS]), scores)(Handler()).do())
        import logging
        logging.basicConfig(stream=sys.stdout, format="configured: %(message)s")
        asyncio.run(make_selector(Registry({}, [SEARCH, DETAILS]), scores)(Handler()).do())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr.count("the tool details: OSError: no connection") == 1
    assert "configured: the tool details: OSError: no connection" in done.stdout


def test_without_nlweb_the_error_names_what_to_configure(caplog: pytest.LogCaptureFixture) -> None:
    handler = Handler()
    asyncio.run(make_selector(Registry({}, [SEARCH, tool("other", handler="a.B")]))(handler).do())
    justification = handler.tool_routing_results[0]["result"]["justification"]
    assert "pass a model with toolweave.nlweb.configure(scorer=...)" in justification
    assert chosen(Handler()) == []
    assert "pass it to toolweave.nlweb.configure(registry)" in caplog.text


def test_a_configuration_applies_from_the_next_query_and_to_no_other_class() -> None:
    mine = make_selector(Registry({}, [SEARCH, tool("mine", handler="a.B")]), Scores(mine=95))
    early = ToolSelector(Handler())
    try:
        configure(Registry({}, [SEARCH, tool("configured", handler="a.B")]), Scores(configured=95))
        assert chosen(Handler()) == ["configured"]
        asyncio.run(early.do())
        assert early.handler.tool_routing_results[0]["tool"].name == "configured"  # type: ignore[attr-defined]
        other = Handler()
        asyncio.run(mine(other).do())
        assert other.tool_routing_results[0]["tool"].name == "mine"
    finally:
        configure()


@pytest.mark.parametrize("name", toolweave.nlweb.__all__)
def test_public_names_are_documented(name: str) -> None:
    assert getattr(toolweave.nlweb, name).__doc__


@pytest.mark.parametrize(
    ("registry", "scorer", "policy"),
    [(object(), None, None), (None, 17, None), (None, None, "each")],
)
def test_invalid_arguments_are_refused_at_once(registry: Any, scorer: Any, policy: Any) -> None:
    with pytest.raises(TypeError):
        make_selector(registry, scorer, policy)
    with pytest.raises(TypeError):
        configure(registry, scorer, policy)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"handler_timout": 3.0},
            "unknown option 'handler_timout'; did you mean 'handler_timeout'",
        ),
        ({"handler_timeout": "3"}, "handler_timeout must be a number above 0, or None, got '3'"),
        ({"decontextualization_timeout": -1.0}, "must be a number above 0, or None, got -1.0"),
        ({"allowed_hosts": "example.org"}, "must be a list"),
        ({"limiter": 8}, "limiter must be a CallLimiter or None, got 8"),
        ({"cache": -1}, "cache must be a number of at least 0"),
        ({"cache": True}, "cache must be a number"),
        ({"skip_modes": "generate"}, "skip_modes must be a list"),
        ({"type_hierarchy": ["Recipe"]}, "type_hierarchy must be a mapping"),
        ({"type_hierarchy": {"Recipe": "Item"}}, r"type_hierarchy\['Recipe'\] must be a list"),
    ],
)
def test_an_unknown_option_is_refused(options: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make_selector(**options)
    with pytest.raises((TypeError, ValueError), match=message):
        configure(**options)


# The changes in the documentation are applied to files with the same lines as NLWeb's own.

BASE_HANDLER = """
    import core.ranking as ranking
    import core.router as router
    from nlweb_site import Handler

    class NLWebHandler(Handler):
        async def runQuery(self):
            await router.ToolSelector(self).do()
            await self.route_query_based_on_tools()
"""
APP = """
    async def main():
        # Initialize router
        import core.router as router
        router.init()

        import core.llm as llm
"""
STATES = {
    "August": {},
    "November": {"message_sender": object(), "debug_mode": True, "streaming": True},
}


@pytest.mark.usefixtures("nlweb")
@pytest.mark.parametrize("state", STATES)
def test_the_documented_changes_are_sufficient(tmp_path: Path, state: str) -> None:
    page = DOCS / "explanation/nlweb.md"
    changes = [one for one in blocks(page.read_text("utf-8")) if one.language == "diff"]
    assert len(changes) == 2
    core = tmp_path / "code" / "core"
    (core / "ranking.py").write_text("", "utf-8")
    changed = [
        apply_diff(change.code, textwrap.dedent(text))
        for change, text in zip(changes, (BASE_HANDLER, APP), strict=True)
    ]
    (core / "baseHandler.py").write_text(changed[0], "utf-8")
    (tmp_path / "code" / "nlweb_app.py").write_text(changed[1], "utf-8")
    app = importlib.import_module("nlweb_app")
    handlers = importlib.import_module("core.baseHandler")
    asyncio.run(app.main())
    assert ToolSelector.routing.handler_timeout == 30.0
    model().replies["search"] = {"score": 88, "search_query": "noodles"}
    handler = handlers.NLWebHandler(**STATES[state])
    asyncio.run(handler.runQuery())
    assert handler.messages[0]["selected_tool"] == "search"
    assert handler.searched == [["soup", "salad"]]
    del sys.modules["nlweb_app"]


def apply_diff(change: str, text: str) -> str:
    """Apply a diff to a text, at any indentation."""
    lines = textwrap.dedent(text).splitlines()
    old = [line[1:].strip() for line in change.splitlines() if line[0] in "- "]
    new = [line[1:] for line in change.splitlines() if line[0] in "+ "]
    [at] = [
        at
        for at in range(len(lines) - len(old) + 1)
        if [line.strip() for line in lines[at : at + len(old)]] == old
    ]
    lines[at : at + len(old)] = new
    return "\n".join(lines) + "\n"


@pytest.mark.usefixtures("nlweb")
def test_the_documented_examples_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = DOCS / "explanation/nlweb.md"
    shown = next(block for block in blocks(page.read_text("utf-8")) if block.language == "python")
    monkeypatch.chdir(tmp_path)
    exec(compile(shown.code, str(page), "exec"), {"__name__": "__nlweb__"})
    import core.llm  # pyright: ignore[reportMissingImports]

    async def ask_llm(*_: Any, **__: Any) -> Any:
        return {"tool": "details", "score": 90, "parameters": {"item_name": "Pad Thai"}}

    core.llm.ask_llm = ask_llm
    handler = Handler()
    assert chosen(handler) == ["details"]
    asyncio.run(handler.route_query_based_on_tools())
    assert handler.messages[1:] == [{"message_type": "item_details", "name": "Pad Thai"}]
