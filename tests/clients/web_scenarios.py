"""Runs with what clients must show of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from encoded_runs import EventLog, call
from web_clients import Shown

HOSTILE = (
    '<script>alert(1)</script>\n\ndata: [DONE]\r\n\u2028\u2029\x00\u202e{"type":"error"}</tool>'
)
LARGE = "0123456789abcdef" * 327_680


@dataclass
class Scenario:
    """A run and what clients show of it."""

    log: EventLog
    text: str = ""
    reasoning: str = ""
    calls: list[Shown] = field(default_factory=list[Shown])
    error: str | None = None


def _run() -> EventLog:
    return EventLog().asked("Please.").started()


def _streamed(log: EventLog, generation: str, *pieces: str, call_id: str = "call_0") -> None:
    log.fragment(generation, 0, call_id=call_id, name="weather")
    for piece in pieces:
        log.fragment(generation, 0, arguments=piece)


def _plain() -> Scenario:
    log = _run().text("g", 0, "Hello", ", ", "world.").usage("g", 7, 3).finished()
    return Scenario(log, text="Hello, world.")


def _reasoning() -> Scenario:
    log = _run().reasoning("g", 0, "Hm. ", "So.").text("g", 1, "Yes.").finished()
    return Scenario(log, text="Yes.", reasoning="Hm. So.")


def _one_call() -> Scenario:
    log = _run().text("g", 0, "Let me see. ", done=False)
    _streamed(log, "g", '{"city"', ': "Zürich"}')
    log.calls("g", call("call_0", "weather", {"city": "Zürich"}))
    log.text("g", 0, "A moment.").state("g", "call_0", "running")
    log.result("g", "call_0", '{"t": 20}').text("h", 0, " 20 degrees.").finished()
    shown = Shown("weather", {"city": "Zürich"}, "success", '{"t": 20}')
    return Scenario(log, text="Let me see. A moment. 20 degrees.", calls=[shown])


def _interleaved() -> Scenario:
    log = _run()
    for index, name in enumerate(("a", "b", "c")):
        log.fragment("g", index, name=name)
    for index in (2, 0, 1):
        log.fragment("g", index, call_id=f"call_{index}", arguments=f'{{"n": {index}')
    for index in (1, 2, 0):
        log.fragment("g", index, arguments="}")
    log.calls("g", *[call(f"call_{n}", "abc"[n], {"n": n}, index=n) for n in range(3)])
    for index in (1, 2, 0):
        log.result("g", f"call_{index}", f"result {index}")
    log.text("h", 0, "Done.").finished()
    shown = [Shown("abc"[n], {"n": n}, "success", f"result {n}") for n in (2, 0, 1)]
    return Scenario(log, text="Done.", calls=shown)


def _early_result() -> Scenario:
    log = _run().result("g", "call_0", "sunny")
    _streamed(log, "g", '{"city":', '"Rome"}')
    log.calls("g", call("call_0", "weather", {"city": "Rome"})).text("h", 0, "Sunny.").finished()
    shown = Shown("weather", {"city": "Rome"}, "success", "sunny")
    return Scenario(log, text="Sunny.", calls=[shown])


def _result_without_a_call() -> Scenario:
    log = _run().result("g", "call_0", "sunny").text("h", 0, "Sunny.").finished()
    return Scenario(log, text="Sunny.", calls=[Shown("tool", {}, "success", "sunny")])


def _repaired() -> Scenario:
    log = _run()
    _streamed(log, "g", '{"city": "Rome", "days": "3"}')
    log.calls("g", call("call_0", "weather", {"city": "Rome", "days": 3}))
    log.result("g", "call_0", "sunny").text("h", 0, "Sunny.").finished()
    shown = Shown("weather", {"city": "Rome", "days": 3}, "success", "sunny")
    return Scenario(log, text="Sunny.", calls=[shown])


def _invalid() -> Scenario:
    log = _run()
    _streamed(log, "g", '{"city": ')
    log.calls("g", call("call_0", "weather", invalid="The arguments are not JSON."))
    why = "The arguments are not JSON: write them again."
    log.result("g", "call_0", why, error="invalid_arguments").text("h", 0, "Sorry.").finished()
    return Scenario(log, text="Sorry.", calls=[Shown("weather", '{"city": ', "error", why)])


def _tool_error() -> Scenario:
    log = _run().calls("g", call("call_0", "weather", {"city": "Rome"}))
    log.result("g", "call_0", "The station is closed.", error="tool_error")
    log.text("h", 0, "It is closed.").finished()
    shown = Shown("weather", {"city": "Rome"}, "error", "The station is closed.")
    return Scenario(log, text="It is closed.", calls=[shown])


def _approval(outcome: str) -> Scenario:
    log = _run().calls("g", call("call_0", "pay", {"amount": 3}))
    log.state("g", "call_0", "awaiting_approval", key="key-1", reason="It costs money.")
    log.state("g", "call_0", outcome, key="key-1", reason="Because.")
    if outcome == "approved":
        log.state("g", "call_0", "running").result("g", "call_0", "paid")
        shown = Shown("pay", {"amount": 3}, "success", "paid")
    else:
        log.result("g", "call_0", "The user has refused this.", error="denied")
        shown = Shown("pay", {"amount": 3}, "denied", "The user has refused this.")
    return Scenario(log.text("h", 0, "Well.").finished(), text="Well.", calls=[shown])


def _asking() -> Scenario:
    log = _run().calls("g", call("call_0", "pay", {"amount": 3}))
    log.state("g", "call_0", "awaiting_approval", key="key-1", reason="It costs money.")
    return Scenario(log.finished("deferred"), calls=[Shown("pay", {"amount": 3}, "waiting")])


def _progress() -> Scenario:
    log = _run().calls("g", call("call_0", "fetch", {}))
    for percent in (10, 50, 90):
        log.result("g", "call_0", f"{percent} %", done=False)
    log.result("g", "call_0", "all of it").text("h", 0, "Fetched.").finished()
    shown = Shown("fetch", {}, "success", "all of it")
    return Scenario(log, text="Fetched.", calls=[shown])


def _cancelled() -> Scenario:
    log = _run().text("g", 0, "I will ", done=False).calls("g", call("call_0", "wait", {}))
    log.result("g", "call_0", "The run was stopped.", error="interrupted").finished("cancelled")
    shown = Shown("wait", {}, "error", "The run was stopped.")
    return Scenario(log, text="I will ", calls=[shown])


def _cut_off_call() -> Scenario:
    log = _run()
    _streamed(log, "g", '{"city": "Ro')
    log.text("h", 0, "Another model answers.").finished()
    shown = Shown("weather", '{"city": "Ro', "error", None)
    return Scenario(log, text="Another model answers.", calls=[shown])


def _run_error() -> Scenario:
    log = _run().text("g", 0, "Half of", done=False)
    log.finished("error", "The provider has hung up.")
    return Scenario(log, text="Half of", error="The provider has hung up.")


def _unfinished() -> Scenario:
    log = _run().text("g", 0, "Half of", done=False)
    return Scenario(log, text="Half of", error="The stream ended before the run did.")


def _several_steps() -> Scenario:
    log = _run()
    shown: list[Shown] = []
    for step in range(3):
        # Models number the calls of each reply from the start.
        log.text(f"g{step}", 0, f"Step {step}. ")
        log.calls(f"g{step}", call("call_0", "next", {"step": step}))
        log.result(f"g{step}", "call_0", f"did {step}")
        shown.append(Shown("next", {"step": step}, "success", f"did {step}"))
    log.text("g3", 0, "Done.").finished()
    return Scenario(log, text="Step 0. Step 1. Step 2. Done.", calls=shown)


def _scenes() -> Scenario:
    log = _run().scene("Initializing").scene("ExecutingScene", scene="Calculator")
    log.calls("g", call("call_0", "add", {"a": 1})).result("g", "call_0", "2")
    log.text("h", 0, "2. ")
    log.scene("ExecutingScene", scene="Weather").text("i", 0, "Sunny.")
    log.scene("Completed", message="2. Sunny.", stopReason="completed").finished()
    return Scenario(log, text="2. Sunny.", calls=[Shown("add", {"a": 1}, "success", "2")])


def _other_events() -> Scenario:
    log = _run().emit("selection", tool="a", score=0.9, fallback=False, calls=2, ranking=[])
    log.emit("error", message="A model has failed.", code="model_failed")
    log.emit("raw", delta="<a>").emit("later_kind", wanted=None)
    return Scenario(log.text("g", 0, "Another answers.").finished(), text="Another answers.")


def _large() -> Scenario:
    log = _run().calls("g", call("call_0", "dump", {})).result("g", "call_0", LARGE)
    log.text("h", 0, "That is all.").finished()
    return Scenario(log, text="That is all.", calls=[Shown("dump", {}, "success", LARGE)])


def _hostile() -> Scenario:
    log = _run().reasoning("g", 0, HOSTILE).text("g", 1, HOSTILE)
    log.calls("g", call("call_0", HOSTILE, {HOSTILE: HOSTILE}))
    log.result("g", "call_0", HOSTILE, error="tool_error").finished()
    shown = Shown(HOSTILE, {HOSTILE: HOSTILE}, "error", HOSTILE)
    return Scenario(log, text=HOSTILE, reasoning=HOSTILE, calls=[shown])


def _refused_keys() -> Scenario:
    arguments = {"at": [{"__proto__": {"x": None}}], "by": {"constructor": {"prototype": 1}}}
    log = _run().fragment("g", 0, call_id="call_0", name="add")
    for piece in json.dumps(arguments).partition("}"):
        log.fragment("g", 0, arguments=piece)
    log.calls("g", call("call_0", "add", arguments))
    log.scene("FunctionRequest", function="add", arguments=arguments)
    log.result("g", "call_0", "2").text("h", 0, "2.").finished()
    return Scenario(log, text="2.", calls=[Shown("add", arguments, "success", "2")])


SCENARIOS = {
    "plain text": _plain(),
    "reasoning": _reasoning(),
    "one call": _one_call(),
    "interleaved calls": _interleaved(),
    "early result": _early_result(),
    "result without a call": _result_without_a_call(),
    "repaired arguments": _repaired(),
    "invalid arguments": _invalid(),
    "tool error": _tool_error(),
    "approved": _approval("approved"),
    "denied": _approval("denied"),
    "asking": _asking(),
    "progress": _progress(),
    "cancelled": _cancelled(),
    "call cut off": _cut_off_call(),
    "run error": _run_error(),
    "unfinished": _unfinished(),
    "several steps": _several_steps(),
    "scenes": _scenes(),
    "other events": _other_events(),
    "large result": _large(),
    "hostile text": _hostile(),
    "keys that clients refuse": _refused_keys(),
}
