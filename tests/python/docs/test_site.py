"""The site of the documentation, without building it: navigation, links and generated pages."""

from __future__ import annotations

import re
from pathlib import Path

import griffe
import pytest

import api_pages
import repository_pages
from paths import DOCS, PAGES, ROOT
from toolweave import cli, exceptions

CONFIG = (ROOT / "mkdocs.yml").read_text("utf-8")
NAV = set(re.findall(r"^ +- (?:\w+: )?([a-z/-]+\.md)$", CONFIG, re.MULTILINE))


@pytest.fixture(scope="module")
def package() -> griffe.Module:
    return api_pages.load()


@pytest.fixture(scope="module")
def generated(package: griffe.Module) -> dict[str, str]:
    return {**api_pages.pages(package), **repository_pages.pages()}


def test_every_page_is_in_the_navigation() -> None:
    assert {page.relative_to(DOCS).as_posix() for page in PAGES} <= NAV


def test_the_navigation_has_only_pages(generated: dict[str, str]) -> None:
    missing = {page for page in NAV if not (DOCS / page).exists()}
    assert missing <= set(generated)


def test_links_lead_to_files_or_to_generated_pages(generated: dict[str, str]) -> None:
    for page in DOCS.rglob("*.md"):
        text = re.sub(r"(?ms)^```.*?^```$|`[^`\n]+`", "", page.read_text("utf-8"))
        for link in re.findall(r"\]\(([^)#]+)", text):
            if "://" not in link:
                target = (page.parent / link).resolve()
                is_generated = target.is_relative_to(DOCS) and (
                    target.relative_to(DOCS).as_posix() in generated
                )
                assert is_generated or target.exists(), (page.name, link)


def test_links_to_sources_lead_to_pages_with_their_text(generated: dict[str, str]) -> None:
    page = "[a](../../examples/scenes.py) [b](../explanation/web.md) [c](https://example.org/../x)"
    assert repository_pages.relink(page, "how-to/any.md") == page.replace(
        "../../examples/scenes.py", "../source/examples/scenes.py.md"
    )
    text = (ROOT / "examples/scenes.py").read_text("utf-8").rstrip()
    assert text in generated["source/examples/scenes.py.md"]


def test_every_public_module_has_a_page(generated: dict[str, str]) -> None:
    names = api_pages.public_modules()
    assert {"toolweave.agent", "toolweave.web", "toolweave.integrations.mcp"} <= set(names)
    assert {f"reference/api/{name}.md" for name in ("toolweave", *names)} <= set(generated)


def test_a_public_name_without_a_docstring_is_an_error(package: griffe.Module) -> None:
    agent = package["agent.Agent"]
    docstring = agent.docstring
    agent.docstring = None
    try:
        with pytest.raises(ValueError, match=r"without a docstring: .*toolweave\.agent\.Agent"):
            api_pages.pages(package)
    finally:
        agent.docstring = docstring


def test_every_command_error_and_setting_is_listed(generated: dict[str, str]) -> None:
    commands, errors = generated["reference/commands.md"], generated["reference/errors.md"]
    for name in cli.COMMANDS:
        assert f"usage: toolweave {name} " in commands
    for name in exceptions.__all__:
        assert f"| [`{name}`](api/toolweave.exceptions.md#toolweave.exceptions.{name})" in errors
    [row] = [line for line in errors.splitlines() if line.startswith("| [`OutputError`]")]
    assert "[`Agent.run`](api/toolweave.agent.md#toolweave.agent.Agent.run)" in row
    [row] = [line for line in errors.splitlines() if line.startswith("| [`RegistryError`]")]
    assert "#toolweave.registry.ToolRegistry.load)" in row
    assert "| 409 | `chat_busy` | A run is active in the chat. |" in errors
    assert "| 401 | `unauthorized` | The request is unauthenticated. |" in errors
    settings = generated["reference/settings.md"]
    assert (
        "| `max_iterations` | `10` | Maximum number of requests to the model per run. |" in settings
    )
    assert "## toolweave.Limits" in settings


def test_a_setting_has_the_value_and_the_text_of_its_default(
    package: griffe.Module, generated: dict[str, str]
) -> None:
    settings = generated["reference/settings.md"]
    for row in (
        "| `max_concurrency` | `16` | ",
        "| `max_message_bytes` | `16 * 1024 * 1024` | ",
        "| `max_tag_bytes` | `512` | Maximum size of a tag, ",
        "| `role` | `'user'` | The role of the author. |",
        "| `links` | `{}` | ",
    ):
        assert row in settings
    stale = package["web.Page"].members["links"]
    docstring, stale.docstring = stale.docstring, None
    try:
        with pytest.raises(ValueError, match=r"web\.Page: links must have a docstring"):
            api_pages.pages(package)
    finally:
        stale.docstring = docstring


def test_docstrings_link_to_the_pages_that_they_name(generated: dict[str, str]) -> None:
    assert "[Typed results](../explanation/results.md)" in generated["reference/settings.md"]
    assert "docs/" not in generated["reference/settings.md"]


def test_options_that_functions_share_are_listed_with_their_defaults(
    generated: dict[str, str],
) -> None:
    settings = generated["reference/settings.md"]
    for options, row in {
        "ClientOptions": "| `native_tools` | `True` | True if the model makes native calls. |",
        "ExecutorOptions": "| `timeout` | `60.0` | Timeout of a call, in seconds. |",
        "HandlerOptions": "| `max_response_bytes` | `",
        "OpenArguments": "| `run_id` | `None` | The id of the run in its messages;",
        "ParserOptions": "| `repair` | `'schema'` | Extent to which arguments are repaired. |",
        "RequestOptions": "| `scene` | `None` | The scene to run. |",
        "RoutingOptions": "| `cache` |  | Seconds for which the tool of a query is cached; 300",
        "RunArguments": "| `history` | `()` | The earlier messages of the conversation. |",
        "ToolOptions": "| `sequential` | `False` | If true, a call runs alone",
        "ToolUseOptions": "| `approval_timeout` | `300.0` | Timeout of an approval, in seconds. |",
    }.items():
        _, _, section = settings.partition(f"\n## {options}\n")
        assert row in section.partition("\n## ")[0], options
    assert "[`Agent.run`](api/toolweave.agent.md#toolweave.agent.Agent.run)" in settings


def test_every_set_of_options_of_a_public_function_has_defaults(package: griffe.Module) -> None:
    field = package["agent._options.RunArguments"].members["user"]
    docstring, field.docstring = field.docstring, None
    try:
        with pytest.raises(ValueError, match=r"RunArguments: user must have"):
            api_pages.pages(package)
    finally:
        field.docstring = docstring


def test_every_decision_is_in_the_index(generated: dict[str, str]) -> None:
    listed = re.findall(r"\]\((\S+)\) \|$", generated["decisions/index.md"], re.MULTILINE)
    assert listed == repository_pages.decisions()
    assert len(listed) == len(list(Path(DOCS / "decisions").glob("*.md"))) > 70


def test_options_of_a_stub_are_those_of_its_constructor(package: griffe.Module) -> None:
    limits = package["Limits"]
    assert "max_tag_bytes" in [parameter.name for parameter in limits.parameters]


def test_examples_are_in_fences_unless_they_are_indented_blocks(package: griffe.Module) -> None:
    assert "\n    ```pycon\n    >>> " in package["tools.Toolset"].docstring.value
    assert "```" not in package["agent"].docstring.value
    assert ">>> " in package["agent"].docstring.value
