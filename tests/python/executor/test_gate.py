"""Who may start: never beyond a bound, never a deadlock, in order."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave.executor.limits import Gate, Reply, Ticket

NAMES = ["a", "b", "c", "d"]


@dataclass
class Call:
    """What is submitted, and to which of the replies."""

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
    """Calls as they run, and the rules that must hold at every moment."""

    scenario: dict[str, Any]
    gate: Gate = field(init=False)
    replies: list[Reply] = field(init=False)
    calls: dict[Ticket, Call] = field(default_factory=dict)
    running: list[Ticket] = field(default_factory=list)
    started: list[Ticket] = field(default_factory=list)
    over: set[Ticket] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.gate = Gate(self.scenario["overall"])
        self.replies = [self.gate.reply() for _ in range(3)]

    def submit(self, call: Call) -> None:
        ticket = self.replies[call.reply].submit(
            call.name,
            max_concurrency=self.scenario["tools"][call.name],
            key=call.key,
            sequential=call.sequential,
            after=call.after,
        )
        self.calls[ticket] = call

    def start(self) -> None:
        for ticket in self.gate.start():
            assert ticket not in self.started
            self.running.append(ticket)
            self.started.append(ticket)
            self.check_what_started(ticket)
        self.check_bounds()

    def finish(self, ticket: Ticket) -> None:
        self.over.add(ticket)
        if ticket in self.running:
            self.running.remove(ticket)
        self.gate.finish(ticket)

    def check_what_started(self, ticket: Ticket) -> None:
        call = self.calls[ticket]
        mates = [t for t, other in self.calls.items() if other.reply == call.reply]
        before = mates[: mates.index(ticket)]
        for mate in before:
            barrier = call.sequential or self.calls[mate].sequential
            if barrier or self.calls[mate].name in call.after:
                assert mate in self.over, f"{call} started before {self.calls[mate]} was over"
        if call.sequential:
            assert not [mate for mate in self.running if mate in mates and mate is not ticket]

    def check_bounds(self) -> None:
        if self.scenario["overall"] is not None:
            assert len(self.running) <= self.scenario["overall"]
        for name, limit in self.scenario["tools"].items():
            if limit is not None:
                assert sum(ticket.name == name for ticket in self.running) <= limit
        keys = [key for ticket in self.running if (key := self.calls[ticket].key) is not None]
        assert len(keys) == len(set(keys))


@given(scenarios(), st.data())
def test_no_bound_is_exceeded_nothing_deadlocks_and_every_call_starts(
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
def test_calls_that_are_given_up_in_any_state_hold_nobody_back(
    scenario: dict[str, Any], data: st.DataObject
) -> None:
    world = World(scenario)
    for call in scenario["calls"]:
        world.submit(call)
    world.start()
    while len(world.over) < len(world.calls):
        left = [ticket for ticket in world.calls if ticket not in world.over]
        assert world.running, "calls wait, and nothing runs that they could wait for"
        given_up = data.draw(st.sampled_from(left))
        world.finish(given_up)
        world.gate.finish(given_up)
        world.start()


@given(scenarios())
def test_nothing_is_remembered_of_calls_that_are_over(scenario: dict[str, Any]) -> None:
    world = World(scenario)
    for call in scenario["calls"]:
        world.submit(call)
    for ticket in world.calls:
        world.finish(ticket)
    assert world.gate.start() == []
    assert world.gate.is_idle()


def run_all(gate: Gate, tickets: list[Ticket]) -> list[list[Ticket]]:
    """The calls in rounds: all that may start do so, and end together."""
    rounds = []
    while started := gate.start():
        rounds.append(started)
        for ticket in started:
            gate.finish(ticket)
    assert sorted(map(id, itertools.chain(*rounds))) == sorted(map(id, tickets))
    return rounds


def test_without_limits_all_start_at_once_in_order() -> None:
    gate = Gate()
    reply = gate.reply()
    tickets = [reply.submit("a") for _ in range(5)]
    assert gate.start() == tickets
    assert gate.start() == []


def test_whoever_came_first_starts_first_across_replies() -> None:
    gate = Gate(max_concurrency=1)
    tickets = [gate.reply().submit(name) for name in "abcabc"]
    assert run_all(gate, tickets) == [[ticket] for ticket in tickets]


def test_a_tool_at_its_limit_does_not_hold_back_another() -> None:
    gate = Gate(max_concurrency=2)
    reply = gate.reply()
    slow = [reply.submit("slow", max_concurrency=1) for _ in range(3)]
    quick = reply.submit("quick")
    assert gate.start() == [slow[0], quick]


def test_calls_with_one_key_take_turns_even_of_different_tools() -> None:
    gate = Gate()
    reply = gate.reply()
    write = reply.submit("write", key="notes.txt")
    delete = reply.submit("delete", key="notes.txt")
    other = reply.submit("write", key="other.txt")
    assert run_all(gate, [write, delete, other]) == [[write, other], [delete]]


def test_a_sequential_call_runs_alone_and_in_its_place() -> None:
    gate = Gate()
    reply = gate.reply()
    first, second = reply.submit("a"), reply.submit("a")
    alone = reply.submit("b", sequential=True)
    third = reply.submit("a")
    assert run_all(gate, [first, second, alone, third]) == [[first, second], [alone], [third]]


def test_a_sequential_call_holds_back_its_own_reply_only() -> None:
    gate = Gate()
    gate.reply().submit("a", sequential=True)
    gate.start()
    other = gate.reply().submit("a")
    assert gate.start() == [other]


def test_a_sequential_call_that_is_given_up_lets_those_behind_it_through() -> None:
    gate = Gate()
    reply = gate.reply()
    reply.submit("a")
    alone = reply.submit("b", sequential=True)
    behind = reply.submit("a")
    gate.start()
    gate.finish(alone)
    assert gate.start() == [behind]


def test_a_call_that_is_given_up_behind_a_sequential_one_counts_for_nothing() -> None:
    gate = Gate()
    reply = gate.reply()
    first = reply.submit("a", sequential=True)
    given_up, last = reply.submit("b"), reply.submit("c", sequential=True)
    assert gate.start() == [first]
    gate.finish(given_up)
    assert gate.start() == []
    gate.finish(first)
    assert gate.start() == [last]


def test_a_call_comes_after_the_earlier_calls_of_the_tools_it_names() -> None:
    gate = Gate()
    reply = gate.reply()
    read = [reply.submit("read"), reply.submit("read")]
    report = reply.submit("report", after=("read", "search", "missing"))
    later = reply.submit("read")
    assert run_all(gate, [*read, report, later]) == [[*read, later], [report]]


def test_tools_that_come_after_each_other_do_not_wait_for_ever() -> None:
    gate = Gate()
    reply = gate.reply()
    tickets = [
        reply.submit("a", after=("b",)),
        reply.submit("b", after=("a",)),
        reply.submit("a", after=("b", "a")),
    ]
    assert run_all(gate, tickets) == [[ticket] for ticket in tickets]


def test_a_suspended_call_makes_room_and_comes_back_before_others() -> None:
    gate = Gate(max_concurrency=1)
    parent = gate.submit("parent", max_concurrency=1)
    waiting = gate.submit("parent", max_concurrency=1)
    assert gate.start() == [parent]
    gate.suspend(parent)
    child = gate.submit("child", parent=parent)
    # Those who were in line before the child are served first.
    assert gate.start() == [waiting]
    gate.finish(waiting)
    assert gate.start() == [child]
    late = gate.submit("child")
    gate.resume(parent)
    gate.finish(child)
    assert gate.start() == [parent]
    gate.finish(parent)
    assert gate.start() == [late]


def test_a_tool_that_calls_itself_does_not_wait_for_its_own_place_or_key() -> None:
    gate = Gate(max_concurrency=1)
    tickets: list[Ticket] = []
    for _ in range(5):
        parent = tickets[-1] if tickets else None
        ticket = gate.submit("tool", max_concurrency=1, key="x", parent=parent)
        assert gate.start() == [ticket]
        gate.suspend(ticket)
        tickets.append(ticket)
    for ticket in reversed(tickets):
        gate.resume(ticket)
        assert gate.start() == [ticket]
        gate.finish(ticket)
    assert gate.is_idle()


def test_a_suspended_call_keeps_its_key() -> None:
    gate = Gate()
    parent = gate.submit("a", key="x")
    other = gate.submit("b", key="x")
    assert gate.start() == [parent]
    gate.suspend(parent)
    assert gate.start() == []
    gate.resume(parent)
    assert gate.start() == [parent]
    gate.finish(parent)
    assert gate.start() == [other]


def test_a_suspended_call_that_is_given_up_does_not_come_back() -> None:
    gate = Gate(max_concurrency=1)
    ticket = gate.submit("a")
    gate.start()
    gate.suspend(ticket)
    gate.resume(ticket)
    gate.finish(ticket)
    gate.resume(ticket)
    assert gate.start() == []
    assert gate.is_idle()


def test_a_tool_that_is_replaced_has_the_limit_of_the_new_one() -> None:
    gate = Gate()
    tickets = [gate.submit("a", max_concurrency=1) for _ in range(2)]
    assert gate.start() == tickets[:1]
    third = gate.submit("a", max_concurrency=3)
    assert gate.start() == [tickets[1], third]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_that_lets_nothing_through_is_refused(limit: int) -> None:
    with pytest.raises(ValueError, match=f"max_concurrency must be at least 1, got {limit}"):
        Gate(limit)
    with pytest.raises(ValueError, match="max_concurrency must be at least 1"):
        Gate().submit("a", max_concurrency=limit)


def cost(count: int) -> float:
    """How long `count` calls take that wait for everything one can wait for, in seconds."""
    gate = Gate(max_concurrency=10)
    reply = gate.reply()
    began = time.process_time()
    reply.submit("first", sequential=True)
    for number in range(count):
        reply.submit("a", max_concurrency=5, key=number % 7, after=("first", "b"))
        reply.submit("b", max_concurrency=5, after=("first",), sequential=number % 100 == 0)
    run = 0
    while started := gate.start():
        for ticket in started:
            gate.finish(ticket)
        run += len(started)
    assert run == 2 * count + 1
    return time.process_time() - began


def test_the_cost_is_linear_in_the_number_of_calls() -> None:
    small = min(cost(500) for _ in range(5))
    large = min(cost(5000) for _ in range(3))
    # Ten times the calls; quadratic would be a hundred times the cost.
    assert large < 30 * small
