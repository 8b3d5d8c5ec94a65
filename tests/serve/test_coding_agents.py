"""Coding agents that run without a terminal: each writes a file by a call of its model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from loops import KEY, MODEL, SETUPS, hermes
from node_programs import PACKAGES, run_node
from openai_endpoint import answering
from serve_processes import command

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TASK = "Create greeting.txt with a greeting."
WRITTEN = "Hello from the model.\n"
ANSWER = "The file is written."


def scripted(tool: str, path_parameter: str, path: Path) -> Callable[[dict[str, Any]], str]:
    """Answer the requests of an agent: it also asks for a title, without tools."""

    def answer(request: dict[str, Any]) -> str:
        if tool not in json.dumps(request):
            return "A greeting"
        if WRITTEN.strip() in json.dumps(request["messages"]):
            return ANSWER
        arguments: Any = {path_parameter: str(path), "content": WRITTEN}
        return f"I will write it.\n{hermes((tool, arguments))}"

    return answer


def run_opencode(url: str, folder: Path, variables: dict[str, str]) -> str:
    options = {"baseURL": url, "apiKey": KEY}
    model = {"name": MODEL, "limit": {"context": 128_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Local",
        "options": options,
        "models": {MODEL: model},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": f"local/{MODEL}",
        "small_model": f"local/{MODEL}",
        "provider": {"local": provider},
    }
    (folder / "opencode.json").write_text(json.dumps(settings), "utf-8")
    off = ("MODELS_FETCH", "AUTOUPDATE", "LSP_DOWNLOAD")
    variables |= {f"OPENCODE_DISABLE_{what}": "1" for what in off}
    program = str(PACKAGES / ".bin/opencode")
    return run_node([program, "run", TASK], cwd=folder, env=variables, input="")


def run_qwen(url: str, folder: Path, variables: dict[str, str]) -> str:
    variables |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "OPENAI_MODEL": MODEL}
    arguments = ["--auth-type", "openai", "--yolo", "-p", TASK]
    program = str(PACKAGES / ".bin/qwen")
    return run_node([program, *arguments], cwd=folder, env=variables, input="")


@pytest.mark.parametrize("setup", ["hermes", "auto"])
@pytest.mark.parametrize(
    ("run", "tool", "path_parameter"),
    [(run_opencode, "write", "filePath"), (run_qwen, "write_file", "file_path")],
)
def test_an_agent_writes_the_file_and_ends(
    run: Callable[[str, Path, dict[str, str]], str],
    tool: str,
    path_parameter: str,
    setup: str,
    tmp_path: Path,
) -> None:
    home, folder = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    folder.mkdir()
    file = folder / "greeting.txt"
    variables = {"HOME": str(home)}
    for kind in ("CONFIG", "DATA", "CACHE", "STATE"):
        variables[f"XDG_{kind}_HOME"] = str(home / kind.lower())
    with (
        answering(scripted(tool, path_parameter, file)) as endpoint,
        command("--upstream", endpoint.url, *SETUPS[setup].options) as (_, url),
    ):
        output = run(url, folder, variables)
    assert file.read_text("utf-8") == WRITTEN
    assert ANSWER in output
