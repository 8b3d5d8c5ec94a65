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
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import toolweave_peers

from kept import Chunked, Kept, Many, Own
from measure import Timing, race, run_once, slope
from replies import SCHEMAS, TOKEN_CHARS
from report import Section, Target
from written import DIALECTS, Written, floods, replies

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from streaming import Effort

CRATES = Path(__file__).parent / "crates" / "Cargo.toml"
TOOLS = json.dumps(SCHEMAS)
VOCABULARY = "o200k_base.tiktoken"
FLOODED = (8_000, 80_000)
"""Characters of hostile replies."""
GROWING = 400
"""Minimum length in tokens of the replies whose growth is measured. Each reply starts with cold
caches, since the contestants take turns. That costs 10 to 25 microseconds in any dialect, which is
a third of the time of 10 calls without text."""


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
                kept.add(len(kept.names), name, text)
            else:
                kept.text.append(text)
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
OWN = "toolweave"
NAMED = f"{OWN} push, named"
CONTESTANTS = [
    Contestant(NAMED, lambda dialect: Own((dialect,)), SAME),
    Contestant(f"{OWN} push, auto", lambda _: Own("auto"), SAME),
    Contestant(f"{OWN} push_many, auto", lambda _: Many("auto"), SAME),
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
Faults = dict[tuple[str, str, str], str]
"""Parts of replies that a contestant lost, by contestant, case and size."""


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
        results, faults = timed(effort, dialect, fighting, cases)
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
                    _note(faults, each.name, cases),
                ]
            )
        targets += _targets(dialect, fighting, results, faults, cases)
        whole = [each.name for each in fighting if not _loses(faults, each.name, cases)]
        targets += _flood_targets(dialect, whole, hostile)
    return Section(
        "Dialects",
        "Microseconds per token of 4 characters, of what each dialect's models write; special "
        "tokens arrive whole. `>`: stopped at its budget; `n/r`: not run, because a shorter reply "
        "exceeded it. Parsers of crates are called through a method in Rust that returns an empty "
        "tuple, or text and pieces of calls; `tool-parser` by `parse_incremental`, polled once a "
        "chunk; `dynamo-parsers` by its jailed stream, a response in and out for each chunk; "
        "`dynamo-parsers-v2` by `push`; `openai-harmony` by `process` and `last_content_delta` for "
        "each token. They neither validate nor build the values of arguments, as toolweave does. "
        f"Growth is measured on replies of at least {GROWING} tokens: the start with cold caches "
        "weighs too much in shorter ones. "
        "Floods: the slowest of six hostile replies of 80 KB, and their largest growth. Kept: "
        "`all` if the text and the values of all arguments were those of the reply in every run "
        "that was not stopped; otherwise the smallest reply of each case that was not read whole. "
        "Targets are relative to parsers that have read the reply whole.",
        ["", *header, "growth", "floods", "growth of floods", "kept"],
        rows,
        targets,
    )


def timed(
    effort: Effort,
    dialect: str,
    fighting: Sequence[Contestant],
    cases: dict[str, list[Written]],
) -> tuple[Results, Faults]:
    """Race the contestants on all replies of a dialect, and check what they kept.

    Raises:
        RuntimeError: This package's parser did not read a reply whole.
    """
    results: Results = {}
    faults: Faults = {}
    for case, sizes in cases.items():
        slow: set[str] = set()
        for reply in sizes:
            print(f"dialects: {dialect} {case} {reply.size}", file=sys.stderr)
            racing: list[Contestant] = []
            for each in fighting:
                if each.name in slow:
                    continue
                error = raised(effort, each, dialect, reply.chunks)
                if error:
                    faults[each.name, case, reply.size] = error
                else:
                    racing.append(each)
            timings = _race(effort, dialect, racing, reply.chunks)
            for each in racing:
                results[each.name, case, reply.size] = timings[each.name]
                if not timings[each.name].complete:
                    slow.add(each.name)
                    continue
                fault = checked(each, dialect, reply)
                if fault:
                    faults[each.name, case, reply.size] = fault
    for (name, case, size), fault in faults.items():
        if name.startswith(OWN):
            raise RuntimeError(f"{name} did not read {dialect}, {case} {size} whole: {fault}")
    return results, faults


def checked(each: Contestant, dialect: str, reply: Written) -> str | None:
    """Return what a contestant loses of a reply."""
    try:
        return each.start(each.dialects[dialect]).kept(each.given(reply.chunks)).fault(reply)
    except BaseException as err:  # a panic is none of `Exception`
        if isinstance(err, KeyboardInterrupt):
            raise
        return type(err).__name__


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
                if raised(effort, each, dialect, flood[name]):
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


def raised(effort: Effort, each: Contestant, dialect: str, chunks: Sequence[str]) -> str | None:
    """Return the name of the error that a contestant raises in a reply, if it does."""
    try:
        run_once(_starter(each, dialect), each.given(chunks), effort.budget)
    except BaseException as err:  # a panic is none of `Exception`
        if isinstance(err, KeyboardInterrupt):
            raise
        return type(err).__name__
    return None


def _cell(timing: Timing | None) -> str:
    return "n/r" if timing is None else str(timing)


def _note(faults: Faults, name: str, cases: dict[str, list[Written]]) -> str:
    """Return the smallest reply of each case that was not read whole, and what it lost."""
    notes: list[str] = []
    for case, sizes in cases.items():
        lost = [reply.size for reply in sizes if (name, case, reply.size) in faults]
        notes += [f"{case} {size}: {faults[name, case, size]}" for size in lost[:1]]
    return "; ".join(notes) or "all"


def _loses(faults: Faults, name: str, cases: dict[str, list[Written]]) -> bool:
    """Return true if something of the smallest replies was lost."""
    return any((name, case, sizes[0].size) in faults for case, sizes in cases.items())


def _growth(results: Results, name: str, case: str, sizes: Sequence[Written]) -> float | None:
    found = [results.get((name, case, reply.size)) for reply in sizes if reply.tokens >= GROWING]
    return slope([timing for timing in found if timing is not None])


def _targets(
    dialect: str,
    fighting: Sequence[Contestant],
    results: Results,
    faults: Faults,
    cases: dict[str, list[Written]],
) -> list[Target]:
    """Compare with the fastest, on the longest reply that each has read whole."""
    found: list[Target] = []
    for case, sizes in cases.items():
        ratios: list[tuple[float, str]] = []
        for each in fighting:
            if each.name.startswith(OWN):
                continue
            runs = [(each.name, case, reply.size) for reply in sizes]
            read = [run[-1] for run in runs if run in results and run not in faults]
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


def _flood_targets(dialect: str, whole: Sequence[str], hostile: dict[str, Flooded]) -> list[Target]:
    """Compare the slowest hostile replies with those of the best that keeps everything."""
    own = hostile[NAMED].worst
    others = [
        (each.worst.per_token, name)
        for name, each in hostile.items()
        if each.worst and name in whole and not name.startswith(OWN)
    ]
    if own is None or not others:
        return []
    other, name = min(others)
    found = [Target(f"{dialect}, floods: relative to {name}", 1.0, own.per_token / other)]
    growth = hostile[NAMED].growth
    if growth is not None:
        found.append(Target(f"{dialect}, floods: growth", 1.1, growth))
    return found
