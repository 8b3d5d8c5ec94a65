"""Cost of imports beyond `import asyncio`: CPU time, memory and modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING

from report import Section, Target

if TYPE_CHECKING:
    from streaming import Effort

TOOLWEAVE = "import toolweave"
NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"

STATEMENTS = {
    TOOLWEAVE: "toolweave",
    "from toolweave import ToolExecutor, tool": "toolweave",
    "from toolweave import Agent": "toolweave",
    "from pydantic import BaseModel": "pydantic",
    "from pydantic_ai import Agent": "pydantic-ai-slim",
    "from langgraph.prebuilt import ToolNode": "langgraph-prebuilt",
    "from fastmcp import FastMCP": "fastmcp",
}

# Current memory, not the peak, which may have been at the start of Python.
PROGRAM = """
import asyncio, json, resource, sys, time

def resident():
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except FileNotFoundError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

resident()  # Loads a module, too.
modules, memory, begun = len(sys.modules), resident(), time.process_time()
exec(sys.argv[1])
took = time.process_time() - begun
print(json.dumps([took * 1e3, (resident() - memory) / 2**20, len(sys.modules) - modules]))
"""


def cost(statement: str) -> tuple[float, float, int]:
    """Return the CPU milliseconds, MiB and modules of one import in a new process."""
    command = [sys.executable, "-c", PROGRAM, statement]
    # With bytecode on disk, as installed packages have it.
    environment = {name: value for name, value in os.environ.items() if name != NO_BYTECODE}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    milliseconds, mebibytes, modules = json.loads(done.stdout)
    return milliseconds, mebibytes, modules


def run(effort: Effort) -> Section:
    """Run all imports in turns; the minimum counts."""
    print("imports", file=sys.stderr)
    best: dict[str, tuple[float, float, int]] = {}
    # One more than counted: the first writes the bytecode.
    for round_number in range(effort.repeats * 2 + 1):
        for statement in STATEMENTS:
            found = cost(statement)
            if round_number:
                before = best.get(statement, found)
                best[statement] = (
                    min(before[0], found[0]),
                    min(before[1], found[1]),
                    found[2],
                )
    rows = [
        [
            f"`{statement}` ({package} {version(package)})",
            *(f"{figure:,.1f}" for figure in best[statement][:2]),
            f"{best[statement][2]:,}",
        ]
        for statement, package in STATEMENTS.items()
    ]
    return Section(
        "Imports",
        "Cost beyond `import asyncio`, each in a new process: CPU milliseconds, MiB of resident "
        "memory, and modules.",
        ["", "ms", "MiB", "modules"],
        rows,
        [
            Target("`import toolweave`, CPU milliseconds", 30, best[TOOLWEAVE][0]),
            Target("`import toolweave`, MiB", 8, best[TOOLWEAVE][1]),
        ],
    )
