"""Tests that calls are counted, limited and answered once with any transport."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from hypothesis import given
from hypothesis import strategies as st

from toolweave import UsageUpdate
from toolweave.selection import CallLimiter, ScorerRequest
from toolweave.selection._calls import CallLimits, CallScheduler, limiter_timeout
from virtual_time import run

TIMEOUT = 8.0

How = Literal["comes", "fails", "late", "at once", "ends", "twice"]
HOWS = st.sampled_from(["comes", "fails", "late", "at once", "ends", "twice"])
AFTER = st.sampled_from([0.0, 1.0, 2.0, 7.0])


@dataclass
class Scripted:
    """Transport whose behaviour is encoded in each request."""

    listener: CallScheduler
    linger: float
    open: dict[int, asyncio.TimerHandle] = field(default_factory=dict)
    begun: list[int] = field(default_factory=list)
    most: int = 0
    stopped: list[int] = field(default_factory=list)
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def begin(self, number: int, request: ScorerRequest) -> None:
        how, _, after = request.prompt.partition("|")
        self.listener.on_start()
        self.begun.append(number)
        loop = asyncio.get_running_loop()
        if how == "at once":
            self.listener.on_error(number, "no")
            self.listener.on_end(number)
            return
        wait = TIMEOUT * 10 if how == "late" else float(after)
        self.open[number] = loop.call_later(wait, self._answer, number, how)
        self.most = max(self.most, len(self.open))

    def _answer(self, number: int, how: str) -> None:
        if how == "fails":
            self.listener.on_error(number, "no")
        elif how != "ends":
            self.listener.on_reply(number, "yes", UsageUpdate(1, 2))
        if how == "twice":
            self.listener.on_reply(number, "no")
            self.listener.on_error(number, "no")
        self._end(number)

    def _end(self, number: int) -> None:
        if self.open.pop(number, None) is not None:
            self.listener.on_end(number)
        if not self.open:
            self.over.set()

    def stop(self, number: int) -> None:
        if number in self.open:
            self.stopped.append(number)
            self.open[number].cancel()
            self.open[number] = asyncio.get_running_loop().call_later(
                self.linger, self._end, number
            )

    async def aclose(self) -> None:
        while self.open:
            self.over.clear()
            await self.over.wait()


@given(
    st.lists(st.tuples(HOWS, AFTER), max_size=8),
    st.integers(1, 4),
    st.integers(1, 4),
    st.sampled_from([0.0, 3.0]),
    st.integers(0, 9),
)
def test_calls_are_answered_once_and_return_their_slots(
    outcomes: list[tuple[How, float]], slots: int, most: int, linger: float, enough: int
) -> None:
    async def main() -> None:
        limiter = CallLimiter(slots)
        made: list[Scripted] = []

        def transport(listener: CallScheduler) -> Scripted:
            made.append(Scripted(listener, linger))
            return made[0]

        calls = CallScheduler(transport, CallLimits(TIMEOUT, most, limiter))
        requests = [ScorerRequest(f"{how}|{after}", {}, "each", "?", ()) for how, after in outcomes]
        calls.start(enumerate(requests))
        answers: dict[int, tuple[object, str | None]] = {}
        while arrived := await calls.next():
            for position, answer in arrived:
                assert position not in answers
                answers[position] = answer
            if len(answers) > enough:
                break
        await calls.close()
        [scripted] = made
        assert scripted.most <= slots
        assert calls.started == len(scripted.begun) == len(set(scripted.begun))
        assert (limiter.free, scripted.open) == (slots, {})
        wanted = {
            "comes": ("yes", None),
            "twice": ("yes", None),
            "fails": (None, "no"),
            "at once": (None, "no"),
            "late": (None, f"no reply within {TIMEOUT:g} s"),
            "ends": (None, "the call was cancelled by the scorer itself"),
        }
        # The wait for a slot counts against the timeout.
        over = {(None, limiter_timeout(CallLimits(TIMEOUT, most, limiter))), wanted["late"]}
        lingers = linger > 0 and any(how == "late" for how, _ in outcomes)
        may_wait = lingers or slots < min(most, len(outcomes))
        for position, answer in answers.items():
            assert answer == wanted[outcomes[position][0]] or (may_wait and answer in over)
        if len(answers) <= enough:
            assert sorted(answers) == list(range(len(outcomes)))
        answered = sum(content is not None for content, _ in answers.values())
        used = calls.usage or UsageUpdate()
        assert used.input_tokens >= answered
        assert calls.any_failed or all(error is None for _, error in answers.values())

    run(main())
