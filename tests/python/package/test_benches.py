"""Tests of the benchmark harness."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from pathlib import Path

import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "benches"))

from attacks import ATTACKS, Attack
from imports import cost
from kept import LIMITS, Kept, Own
from loop import longest_block, seconds_of
from measure import Timing, race, run_once, slope
from replies import TOKEN_CHARS, all_replies
from report import BEGIN, END, Section, Target, write
from written import DIALECTS, array_reply, calls_reply, string_reply
from written import replies as replies_in


class Counting:
    """A session that collects tokens."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.finished = False

    def feed(self, tokens: list[str]) -> None:
        self.seen += tokens

    def finish(self) -> None:
        self.finished = True


def test_a_run_feeds_every_token_once_and_in_order() -> None:
    session = Counting()
    tokens = [str(number) for number in range(1000)]
    timing = run_once(lambda: session, tokens, budget=60)
    assert session.seen == tokens
    assert session.finished
    assert (timing.tokens, timing.complete) == (1000, True)


def test_a_run_over_its_budget_stops_and_says_so() -> None:
    session = Counting()
    ticks = itertools.count(0, 0.06)
    timing = run_once(lambda: session, ["x"] * 1000, budget=1, clock=lambda: next(ticks))
    assert not session.finished
    assert not timing.complete
    assert 0 < timing.tokens < 1000
    assert str(timing).startswith(">")


def test_an_entry_over_budget_does_not_run_again() -> None:
    class Slow(Counting):
        started = 0

        def feed(self, tokens: list[str]) -> None:
            Slow.started += not self.seen
            super().feed(tokens)
            for _ in tokens:
                sum(range(1_000))

    best = race({"slow": Slow, "fast": Counting}, ["x"] * 20_000, budget=0.01, repeats=3, seconds=0)
    assert best["fast"].complete
    assert not best["slow"].complete
    assert Slow.started == 1


def test_the_slope_distinguishes_linear_from_quadratic() -> None:
    sizes = (1_000, 10_000, 100_000)
    assert slope([Timing(n * 1e-6, n, complete=True) for n in sizes]) == pytest.approx(1)
    assert slope([Timing(n * n * 1e-9, n, complete=True) for n in sizes]) == pytest.approx(2)
    assert slope([Timing(1, 1_000, complete=True), Timing(1, 10, complete=False)]) is None


def test_replies_match_their_descriptions() -> None:
    for replies in all_replies(quick=True).values():
        for reply in replies:
            assert "".join(reply.tokens) == reply.text
            assert all(len(token) == TOKEN_CHARS for token in reply.tokens[:-1])
            for name, arguments in reply.calls:
                assert f"<{name}>\n```json\n{arguments}\n```\n</{name}>" in reply.text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_in_a_dialect_is_kept_whole(dialect: str) -> None:
    for sizes in replies_in(dialect, quick=True).values():
        assert Own((dialect,)).kept(sizes[0].chunks).fault(sizes[0]) is None


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_largest_arguments_are_below_the_limit(dialect: str) -> None:
    for long in (string_reply, array_reply):
        length = sum(len(chunk.encode()) for chunk in long(dialect, "100 KB", 100_000).chunks)
        assert 10 * length <= LIMITS.max_argument_bytes


def test_what_a_parser_loses_of_a_reply_is_named() -> None:
    reply = calls_reply("hermes", "2", 2)
    (name, right), (_, other) = reply.calls
    whole = Kept([reply.prose], {0: name, 1: name}, {0: [], 1: [json.dumps(other)]})
    whole.add(0, None, json.dumps(right)[:9])
    whole.add(0, None, json.dumps(right)[9:])
    assert whole.fault(reply) is None
    assert Kept([reply.prose]).fault(reply) == "0 of 2 calls"
    swapped = Kept([], {0: name, 1: name}, {0: [json.dumps(other)], 1: [json.dumps(right)[:9]]})
    assert swapped.fault(reply) == f"2 wrong calls, 0 of {len(reply.prose.strip())} characters"


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_an_attack_is_as_long_as_asked_for(attack: Attack) -> None:
    for chars in (1_000, 2_000):
        assert abs(len(attack.text(chars)) - chars) < 200
        assert "".join(attack.chunks(chars)) == attack.text(chars)


def work(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_the_longest_block_is_that_between_two_turns_of_the_loop() -> None:
    async def run() -> None:
        for _ in range(3):
            work(0.01)
            await asyncio.sleep(0)
        work(0.02)

    async def main() -> tuple[float, float]:
        return await longest_block(run), await seconds_of(run, 2)

    block, whole = asyncio.run(main())
    assert 0.02 <= block < whole
    assert whole >= 0.05


def test_an_import_costs_what_it_loads() -> None:
    assert cost("pass")[2] == 0
    milliseconds, _, modules = cost("import xml.dom.minidom, decimal")
    assert modules >= 4
    assert milliseconds > 0


def test_only_what_stands_between_the_markers_is_replaced(tmp_path: Path) -> None:
    document = tmp_path / "benchmarks.md"
    begin, end = BEGIN.format(command="run.py"), END.format(command="run.py")
    document.write_text(f"# Mine\n\n{begin}\nold\n{end}\n\nAlso mine.\n", encoding="utf-8")
    missed = Target("speed", 1.5, 1.6)
    section = Section("New", "A note.", ["", "x"], [["a", "1"]], [missed])
    for _ in range(2):
        write(document, [section], "run.py", "Each once.")
    text = document.read_text(encoding="utf-8")
    assert text.startswith("# Mine\n")
    assert text.endswith("\n\nAlso mine.\n")
    assert "old" not in text
    assert text.count("## New") == 1
    assert "| speed | at most 1.5 | 1.60 | **miss** |" in text


def test_the_page_of_benchmarks_has_a_place_for_each_command() -> None:
    page = (ROOT / "docs/reference/benchmarks.md").read_text(encoding="utf-8")
    for command in ("python benches/run.py", "python benches/counts.py"):
        begin, end = BEGIN.format(command=command), END.format(command=command)
        assert page.count(begin) == page.count(end) == 1
        assert page.index(begin) < page.index(end)
