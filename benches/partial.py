"""Microseconds per token for the value of a structured reply, read after every token.

A reply is JSON that a model streams, and an application shows it as far as it is written.
pydantic-ai and instructor parse the text again from its beginning for each value that they show, as
partial-json-parser does. Their parsers are measured without what they do around them, and agents of
toolweave and pydantic-ai whole, each with a model that writes the tokens.
"""

from __future__ import annotations

import asyncio
import json
import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import partial_json_parser
import pydantic_ai
import pydantic_core
from instructor.dsl.partial import Partial
from pydantic import BaseModel, TypeAdapter
from pydantic_ai.models.function import FunctionModel

from peers import Reparse
from replies import CODE, cut, repeated
from report import Section, Target
from streaming import cell, growth_of
from toolweave import JsonStream
from toolweave.agent import Agent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from measure import Start, Timing
    from streaming import Effort


class Stop(BaseModel):
    """One stop of a journey."""

    city: str
    days: int
    notes: list[str]


class Journey(BaseModel):
    """The output type of the replies."""

    title: str
    text: str
    stops: list[Stop]


SCHEMA = Journey.model_json_schema()
STREAM = JsonStream(SCHEMA)
ADAPTER = TypeAdapter(Journey)


@dataclass(frozen=True)
class Output:
    """Structured reply of one shape and size."""

    size: str
    text: str


@dataclass
class Live:
    """Session that reads the growing value after every token."""

    stream: JsonStream
    read: Callable[[JsonStream], object]

    def feed(self, tokens: Sequence[str]) -> None:
        """Push each token and read the value."""
        stream, read = self.stream, self.read
        for token in tokens:
            stream.push(token)
            read(stream)

    def finish(self) -> None:
        """Validate the whole."""
        self.stream.finish()


class Chunks:
    """Session of instructor, which reads an iterable of chunks."""

    def __init__(self) -> None:
        self.tokens: list[str] = []
        self.models = Partial[Journey].model_from_chunks(self._pull())

    def _pull(self) -> Any:
        while self.tokens:
            yield self.tokens.pop()

    def feed(self, tokens: Sequence[str]) -> None:
        """Build the partial model after each token."""
        for token in tokens:
            self.tokens.append(token)
            next(self.models)

    def finish(self) -> None:
        """Validate the whole."""
        for _ in self.models:
            pass


class AgentSession(ABC):
    """Session of an agent whose model writes the tokens that are fed.

    Each feed lasts until the agent has asked for the token after the last.
    """

    def __init__(self) -> None:
        self.tokens: asyncio.Queue[str | None] = asyncio.Queue()
        self.output: object = None
        self.loop = asyncio.new_event_loop()
        self.reading = self.loop.create_task(self._read())

    @abstractmethod
    async def _read(self) -> object:
        """Read all values of the output, and return the last."""

    async def _written(self) -> AsyncIterator[str]:
        while (token := await self.tokens.get()) is not None:
            yield token
            self.tokens.task_done()

    async def _all_read(self) -> None:
        read = asyncio.ensure_future(self.tokens.join())
        await asyncio.wait((read, self.reading), return_when=asyncio.FIRST_COMPLETED)
        if self.reading.done():
            raise RuntimeError("the agent ended early") from self.reading.exception()

    def feed(self, tokens: Sequence[str]) -> None:
        """Let the model write the tokens."""
        for token in tokens:
            self.tokens.put_nowait(token)
        self.loop.run_until_complete(self._all_read())

    def finish(self) -> None:
        """End the reply, and check that the output is whole."""
        self.tokens.put_nowait(None)
        output = self.loop.run_until_complete(self.reading)
        self.loop.close()
        if not isinstance(output, Journey):
            raise TypeError(f"the output should be a Journey, not {output!r:.100}")


class OurAgent(AgentSession):
    """Session of toolweave's agent."""

    async def _read(self) -> object:
        async def model(messages: object) -> AsyncIterator[str]:  # noqa: ARG001 - for any prompt
            async for token in self._written():
                yield token

        agent = Agent(model, output_type=Journey, output_mode="prompted")
        async with agent.open("Plan a journey.") as run:
            async for partial in run.stream_output():
                self.output = partial
        return run.result.output


class TheirAgent(AgentSession):
    """Session of pydantic-ai's agent, which shows a value for each token as well."""

    async def _read(self) -> object:
        async def model(*_: object) -> AsyncIterator[str]:
            async for token in self._written():
                yield token

        agent = pydantic_ai.Agent(
            FunctionModel(stream_function=model), output_type=pydantic_ai.PromptedOutput(Journey)
        )
        async with agent.run_stream("Plan a journey.") as result:
            async for partial in result.stream_output(debounce_by=None):
                self.output = partial
        return self.output


@dataclass
class Contestant:
    """Way to read a reply while it streams."""

    name: str
    package: str
    start: Start

    @property
    def label(self) -> str:
        """Name and version."""
        return f"{self.name} ({self.package} {version(self.package)})"


def from_pydantic(text: str) -> object:
    """Parse the text so far as pydantic-ai does for an output that is not validated."""
    return pydantic_core.from_json(text, allow_partial="trailing-strings")


def validated(text: str) -> object:
    """Validate the text so far as pydantic-ai does; incomplete output is an error there."""
    try:
        return ADAPTER.validate_json(text, experimental_allow_partial="trailing-strings")
    except ValueError:
        return None


def parsed(text: str) -> object:
    """Parse the text so far; the first token is not enough."""
    try:
        return partial_json_parser.loads(text)
    except ValueError:
        return None


VALUE = "value"
SNAPSHOT = "snapshot()"
CONTESTANTS = [
    Contestant(VALUE, "toolweave", lambda: Live(STREAM.fresh(), lambda stream: stream.value)),
    Contestant(SNAPSHOT, "toolweave", lambda: Live(STREAM.fresh(), JsonStream.snapshot)),
    Contestant("from_json", "pydantic-core", lambda: Reparse(from_pydantic)),
    Contestant("validate_json", "pydantic", lambda: Reparse(validated)),
    Contestant("Partial", "instructor", Chunks),
    Contestant("loads", "partial-json-parser", lambda: Reparse(parsed)),
    Contestant("Agent", "toolweave", OurAgent),
    Contestant("pydantic_ai.Agent", "pydantic-ai-slim", TheirAgent),
]


def string_output(size: str, chars: int) -> Output:
    """Return a reply that is one long string: source code, dense in quotes and backslashes."""
    value = {"title": "Notes", "text": repeated(CODE, chars), "stops": []}
    return Output(size, json.dumps(value, ensure_ascii=False))


def array_output(size: str, chars: int) -> Output:
    """Return a reply that is a long list of small objects."""
    stop = {"city": "Reykjavík", "days": 12, "notes": ["by bus", "two nights"]}
    count = chars // len(json.dumps(stop, ensure_ascii=False))
    value = {"title": "A journey", "text": "In short.", "stops": [stop] * count}
    return Output(size, json.dumps(value, ensure_ascii=False))


def run(effort: Effort) -> Section:
    """Run all contestants on replies of growing sizes."""
    sizes = {"1 KB": 1_000, "10 KB": 10_000, "100 KB": 100_000}
    cases: dict[str, list[Any]] = {
        "string": [string_output(size, chars) for size, chars in sizes.items()],
        "array": [array_output(size, chars) for size, chars in sizes.items()],
    }
    results: dict[tuple[str, str, str], Timing] = {}
    for case, outputs in cases.items():
        slow: set[str] = set()
        for output in outputs:
            print(f"partial: {case} {output.size}", file=sys.stderr)
            starts = {each.name: each.start for each in CONTESTANTS if each.name not in slow}
            for name, timing in effort.race(starts, cut(output.text)).items():
                results[name, case, output.size] = timing
                if not timing.complete:
                    slow.add(name)
    columns = [(case, output.size) for case, outputs in cases.items() for output in outputs]
    growth = {
        (each.name, case): growth_of(results, each.name, case, outputs)
        for each in CONTESTANTS
        for case, outputs in cases.items()
    }
    rows: list[list[str]] = []
    for each in CONTESTANTS:
        cells = [cell(results, each.name, case, size) for case, size in columns]
        known = [slope for case in cases if (slope := growth[each.name, case]) is not None]
        rows.append([each.label, *cells, f"{max(known):.2f}" if known else "-"])
    return Section(
        "Values of structured replies",
        "Microseconds per token of 4 characters, with the value read after every token. `>`: "
        "stopped at its budget, so this is a lower bound; `n/r`: not run, because a shorter reply "
        "exceeded the budget. `from_json` and `loads` build plain values; `validate_json` and "
        "`Partial` build models. Growth is the largest slope of time against length on a log-log "
        "plot; 1 is linear, 2 is quadratic.",
        ["", *(f"{case} {size}" for case, size in columns), "growth"],
        rows,
        [
            Target(f"growth of `{VALUE}` ({case})", 1.1, slope, at_least=0.8)
            for case in cases
            if (slope := growth[VALUE, case]) is not None
        ],
    )
