"""Concurrency limiter: no limit is exceeded, nothing deadlocks, and calls start in order."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave.executor._limiter import ExecutionLimiter, Permit, ReplyQueue

NAMES = ["a", "b", "c", "d"]


@dataclass
class Call:
    """Call to submit, and the index of its reply."""

    reply: int
    name: str
    key: str | None
    sequential: bool
    after: list[str]


@st.composite
def scenarios(draw: st.DrawFn) -> dict[str, Any]:
    calls = st.builds(
        Call,
        reply=st.integers(0, 2),
        name=st.sampled_from(NAMES),
        key=st.none() | st.sampled_from(["x", "y"]),
        sequential=st.integers(0, 5).map(lambda n: n == 0),
        after=st.lists(st.sampled_from(NAMES), max_size=2),
    )
    limits = st.none() | st.integers(1, 3)
    return {
        "overall": draw(st.none() | st.integers(1, 4)),
        "tools": {name: draw(limits) for name in NAMES},
        "calls": draw(st.lists(calls, max_size=25)),
    }


@dataclass
class World:
    """Simulation of running calls that checks the rules at every step."""

    scenario: dict[str, Any]
    limiter: ExecutionLimiter = field(init=False)
    replies: list[ReplyQueue] = field(init=False)
    calls: dict[Permit, Call] = field(default_factory=dict)
    running: list[Permit] = field(default_factory=list)
    started: list[Permit] = field(default_factory=list)
    over: set[Permit] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.limiter = ExecutionLimiter(self.scenario["overall"])
        self.replies = [self.limiter.reply() for _ in range(3)]

    def submit(self, call: Call) -> None:
        permit = self.replies[call.reply].submit(
            call.name,
            max_concurrency=self.scenario["tools"][call.name],
            key=call.key,
            sequential=call.sequential,
            after=call.after,
        )
        self.calls[permit] = call

    def start(self) -> None:
        for permit in self.limiter.start():
            assert permit not in self.started
            self.running.append(permit)
            self.started.append(permit)
            self.check_what_started(permit)
        self.check_bounds()

    def finish(self, permit: Permit) -> None:
        self.over.add(permit)
        if permit in self.running:
            self.running.remove(permit)
        self.limiter.finish(permit)

    def check_what_started(self, permit: Permit) -> None:
        call = self.calls[permit]
        mates = [t for t, other in self.calls.items() if other.reply == call.reply]
        before = mates[: mates.index(permit)]
        for mate in before:
            barrier = call.sequential or self.calls[mate].sequential
            if barrier or self.calls[mate].name in call.after:
                assert mate in self.over, f"{call} started before {self.calls[mate]} was over"
        if call.sequential:
            assert not [mate for mate in self.running if mate in mates and mate is not permit]

    def check_bounds(self) -> None:
        if self.scenario["overall"] is not None:
            assert len(self.running) <= self.scenario["overall"]
        for name, limit in self.scenario["tools"].items():
            if limit is not None:
                assert sum(permit.name == name for permit in self.running) <= limit
        keys = [key for permit in self.running if (key := self.calls[permit].key) is not None]
        assert len(keys) == len(set(keys))


@given(scenarios(), st.data())
def test_no_limit_is_exceeded_nothing_deadlocks_and_every_call_starts(
    scenario: dict[str, Any], data: st.DataObject
) -> None:
    world = World(scenario)
    upcoming = list(scenario["calls"])
    while upcoming or world.running:
        # Calls arrive while others run.
        if upcoming and (not world.running or data.draw(st.booleans())):
            world.submit(upcoming.pop(0))
        else:
            world.finish(data.draw(st.sampled_from(world.running)))
        world.start()
    assert len(world.started) == len(scenario["calls"])


@given(scenarios(), st.data())
def test_calls_cancelled_in_any_state_do_not_block_others(
    scenario: dict[str, Any], data: st.DataObject
) -> None:
    world = World(scenario)
    for call in scenario["calls"]:
        world.submit(call)
    world.start()
    while len(world.over) < len(world.calls):
        left = [permit for permit in world.calls if permit not in world.over]
        assert world.running, "calls wait, and nothing runs that they could wait for"
        given_up = data.draw(st.sampled_from(left))
        world.finish(given_up)
        world.limiter.finish(given_up)
        world.start()


@given(scenarios())
def test_finished_calls_leave_no_state(scenario: dict[str, Any]) -> None:
    world = World(scenario)
    for call in scenario["calls"]:
        world.submit(call)
    for permit in world.calls:
        world.finish(permit)
    assert world.limiter.start() == []
    assert world.limiter.is_idle()


def run_all(limiter: ExecutionLimiter, permits: list[Permit]) -> list[list[Permit]]:
    """Run the calls in rounds: all that may start do so, and end together."""
    rounds = []
    while started := limiter.start():
        rounds.append(started)
        for permit in started:
            limiter.finish(permit)
    assert sorted(map(id, itertools.chain(*rounds))) == sorted(map(id, permits))
    return rounds


def test_without_limits_all_start_at_once_in_order() -> None:
    limiter = ExecutionLimiter()
    reply = limiter.reply()
    permits = [reply.submit("a") for _ in range(5)]
    assert limiter.start() == permits
    assert limiter.start() == []


def test_calls_start_in_order_of_submission_across_replies() -> None:
    limiter = ExecutionLimiter(max_concurrency=1)
    permits = [limiter.reply().submit(name) for name in "abcabc"]
    assert run_all(limiter, permits) == [[permit] for permit in permits]


def test_a_tool_at_its_limit_does_not_hold_back_another() -> None:
    limiter = ExecutionLimiter(max_concurrency=2)
    reply = limiter.reply()
    slow = [reply.submit("slow", max_concurrency=1) for _ in range(3)]
    quick = reply.submit("quick")
    assert limiter.start() == [slow[0], quick]


def test_calls_with_one_key_run_one_at_a_time_even_of_different_tools() -> None:
    limiter = ExecutionLimiter()
    reply = limiter.reply()
    write = reply.submit("write", key="notes.txt")
    delete = reply.submit("delete", key="notes.txt")
    other = reply.submit("write", key="other.txt")
    assert run_all(limiter, [write, delete, other]) == [[write, other], [delete]]


def test_a_sequential_call_runs_alone_and_in_order() -> None:
    limiter = ExecutionLimiter()
    reply = limiter.reply()
    first, second = reply.submit("a"), reply.submit("a")
    alone = reply.submit("b", sequential=True)
    third = reply.submit("a")
    assert run_all(limiter, [first, second, alone, third]) == [[first, second], [alone], [third]]


def test_a_sequential_call_holds_back_its_own_reply_only() -> None:
    limiter = ExecutionLimiter()
    limiter.reply().submit("a", sequential=True)
    limiter.start()
    other = limiter.reply().submit("a")
    assert limiter.start() == [other]


def test_a_cancelled_sequential_call_does_not_block_subsequent_calls() -> None:
    limiter = ExecutionLimiter()
    reply = limiter.reply()
    reply.submit("a")
    alone = reply.submit("b", sequential=True)
    behind = reply.submit("a")
    limiter.start()
    limiter.finish(alone)
    assert limiter.start() == [behind]


def test_a_call_cancelled_behind_a_sequential_one_is_ignored() -> None:
    limiter = ExecutionLimiter()
    reply = limiter.reply()
    first = reply.submit("a", sequential=True)
    given_up, last = reply.submit("b"), reply.submit("c", sequential=True)
    assert limiter.start() == [first]
    limiter.finish(given_up)
    assert limiter.start() == []
    limiter.finish(first)
    assert limiter.start() == [last]


def test_a_call_starts_after_the_earlier_calls_of_the_tools_it_names() -> None:
    limiter = ExecutionLimiter()
    reply = limiter.reply()
    read = [reply.submit("read"), reply.submit("read")]
    report = reply.submit("report", after=("read", "search", "missing"))
    last = reply.submit("read")
    assert run_all(limiter, [*read, report, last]) == [[*read, last], [report]]


def test_tools_that_name_each_other_in_after_do_not_deadlock() -> None:
    limiter = ExecutionLimiter()
    reply = limiter.reply()
    permits = [
        reply.submit("a", after=("b",)),
        reply.submit("b", after=("a",)),
        reply.submit("a", after=("b", "a")),
    ]
    assert run_all(limiter, permits) == [[permit] for permit in permits]


def test_a_suspended_call_frees_its_slot_and_resumes_before_others() -> None:
    limiter = ExecutionLimiter(max_concurrency=1)
    parent = limiter.submit("parent", max_concurrency=1)
    waiting = limiter.submit("parent", max_concurrency=1)
    assert limiter.start() == [parent]
    limiter.suspend(parent)
    child = limiter.submit("child", parent=parent)
    # Calls queued before the child start first.
    assert limiter.start() == [waiting]
    limiter.finish(waiting)
    assert limiter.start() == [child]
    late = limiter.submit("child")
    limiter.resume(parent)
    limiter.finish(child)
    assert limiter.start() == [parent]
    limiter.finish(parent)
    assert limiter.start() == [late]


def test_a_tool_that_calls_itself_does_not_wait_for_its_own_slot_or_key() -> None:
    limiter = ExecutionLimiter(max_concurrency=1)
    permits: list[Permit] = []
    for _ in range(5):
        parent = permits[-1] if permits else None
        permit = limiter.submit("tool", max_concurrency=1, key="x", parent=parent)
        assert limiter.start() == [permit]
        limiter.suspend(permit)
        permits.append(permit)
    for permit in reversed(permits):
        limiter.resume(permit)
        assert limiter.start() == [permit]
        limiter.finish(permit)
    assert limiter.is_idle()


def test_a_suspended_call_keeps_its_key() -> None:
    limiter = ExecutionLimiter()
    parent = limiter.submit("a", key="x")
    other = limiter.submit("b", key="x")
    assert limiter.start() == [parent]
    limiter.suspend(parent)
    assert limiter.start() == []
    limiter.resume(parent)
    assert limiter.start() == [parent]
    limiter.finish(parent)
    assert limiter.start() == [other]


def test_a_cancelled_suspended_call_does_not_resume() -> None:
    limiter = ExecutionLimiter(max_concurrency=1)
    permit = limiter.submit("a")
    limiter.start()
    limiter.suspend(permit)
    limiter.resume(permit)
    limiter.finish(permit)
    limiter.resume(permit)
    assert limiter.start() == []
    assert limiter.is_idle()


def test_a_replaced_tool_gets_the_limit_of_the_new_one() -> None:
    limiter = ExecutionLimiter()
    permits = [limiter.submit("a", max_concurrency=1) for _ in range(2)]
    assert limiter.start() == permits[:1]
    third = limiter.submit("a", max_concurrency=3)
    assert limiter.start() == [permits[1], third]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_an_error(limit: int) -> None:
    with pytest.raises(ValueError, match=f"max_concurrency must be at least 1, got {limit}"):
        ExecutionLimiter(limit)
    with pytest.raises(ValueError, match="max_concurrency must be at least 1"):
        ExecutionLimiter().submit("a", max_concurrency=limit)


def cost(count: int) -> float:
    """Return the time that `count` calls with all kinds of limits take, in seconds."""
    limiter = ExecutionLimiter(max_concurrency=10)
    reply = limiter.reply()
    began = time.process_time()
    reply.submit("first", sequential=True)
    for number in range(count):
        reply.submit("a", max_concurrency=5, key=number % 7, after=("first", "b"))
        reply.submit("b", max_concurrency=5, after=("first",), sequential=number % 100 == 0)
    run = 0
    while started := limiter.start():
        for permit in started:
            limiter.finish(permit)
        run += len(started)
    assert run == 2 * count + 1
    return time.process_time() - began


@pytest.mark.growth
def test_the_cost_is_linear_in_the_number_of_calls() -> None:
    small = min(cost(500) for _ in range(5))
    large = min(cost(5000) for _ in range(3))
    # Ten times the calls; quadratic would be a hundred times the cost.
    assert large < 30 * small
