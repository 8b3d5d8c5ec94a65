"""The versions of clients in docs/explanation/serve.md."""

from __future__ import annotations

import json
import re

from paths import DOCS, ROOT

PAGE = (DOCS / "explanation/serve.md").read_text("utf-8")
SECTION = PAGE.partition("\n## Clients\n")[2].partition("\n## ")[0]

CLIENTS = {
    "`openai` for Python": ["openai"],
    "`anthropic` for Python": ["anthropic"],
    "`openai` for Node": ["npm:openai"],
    "`@anthropic-ai/sdk`": ["npm:@anthropic-ai/sdk"],
    "AI SDK with `@ai-sdk/openai`": ["npm:ai", "npm:@ai-sdk/openai"],
    "AI SDK with `@ai-sdk/openai-compatible`": ["npm:ai", "npm:@ai-sdk/openai-compatible"],
    "AI SDK with `@ai-sdk/anthropic`": ["npm:ai", "npm:@ai-sdk/anthropic"],
    "LangChain, `ChatOpenAI`": ["langchain-openai"],
    "LangChain, `ChatAnthropic`": ["langchain-anthropic"],
    "pydantic-ai": ["pydantic-ai-slim"],
    "openai-agents": ["openai-agents"],
    "LiteLLM": ["litellm"],
    "`opencode-ai`": ["npm:opencode-ai"],
    "`@qwen-code/qwen-code`": ["npm:@qwen-code/qwen-code"],
}
"""The packages of each client, by the beginning of its row."""


def pinned() -> dict[str, str]:
    """Return the versions of all clients: those of the lock file, and the pins of their groups."""
    lock = json.loads((ROOT / "tests/serve/package-lock.json").read_text("utf-8"))
    versions = {
        f"npm:{name}": lock["packages"][f"node_modules/{name}"]["version"]
        for name in lock["packages"][""]["dependencies"]
    }
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    for name in ("test-serve", "test-litellm"):
        group = project.partition(f"\n{name} = [\n")[2].partition("\n]\n")[0]
        versions |= dict(re.findall(r'"([\w-]+)(?:\[[\w,]+\])?==([\d.]+)"', group))
    return versions


def rows() -> list[list[str]]:
    """Return the cells of the tables, without their heads."""
    lines = [line for line in SECTION.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if row[0] not in ("client", "agent", "---")]


def test_the_page_names_the_versions_that_the_tests_run_with() -> None:
    versions = pinned()
    found = {}
    for row in rows():
        client = next((client for client in CLIENTS if row[0].startswith(client)), row[0])
        found[client] = re.findall(r"\d+(?:\.\d+)+", " ".join(row[1:]))
    assert found.keys() == CLIENTS.keys()
    for client, packages in CLIENTS.items():
        expected = [versions[package] for package in packages]
        # A row may name the first two numbers alone.
        shortened = [".".join(version.split(".")[:2]) for version in expected]
        assert found[client] in (expected, shortened), client


def test_the_page_has_every_client_that_is_pinned() -> None:
    named = {package for packages in CLIENTS.values() for package in packages}
    assert named == pinned().keys()
