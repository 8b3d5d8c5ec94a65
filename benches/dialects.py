"""Microseconds per token in the dialects of models, beside the parsers of inference servers.

All get the same chunks from Python: special tokens whole, everything else four characters at a
time. The parsers in Rust are behind the methods of `benches/crates`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import toolweave_peers

from measure import Timing, race, run_once, slope
from replies import SCHEMAS, TOKEN_CHARS
from report import Section, Target
from toolweave import FunctionContract, Parser, TextDelta, ToolCall
from written import DIALECTS, Written, floods, replies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streaming import Effort

CRATES = Path(__file__).parent / "crates" / "Cargo.toml"
CONTRACTS = [FunctionContract(name, parameters=schema) for name, schema in SCHEMAS.items()]
TOOLS = json.dumps(SCHEMAS)
VOCABULARY = "o200k_base.tiktoken"
FLOODED = (8_000, 80_000)
"""Characters of hostile replies."""


@dataclass
class Kept:
    """Text and calls that a parser has reported."""

    text: str = ""
    calls: dict[int, tuple[str, str]] = field(default_factory=dict)
    """Name and arguments of each call, by index."""

    def fault(self, reply: Written) -> str | None:
        """Return what is missing of a reply, if anything is."""
        named = [(name, _value(text)) for _, (name, text) in sorted(self.calls.items())]
        faults: list[str] = []
        found = sum(call in named for call in reply.calls)
        if len(named) != len(reply.calls):
            faults.append(f"{len(named)} of {len(reply.calls)} calls")
        elif found != len(reply.calls):
            faults.append(f"{len(reply.calls) - found} wrong arguments")
        if self.text.strip() != reply.prose.strip():
            faults.append(f"{len(self.text.strip())} of {len(reply.prose.strip())} characters")
        return ", ".join(faults) or None


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


class Push(Protocol):
    """Protocol of a parser that takes one chunk."""

    def push(self, chunk: str, /) -> Any:
        """Take a chunk."""

    def finish(self) -> Any:
        """End the reply."""


@dataclass
class Chunked:
    """Session that pushes each chunk."""

    parser: Push

    def feed(self, tokens: Sequence[str]) -> None:
        """Push each chunk."""
        push = self.parser.push
        for token in tokens:
            push(token)

    def finish(self) -> None:
        """End the reply."""
        self.parser.finish()

    def kept(self, chunks: Sequence[str]) -> Kept:
        """Read a reply, and return what is reported."""
        kept = Kept()
        for events in (*map(self.parser.push, chunks), self.parser.finish()):
            if not events:
                continue
            text, pieces = events
            kept.text += text
            for index, name, arguments in pieces:
                before = kept.calls.get(index, ("", ""))
                kept.calls[index] = (name or before[0], before[1] + arguments)
        return kept


class Own(Chunked):
    """Session of this package's parser."""

    def __init__(self, dialects: Any) -> None:
        super().__init__(Parser(CONTRACTS, dialects=dialects))

    def kept(self, chunks: Sequence[str]) -> Kept:
        """Read a reply, and return what is reported."""
        kept = Kept()
        for events in (*map(self.parser.push, chunks), self.parser.finish()):
            for event in events:
                if isinstance(event, TextDelta):
                    kept.text += event.text
                elif isinstance(event, ToolCall):
                    kept.calls[len(kept.calls)] = (event.name, json.dumps(event.arguments))
        return kept


class Many(Own):
    """Session of this package's parser that crosses the boundary once for many chunks."""

    def feed(self, tokens: Sequence[str]) -> None:
        """Push all chunks at once."""
        self.parser.push_many(tokens)  # type: ignore[attr-defined]


@cache
def harmony() -> Any:
    """Return the encoding of harmony, whose vocabulary comes with the crate `tiktoken-rs`."""
    command = ["cargo", "metadata", "--format-version", "1", "--manifest-path", str(CRATES)]
    about = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    found = next(each for each in about["packages"] if each["name"] == "tiktoken-rs")
    assets = Path(found["manifest_path"]).parent / "assets"
    if not (assets / VOCABULARY).is_file():
        raise FileNotFoundError(assets / VOCABULARY)
    os.environ["TIKTOKEN_ENCODINGS_BASE"] = str(assets)
    import openai_harmony

    return openai_harmony.load_harmony_encoding("HarmonyGptOss")


class Harmony:
    """Session of `openai_harmony.StreamableParser`, fed with the tokens of each chunk."""

    def __init__(self) -> None:
        import openai_harmony

        self.parser = openai_harmony.StreamableParser(harmony(), role=openai_harmony.Role.ASSISTANT)

    def feed(self, tokens: Sequence[Sequence[int]]) -> None:
        """Process each token, and read what it added."""
        parser = self.parser
        for chunk in tokens:
            for token in chunk:
                parser.process(token)
                parser.last_content_delta  # noqa: B018

    def finish(self) -> None:
        """End the reply."""
        self.parser.process_eos()

    def kept(self, chunks: Sequence[Sequence[int]]) -> Kept:
        """Read a reply, and return what is reported."""
        self.feed(chunks)
        self.finish()
        kept = Kept()
        for message in self.parser.messages:
            text = "".join(part.text for part in message.content)
            if message.recipient and message.recipient.startswith("functions."):
                name = message.recipient.removeprefix("functions.")
                kept.calls[len(kept.calls)] = (name, text)
            else:
                kept.text += text
        return kept


@dataclass(frozen=True)
class Contestant:
    """Parser that reads some dialects."""

    name: str
    start: Callable[[str], Any]
    """Start a session in a dialect, by the name it has there."""
    dialects: dict[str, str]
    """Names of dialects there, by their names here."""
    ids: bool = False
    """True if it takes the numbers of tokens."""

    def given(self, chunks: Sequence[str]) -> Sequence[Any]:
        """Return the chunks as it takes them."""
        if not self.ids:
            return chunks
        encoding = harmony()
        return [encoding.encode(chunk, allowed_special="all") for chunk in chunks]


def pinned(crate: str) -> str:
    """Return the name and version of a crate."""
    found = re.search(rf'^{crate} = "=(.+)"', CRATES.read_text(encoding="utf-8"), re.MULTILINE)
    return f"{crate} {found[1]}" if found else crate


SAME = {dialect: dialect for dialect in DIALECTS}
NAMED = "toolweave push, named"
CONTESTANTS = [
    Contestant(NAMED, lambda dialect: Own((dialect,)), SAME),
    Contestant("toolweave push, auto", lambda _: Own("auto"), SAME),
    Contestant("toolweave push_many, auto", lambda _: Many("auto"), SAME),
    Contestant(
        pinned("tool-parser"),
        lambda name: Chunked(toolweave_peers.ToolParser(name, TOOLS)),
        {
            "hermes": "qwen",
            "qwen3_coder": "qwen_coder",
            "mistral": "mistral",
            "deepseek_v31": "deepseek31",
            "deepseek_v32": "deepseek_v4",
            "pythonic": "pythonic",
        },
    ),
    Contestant(
        pinned("dynamo-parsers"),
        lambda name: Chunked(toolweave_peers.Dynamo(name, TOOLS)),
        SAME | {"deepseek_v31": "deepseek_v3_1", "deepseek_v32": "deepseek_v4"},
    ),
    Contestant(
        pinned("dynamo-parsers-v2"),
        lambda name: Chunked(toolweave_peers.DynamoV2(name, TOOLS)),
        {"qwen3_coder": "qwen3_coder", "harmony": "harmony", "deepseek_v32": "deepseek_v4"},
    ),
    Contestant(
        f"openai-harmony {version('openai-harmony')}",
        lambda _: Harmony(),
        {"harmony": "harmony"},
        ids=True,
    ),
]

Results = dict[tuple[str, str, str], Timing]
"""Timings by contestant, case and size."""


def run(effort: Effort) -> Section:
    """Run all dialects."""
    harmony()  # other parsers of harmony read the vocabulary too
    rows: list[list[str]] = []
    targets: list[Target] = []
    header: list[str] = []
    for dialect in DIALECTS:
        cases = replies(dialect, quick=effort.small)
        columns = [(case, reply.size) for case, sizes in cases.items() for reply in sizes]
        header = [f"{case} {size}" for case, size in columns]
        fighting = [each for each in CONTESTANTS if dialect in each.dialects]
        notes = {each.name: checked(each, dialect, cases) for each in fighting}
        results = timed(effort, dialect, fighting, cases)
        hostile = flooded(effort, dialect, fighting)
        for each in fighting:
            cells = [_cell(results.get((each.name, *column))) for column in columns]
            growths = [_growth(results, each.name, case, cases[case]) for case in cases]
            known = [value for value in growths if value is not None]
            grown = hostile[each.name].growth
            rows.append(
                [
                    f"{dialect}: {each.name}",
                    *cells,
                    f"{max(known):.2f}" if known else "-",
                    hostile[each.name].cell(),
                    "-" if grown is None else f"{grown:.2f}",
                    notes[each.name] or "all",
                ]
            )
        targets += _targets(dialect, fighting, notes, results, cases)
        targets += _flood_targets(dialect, notes, hostile)
    return Section(
        "Dialects",
        "Microseconds per token of 4 characters, of what each dialect's models write; special "
        "tokens arrive whole. `>`: stopped at its budget; `n/r`: not run, because a shorter reply "
        "exceeded it. Parsers of crates are called through a method in Rust that returns an empty "
        "tuple, or text and pieces of calls; `tool-parser` by `parse_incremental`, polled once a "
        "chunk; `dynamo-parsers` by its jailed stream, a response in and out for each chunk; "
        "`dynamo-parsers-v2` by `push`; `openai-harmony` by `process` and `last_content_delta` for "
        "each token. They neither validate nor build the values of arguments, as toolweave does. "
        "Floods: the slowest of six hostile replies of 80 KB, and their largest growth. Kept: "
        "what is left of the smallest replies, `all` if nothing is missing.",
        ["", *header, "growth", "floods", "growth of floods", "kept"],
        rows,
        targets,
    )


def checked(each: Contestant, dialect: str, cases: dict[str, list[Written]]) -> str | None:
    """Return what a contestant loses of the smallest replies."""
    faults: dict[str, str] = {}
    for case, sizes in cases.items():
        session = each.start(each.dialects[dialect])
        try:
            fault = session.kept(each.given(sizes[0].chunks)).fault(sizes[0])
        except BaseException as err:  # a panic is none of `Exception`
            if isinstance(err, KeyboardInterrupt):
                raise
            fault = type(err).__name__
        if fault:
            faults[case] = fault
    return "; ".join(f"{case}: {fault}" for case, fault in faults.items()) or None


def timed(
    effort: Effort,
    dialect: str,
    fighting: Sequence[Contestant],
    cases: dict[str, list[Written]],
) -> Results:
    """Race the contestants on all replies of a dialect."""
    results: Results = {}
    for case, sizes in cases.items():
        slow: set[str] = set()
        for reply in sizes:
            print(f"dialects: {dialect} {case} {reply.size}", file=sys.stderr)
            racing = [
                each
                for each in fighting
                if each.name not in slow and not raises(effort, each, dialect, reply.chunks)
            ]
            for name, timing in _race(effort, dialect, racing, reply.chunks).items():
                results[name, case, reply.size] = timing
                if not timing.complete:
                    slow.add(name)
    return results


def _race(
    effort: Effort, dialect: str, racing: Sequence[Contestant], chunks: Sequence[str]
) -> dict[str, Timing]:
    """Race contestants on the same chunks, in turns, and count tokens of four characters."""
    chars = sum(map(len, chunks))
    timings: dict[str, Timing] = {}
    for ids in (False, True):
        group = [each for each in racing if each.ids is ids]
        if group:
            starts = {each.name: _starter(each, dialect) for each in group}
            timings |= race(
                starts,
                group[0].given(chunks),
                budget=effort.budget,
                repeats=effort.repeats,
                seconds=effort.seconds,
            )
    return {
        name: Timing(
            timing.seconds,
            max(1, round(chars / TOKEN_CHARS * timing.tokens / len(chunks))),
            timing.complete,
        )
        for name, timing in timings.items()
    }


def _starter(each: Contestant, dialect: str) -> Callable[[], Any]:
    return lambda: each.start(each.dialects[dialect])


def flooded(effort: Effort, dialect: str, fighting: Sequence[Contestant]) -> dict[str, Flooded]:
    """Return the slowest of the hostile replies and the largest growth, by contestant."""
    small, large = (floods(dialect, chars) for chars in FLOODED)
    found: dict[str, Flooded] = {each.name: Flooded() for each in fighting}
    for name in small:
        print(f"dialects: {dialect} flood: {name}", file=sys.stderr)
        racing = list(fighting)
        timings: dict[str, list[Timing]] = {each.name: [] for each in fighting}
        for flood in (small, large):
            for each in list(racing):
                if raises(effort, each, dialect, flood[name]):
                    found[each.name].errors += 1
                    racing.remove(each)
            for peer, timing in _race(effort, dialect, racing, flood[name]).items():
                timings[peer].append(timing)
            racing = [each for each in racing if timings[each.name][-1].complete]
        for peer, runs in timings.items():
            found[peer].add(runs)
    return found


@dataclass
class Flooded:
    """Cost of the hostile replies for a contestant."""

    worst: Timing | None = None
    growth: float | None = None
    errors: int = 0
    """Number of replies that raised an error."""

    def add(self, runs: Sequence[Timing]) -> None:
        """Add the runs of one reply, in growing sizes."""
        for timing in runs[-1:]:
            if self.worst is None or timing.per_token > self.worst.per_token:
                self.worst = timing
        growth = slope(runs)
        if growth is not None:
            self.growth = growth if self.growth is None else max(growth, self.growth)

    def cell(self) -> str:
        """Return the cell of the slowest reply."""
        cell = "-" if self.worst is None else str(self.worst)
        return f"{cell} ({self.errors} errors)" if self.errors else cell


def raises(effort: Effort, each: Contestant, dialect: str, chunks: Sequence[str]) -> bool:
    """Return whether a contestant raises an error in a reply."""
    try:
        run_once(_starter(each, dialect), each.given(chunks), effort.budget)
    except BaseException as err:  # a panic is none of `Exception`
        if isinstance(err, KeyboardInterrupt):
            raise
        return True
    return False


def _cell(timing: Timing | None) -> str:
    return "n/r" if timing is None else str(timing)


def _growth(results: Results, name: str, case: str, sizes: Sequence[Written]) -> float | None:
    found = [results.get((name, case, reply.size)) for reply in sizes]
    return slope([timing for timing in found if timing is not None])


def _targets(
    dialect: str,
    fighting: Sequence[Contestant],
    notes: dict[str, str | None],
    results: Results,
    cases: dict[str, list[Written]],
) -> list[Target]:
    """Compare with the fastest that keeps everything, on the longest reply that each has read."""
    found: list[Target] = []
    for case, sizes in cases.items():
        ratios: list[tuple[float, str]] = []
        for each in fighting:
            if each.name.startswith("toolweave") or notes[each.name]:
                continue
            read = [reply.size for reply in sizes if (each.name, case, reply.size) in results]
            if read:
                own, other = (results[name, case, read[-1]] for name in (NAMED, each.name))
                name = f"{dialect}, {case} {read[-1]}: relative to {each.name}"
                ratios.append((own.per_token / other.per_token, name))
        if ratios:
            ratio, name = max(ratios)
            found.append(Target(name, 1.0, ratio))
        growth = _growth(results, NAMED, case, sizes)
        if growth is not None:
            found.append(Target(f"{dialect}, {case}: growth", 1.1, growth, at_least=0.9))
    return found


def _flood_targets(
    dialect: str, notes: dict[str, str | None], hostile: dict[str, Flooded]
) -> list[Target]:
    """Compare the slowest hostile replies with those of the best that keeps everything."""
    own = hostile[NAMED].worst
    others = [
        (each.worst.per_token, name)
        for name, each in hostile.items()
        if each.worst and not name.startswith("toolweave") and not notes[name]
    ]
    if own is None or not others:
        return []
    other, name = min(others)
    found = [Target(f"{dialect}, floods: relative to {name}", 1.0, own.per_token / other)]
    growth = hostile[NAMED].growth
    if growth is not None:
        found.append(Target(f"{dialect}, floods: growth", 1.1, growth))
    return found
