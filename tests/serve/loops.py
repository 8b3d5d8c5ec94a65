"""Loops through `toolweave serve`, in front of a scripted model that writes calls as text."""

from __future__ import annotations

import itertools
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from openai_endpoint import serving
from serve_processes import command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openai_endpoint import Endpoint

MODEL = "acme"
KEY = "unused"
QUESTION = "What is (2 + 3) * 4?"
Call = tuple[str, dict[str, int]]
Outcome = tuple[str, list[Call]]
"""Last text of a loop, and the calls that the tools got."""
if TYPE_CHECKING:
    Run = Callable[[str, bool], Outcome]
    """Client of a server's URL; it reads streams if the second argument is true."""


class Tools:
    """The two tools of a loop, and the calls that they got."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def add(self, a: int, b: int) -> str:
        """Add two numbers."""
        self.calls.append(("add", {"a": a, "b": b}))
        return str(a + b)

    def multiply(self, a: int, b: int) -> str:
        """Multiply two numbers."""
        self.calls.append(("multiply", {"a": a, "b": b}))
        return str(a * b)


class Scenario(NamedTuple):
    """Calls of each reply but the last, and the text of the last."""

    replies: tuple[tuple[Call, ...], ...]
    answer: str

    @property
    def calls(self) -> list[Call]:
        return list(itertools.chain(*self.replies))


class Setup(NamedTuple):
    """Options of the command, and the way the model writes a call."""

    options: tuple[str, ...]
    write: Callable[[Call], str]


def natural(call: Call) -> str:
    name, arguments = call
    return f"<{name}>{json.dumps(arguments)}</{name}>"


def hermes(call: Call) -> str:
    name, arguments = call
    written = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{written}\n</tool_call>"


SCENARIOS = {
    "one after the other": Scenario(
        ((("add", {"a": 2, "b": 3}),), (("multiply", {"a": 5, "b": 4}),)), "It is 20."
    ),
    "in parallel": Scenario(
        ((("add", {"a": 2, "b": 3}), ("multiply", {"a": 4, "b": 5})),), "They are 5 and 20."
    ),
}
SETUPS = {
    "natural": Setup(("--mode", "natural"), natural),
    "hermes": Setup(("--mode", "natural", "--dialect", "hermes"), hermes),
    "auto": Setup((), hermes),
}


@contextmanager
def serve_scenario(scenario: Scenario, setup: Setup) -> Iterator[tuple[str, Endpoint]]:
    """Run the command in front of a model that follows a scenario."""
    replies = ["I will look.\n" + "\n".join(map(setup.write, calls)) for calls in scenario.replies]
    with (
        serving(*replies, scenario.answer) as endpoint,
        command("--upstream", endpoint.url, *setup.options) as (_, url),
    ):
        yield url, endpoint


def check_loop(run: Run, name: str, setup: str, stream: bool) -> None:
    """Run a scenario: each call must reach its tool once, and its result the model."""
    scenario = SCENARIOS[name]
    with serve_scenario(scenario, SETUPS[setup]) as (url, endpoint):
        text, calls = run(url, stream)
    # Frameworks may run the calls of one reply in any order.
    assert sorted(map(json.dumps, calls)) == sorted(map(json.dumps, scenario.calls))
    assert text == scenario.answer
    assert len(endpoint.requests) == len(scenario.replies) + 1
    assert all(("tools" in request) == (setup == "auto") for request in endpoint.requests)
    *_, (first, last) = itertools.pairwise(endpoint.requests)
    new = json.dumps(last["messages"][len(first["messages"]) :])
    for tool, arguments in scenario.replies[-1]:
        expected = getattr(Tools(), tool)(**arguments)
        assert expected in new


def each_way(test: Any) -> Any:
    """Run a test in all scenarios and setups, streaming and not."""
    for names, values in (
        ("stream", (False, True)),
        ("setup", tuple(SETUPS)),
        ("scenario", tuple(SCENARIOS)),
    ):
        test = pytest.mark.parametrize(names, values)(test)
    return test
