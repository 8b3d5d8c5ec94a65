"""The responder of the playground: its scenarios, and live models."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import effort
from toolweave import (
    AgentResult,
    Message,
    Selection,
    TextDelta,
    TextMessage,
    ToolAggregateMessage,
    ToolCall,
    ToolDeferred,
    ToolProgress,
    ToolQuestion,
    ToolRegistry,
    ToolResult,
    ToolStarted,
)
from toolweave._demo.recordings import recordings
from toolweave._demo.responder import MAX_CHATS, Playground, Settings
from toolweave._demo.scenarios import (
    MAX_PAUSE,
    NOT_RECORDED,
    Scenario,
    pace,
    scenario_for,
    scenarios,
    written,
)
from toolweave.lifecycle import RawText, StreamEventMapper, TurnEvent
from toolweave.protocols import Approval, Approver
from toolweave.scenes import SceneStep
from toolweave.testing import ScriptedModel
from virtual_time import run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolweave import FunctionContract
    from toolweave.web._raw_text import RawTextRun

EACH = pytest.mark.parametrize("scenario", scenarios(), ids=lambda scenario: scenario.name)


async def yes(_call: ToolCall, _contract: FunctionContract) -> Approval:
    return Approval.allow()


async def no(_call: ToolCall, _contract: FunctionContract) -> Approval:
    return Approval.deny()


class Journal:
    """A journal that records its calls and how many events had been read by then."""

    def __init__(self, read: list[TurnEvent]) -> None:
        self._read = read
        self.calls: list[tuple[str, str, int]] = []
        self.reply: RawTextRun | None = None

    async def started(self, call: ToolCall) -> None:
        assert self.reply is not None
        await self.reply.caught_up()
        self.calls.append(("started", call.id, len(self._read)))

    async def finished(self, call: ToolCall, result: ToolResult) -> None:
        assert result.tool_call_id == call.id
        assert self.reply is not None
        await self.reply.caught_up()
        self.calls.append(("finished", call.id, len(self._read)))


@dataclass(frozen=True)
class Asked:
    """A turn with the attributes of the server's."""

    chat_id: str
    run_id: str
    user_id: str | None
    history: tuple[Message, ...]
    messages: tuple[Message, ...]
    journal: Journal


@dataclass
class TurnOutcome:
    """The outcome of a turn."""

    events: list[TurnEvent] = field(default_factory=list)
    generations: list[str | None] = field(default_factory=list)
    journal: Journal = field(init=False)
    messages: tuple[Message, ...] = ()
    drafts: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.journal = Journal(self.events)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def raw(self) -> str:
        return "".join(event.delta for event in self.of(RawText))

    @property
    def text(self) -> str:
        return "".join(event.text for event in self.of(TextDelta))

    @property
    def last(self) -> Any:
        return self.events[-1]


def begin(
    playground: Playground,
    prompt: str | None,
    outcome: TurnOutcome,
    *,
    history: Sequence[Message] = (),
    chat_id: str = "chat",
) -> RawTextRun:
    messages = () if prompt is None else (TextMessage(prompt, id="said"),)
    reply = outcome.journal.reply = playground(
        Asked(chat_id, "run", None, tuple(history), messages, outcome.journal)  # type: ignore[arg-type]
    )
    return reply


async def answered(
    playground: Playground,
    prompt: str | None,
    *,
    answer: object = "medium",
    slowly: bool = False,
    **more: Any,
) -> TurnOutcome:
    outcome = TurnOutcome()
    mapper = StreamEventMapper("chat", "run")
    async with begin(playground, prompt, outcome, **more) as reply:
        async for event in reply:
            outcome.events.append(event)
            outcome.generations.append(reply.generation_id)
            outcome.drafts += mapper.map(event, generation_id=reply.generation_id)
            if isinstance(event, ToolQuestion):
                assert reply.deferred is not None
                reply.deferred.resolve(event.key, answer)
            if slowly:
                await asyncio.sleep(0.001)
        outcome.messages = tuple(reply.finished_messages)
    return outcome


def recorded(*, approver: Approver = yes, model: Any = None, **options: Any) -> Playground:
    return Playground(approver, Settings(speed=None, **options), model)


def replayed(scenario: Scenario | str, **more: Any) -> TurnOutcome:
    if isinstance(scenario, str):
        [scenario] = [each for each in scenarios() if each.name == scenario]
    # Virtual time does not wait for threads, so a tool in a thread would time out.
    loop = asyncio.new_event_loop() if scenario.name == "failure" else None
    return run(answered(recorded(), scenario.prompt, **more), loop)


def results(outcome: TurnOutcome) -> list[ToolResult]:
    found: list[ToolResult] = outcome.of(ToolResult)
    return found


@EACH
def test_a_scenario_runs_to_its_end(scenario: Scenario) -> None:
    outcome = replayed(scenario)
    if scenario.kind == "scenes":
        assert outcome.last.stop_reason == "completed"
    else:
        assert isinstance(outcome.last, AgentResult)
        assert outcome.last.stop_reason == (
            "deferred" if scenario.name == "deferred" else "completed"
        )
    assert NOT_RECORDED not in outcome.raw
    assert outcome.messages[0] == TextMessage(scenario.prompt, id="said")
    assert all(draft["chatId"] == "chat" for draft in outcome.drafts)


@EACH
def test_raw_text_precedes_the_calls_parsed_from_it(
    scenario: Scenario,
) -> None:
    raw = ""
    outcome = replayed(scenario)
    for event in outcome.events:
        if isinstance(event, RawText):
            raw += event.delta
        elif isinstance(event, ToolCall):
            assert event.raw in raw
    updates = [
        scenario.reply(turn, [r.result for r in results(outcome)]).updates for turn in range(9)
    ]
    replies = ["".join(u.text for u in each if isinstance(u, TextDelta)) for each in updates]
    assert replies[0] in raw
    assert raw.startswith(replies[0])
    # One event per piece would prevent the events from being stored in batches.
    assert len(outcome.of(RawText)) < len(outcome.events) / 3 + 5


@EACH
def test_a_scenario_states_the_origin_of_its_replies(scenario: Scenario) -> None:
    assert "recorded repl" in scenario.source or "written by hand" in scenario.source
    if scenario.turns[0][0].model is None or scenario.scores is not None:
        assert "written by hand" in scenario.title
    if scenario.scores is not None:
        assert "the scores are written by hand" in scenario.source
    by_hand = [
        each.reply for turn in scenario.turns for each in turn if isinstance(each.reply, str)
    ]
    if by_hand:
        assert "written by hand" in by_hand[-1]


@given(st.floats(0.01, 1000))
def test_the_pace_states_the_longest_pause(speed: float) -> None:
    sentence = pace(speed)
    [longest] = re.findall(r"pauses shortened to at most (\S+) s$", sentence)
    assert float(longest) == pytest.approx(MAX_PAUSE / speed, rel=0.06)
    assert ("times their pace" in sentence) == (speed != 1)
    assert "pauses" in pace(None)


def test_the_scenarios_cover_all_features() -> None:
    assert 8 <= len(scenarios()) <= 13
    assert len({scenario.prompt for scenario in scenarios()}) == len(scenarios())
    assert sum("recorded" in scenario.source for scenario in scenarios()) > 8


@EACH
def test_a_tool_starts_after_its_call_was_read_even_by_a_slow_reader(
    scenario: Scenario,
) -> None:
    outcome = replayed(scenario, slowly=True)
    entered = [each for each in outcome.journal.calls if each[0] == "started"]
    if scenario.name not in ("invalid", "unknown"):
        assert entered
    for _, call_id, read in entered:
        seen = outcome.events[:read]
        assert any(
            (isinstance(event, ToolCall) and event.id == call_id)
            # Scenes report a call when it runs.
            or isinstance(event, SceneStep)
            for event in seen
        )
    ended = [each[1] for each in outcome.journal.calls if each[0] == "finished"]
    deferred = [event.tool_call_id for event in outcome.of(ToolDeferred)]
    assert sorted(ended + deferred) == sorted(each[1] for each in entered)


@pytest.mark.parametrize("speed", [None, 1.0, 10.0])
def test_results_come_in_another_order_than_the_calls_at_any_pace(speed: float | None) -> None:
    outcome = run(answered(Playground(yes, Settings(speed=speed), None), scenarios()[1].prompt))
    calls = [call.arguments["city"] for call in outcome.of(ToolCall)]
    assert calls == ["Oslo", "Rome", "Tokyo"]
    assert [result.result.partition(":")[0] for result in results(outcome)] == [
        "Tokyo",
        "Rome",
        "Oslo",
    ]
    assert len(outcome.of(ToolProgress)) == 25
    [aggregate] = outcome.of(ToolAggregateMessage)
    assert [result.result.partition(":")[0] for result in aggregate.tool_results] == calls


def test_arguments_are_repaired() -> None:
    kinds = {repair.kind for call in replayed("repairs").of(ToolCall) for repair in call.repairs}
    assert {"trailing_comma", "quotes", "name_case", "enum_case", "wrap_in_array"} <= kinds


@pytest.mark.parametrize(
    ("name", "code", "expected"),
    [
        ("invalid", "invalid_arguments", "kelvin"),
        ("unknown", "unknown_tool", "not found"),
        ("failure", "tool_error", "division by zero"),
        ("timeout", "timeout", "carrier"),
    ],
)
def test_a_failure_is_a_result_that_the_model_answers(name: str, code: str, expected: str) -> None:
    outcome = replayed(name)
    [result] = results(outcome)
    assert result.is_error
    assert result.error_code == code
    assert expected in outcome.last.text


def test_money_is_transferred_only_after_approval() -> None:
    prompt = "transfer  250 EUROS to ada."
    allowed = run(answered(recorded(), prompt))
    assert results(allowed)[0].result.endswith("750.00 euros are left")
    assert "750" in allowed.last.text
    denied = run(answered(recorded(approver=no), prompt))
    assert results(denied)[0].error_code == "denied"
    assert "not approved" in denied.last.text
    assert not denied.of(ToolStarted)


@pytest.mark.parametrize(("size", "minutes"), [("small", 20), ("medium", 25), ("large", 30)])
def test_a_tool_asks_and_the_reply_depends_on_the_answer(size: str, minutes: int) -> None:
    outcome = replayed("question", answer=size)
    [question] = outcome.of(ToolQuestion)
    assert question.schema == {"enum": ["small", "medium", "large"]}
    assert f"{minutes} minutes" in outcome.last.text


def test_a_deferred_result_is_reported_in_the_next_run() -> None:
    outcome = replayed("deferred")
    [deferred] = outcome.of(ToolDeferred)
    [aggregate] = [each for each in outcome.messages if isinstance(each, ToolAggregateMessage)]
    late = ToolResult(deferred.tool_call_id, "AskColleague", "Tuesday")
    history = [
        each.__replace__(tool_results=[late]) if each is aggregate else each
        for each in outcome.messages
    ]
    after = run(answered(recorded(), None, history=history))
    assert after.last.text.startswith("The answer to your question has come: Tuesday (")
    assert after.last.stop_reason == "completed"


def test_steps_of_scenes_report_their_costs() -> None:
    steps: list[SceneStep] = replayed("scenes").of(SceneStep)
    entered = [step.scene for step in steps if step.status == "ExecutingScene"]
    assert entered == ["Calculator", "Weather"]
    assert steps[-1].total_cost > 0
    assert steps[-1].total_cost == sum(step.cost or 0 for step in steps)


def test_a_tool_is_selected_and_then_called() -> None:
    outcome = replayed("selection")
    selection = outcome.events[0]
    assert isinstance(selection, Selection)
    assert selection.tool is not None
    assert selection.tool.name == "scale_recipe"
    assert [one.score for one in selection.ranking] == [95, 75, 30, 10, 5]
    assert "1200 g spaghetti" in results(outcome)[0].result
    assert "1200 g spaghetti" in outcome.last.text


@pytest.mark.parametrize("recording", recordings(), ids=lambda recording: recording.name)
def test_every_recording_is_known_by_its_prompt(recording: Any) -> None:
    scenario = scenario_for(recording.prompt)
    assert scenario is not None
    first = scenario.reply(0, ())
    # Two of them answer the same question.
    prompts = [each.prompt for each in recordings()]
    if prompts.count(recording.prompt) == 1:
        assert first == recording.reply
    outcome = run(answered(recorded(), recording.prompt))
    assert outcome.raw.startswith(
        "".join(u.text for u in first.updates if isinstance(u, TextDelta))
    )
    assert outcome.last.stop_reason in ("completed", "length")


def test_other_prompts_are_answered_with_a_hint() -> None:
    outcome = run(answered(recorded(), "What is the meaning of life?"))
    assert "There is no model behind this page" in outcome.last.text
    assert "toolweave demo --model http://127.0.0.1:8080/v1" in outcome.last.text
    assert not outcome.of(ToolCall)


TOOLS_XML = """
<Tools>
  <Movie>
    <Tool name="cast"><example>Who plays in Alien?</example>
      <prompt>Does {request.query} ask who plays in a film?</prompt>
      <returnStruc>{"score": "integer between 0 and 100", "title": "the film"}</returnStruc></Tool>
    <Tool name="runtime"><example>How long is Alien?</example>
      <prompt>Does {request.query} ask how long a film is?</prompt>
      <returnStruc>{"score": "integer between 0 and 100", "title": "the film"}</returnStruc></Tool>
  </Movie>
</Tools>
"""


def films() -> ToolRegistry:
    registry = ToolRegistry.loads(TOOLS_XML)

    @registry.handler("runtime", type="Movie")
    async def runtime(title: str) -> str:
        return f"{title}: 117 minutes"

    return registry


def test_without_a_model_the_users_tools_are_scored_by_words_and_the_reply_says_so() -> None:
    playground = recorded(registry=films(), item_type="Movie")
    outcome = run(answered(playground, "How long is Alien?"))
    selection = outcome.events[0]
    assert isinstance(selection, Selection)
    assert selection.tool is not None
    assert selection.tool.name == "runtime"
    assert "It would be runtime, which was not run." in outcome.last.text
    assert "No model was asked" in outcome.last.text


def test_a_live_model_selects_and_calls_the_users_tools() -> None:
    scores = '{"runtime": {"score": 90, "title": "Alien"}, "cast": {"score": 10, "title": "A"}}'
    model = ScriptedModel(scores, '<runtime>{"title": "Alien"}</runtime>', "117 minutes.")
    playground = recorded(model=model, registry=films(), item_type="Movie")
    outcome = run(answered(playground, "How long is Alien?"))
    assert isinstance(outcome.events[0], Selection)
    assert [one.score for one in outcome.events[0].ranking] == [90, 10]
    assert results(outcome)[0].result == "Alien: 117 minutes"
    assert outcome.last.text == "117 minutes."


def test_a_live_model_answers_everything_with_the_tools_of_the_playground() -> None:
    model = ScriptedModel('<Add>{"a": 1, "b": 2}</Add>', "It is 3.", name="mine")
    outcome = run(answered(recorded(model=model), "What is 15 + 27?"))
    assert outcome.raw == '<Add>{"a": 1, "b": 2}</Add>It is 3.'
    assert outcome.last.text == "It is 3."
    assert outcome.messages[-1].from_agent == "mine"


def test_with_a_live_model_each_chat_has_its_own_tools() -> None:
    async def main() -> None:
        call = '<TransferMoney>{"to": "Ada", "euros": 600}</TransferMoney>'
        model = ScriptedModel(*[call, "done"] * (MAX_CHATS + 3))
        playground = recorded(model=model)

        async def transfer(chat_id: str) -> str:
            outcome = await answered(playground, "go", chat_id=chat_id)
            return results(outcome)[0].result

        assert "400.00" in await transfer("one")
        assert "400.00" in await transfer("two")
        assert "there are only 400.00 euros" in await transfer("one")
        for number in range(MAX_CHATS):
            await transfer(f"chat {number}")

    run(main())


def test_a_cancelled_run_is_reported_and_its_history_can_be_continued() -> None:
    async def main() -> None:
        outcome = TurnOutcome()
        playground = Playground(yes, Settings(), None)
        [scenario] = [each for each in scenarios() if each.name == "timeout"]
        async with begin(playground, scenario.prompt, outcome) as reply:
            async for event in reply:
                outcome.events.append(event)
                if isinstance(event, ToolStarted):
                    await reply.cancel()
            messages = reply.finished_messages
        assert outcome.last.stop_reason == "cancelled"
        [aggregate] = [each for each in messages if isinstance(each, ToolAggregateMessage)]
        assert aggregate.tool_results[0].error_code == "interrupted"

    run(asyncio.wait_for(main(), 20))


def test_a_selection_that_is_cancelled_asks_no_model() -> None:
    async def main() -> None:
        asked = asyncio.Event()

        class Waiting:
            name = "waiting"

            async def stream(self, *_: object, **__: object) -> Any:
                asked.set()
                await asyncio.Event().wait()
                yield

        playground = recorded(model=Waiting(), registry=films(), item_type="Movie")
        outcome = TurnOutcome()
        async with begin(playground, "How long is Alien?", outcome) as reply:
            reading = asyncio.ensure_future(anext(reply))
            await asked.wait()
            await reply.cancel()
            last = await reading
        assert isinstance(last, AgentResult)
        assert last.stop_reason == "cancelled"

    run(asyncio.wait_for(main(), 20))


@settings(max_examples=effort(20), deadline=None)
@given(st.integers(0, 60))
def test_leaving_at_any_event_leaves_nothing_behind(count: int) -> None:
    async def main() -> None:
        outcome = TurnOutcome()
        before = asyncio.all_tasks()
        async with begin(recorded(), scenarios()[1].prompt, outcome) as reply:
            for _ in range(count):
                try:
                    await anext(reply)
                except StopAsyncIteration:
                    break
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before

    run(asyncio.wait_for(main(), 20))


def test_exceptions_of_a_model_reach_the_reader() -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="no power"):
            await answered(recorded(model=ScriptedModel(RuntimeError("no power"))), "Hi")

    run(main())


def test_the_reply_that_an_event_belongs_to_is_known_when_it_is_read() -> None:
    outcome = replayed("call")
    begun = [outcome.generations[0]]
    for generation in outcome.generations[1:]:
        if generation != begun[-1]:
            begun.append(generation)
    assert len(begun) == 2
    finished = {message.generation_id for message in outcome.messages if message.generation_id}
    assert finished == set(begun)


@given(st.text(min_size=1, max_size=200))
def test_a_hand_written_reply_is_streamed_in_pieces(text: str) -> None:
    updates = written("prompt", text).updates
    pieces = [update.text for update in updates if isinstance(update, TextDelta)]
    assert "".join(pieces) == text
