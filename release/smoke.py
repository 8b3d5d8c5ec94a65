"""Try an installed package: parse a reply, run an agent with a tool, and start the command.

python -I release/smoke.py      # -I: not the sources in the current folder
"""

from __future__ import annotations

import subprocess
import sys

import toolweave
from toolweave import Agent, ToolAggregateMessage
from toolweave.testing import ScriptedModel


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def main() -> None:
    """Raise an error if the package does not work."""
    model = ScriptedModel('<add>{"a": 15, "b": "27",}</add>', "It is 42.")
    result = Agent(model, [add]).run_sync("What is 15 + 27?")
    [results] = [each for each in result.messages if isinstance(each, ToolAggregateMessage)]
    [call] = results.tool_results
    assert (call.result, result.text) == ("42", "It is 42."), result
    command = [sys.executable, "-I", "-m", "toolweave", "--version"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert toolweave.__version__ in printed, printed
    print(f"toolweave {toolweave.__version__} works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
