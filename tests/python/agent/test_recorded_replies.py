"""Agents on recorded replies of a real model, over HTTP: `tests/recorded`.

The numbers are those of the model with today's prompt. A change of the prompt, of the options or of
how histories are written makes the recordings stale: record them again, and pin what comes out.
"""

from __future__ import annotations

from typing import Any

import pytest

from coroutine_tests import on_a_loop
from recorded_runs import RECORDED, Task, first_calls, recorded, tasks
from servers.dialects import DONE, delta, openai_usage
from servers.sse import Answer, serving
from toolweave.models.http import HttpModel

MODEL = "qwen2.5-coder-1.5b-instruct"
FOLDER = RECORDED / MODEL
TASKS = list(tasks())

RIGHT_CALLS = 6
"""Number of tasks, of the ten that need calls, in which all first calls are right."""
RIGHT_ANSWERS = 3
"""Number of tasks, of the three that need no call, in which there is none."""
LOOPS = {"simple-timer", "parallel-timers"}
"""Tasks in which the model makes the same calls until the agent stops it."""


def answer(reply: dict[str, Any]) -> Answer:
    """Return a recorded reply as the server streamed it."""
    used = reply["usage"]
    deltas = [delta(content=piece) for piece in reply["deltas"]]
    end = [delta(reply["finish_reason"]), DONE]
    end.insert(1, openai_usage(used["prompt_tokens"], used["completion_tokens"]))
    return Answer([delta(role="assistant"), *deltas, *end])


@on_a_loop
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
async def test_a_recorded_run_comes_out_as_it_did(task: Task) -> None:
    run = recorded(FOLDER, task)
    async with (
        serving(*map(answer, run["requests"])) as served,
        HttpModel(f"{served.url}/v1", MODEL, proxy=None, max_retries=0) as model,
    ):
        result = await task.agent(model).run(task.prompt)
    bodies = [request["body"] for request in served.requests]
    assert bodies == [reply["request"] for reply in run["requests"]], "the recording is stale"
    assert all(body["stop"] == ["<tool_response"] for body in bodies)

    calls = first_calls(result.messages)
    assert [{"name": call.name, "arguments": call.arguments} for call in calls] == run["calls"]
    assert task.is_right(calls) is run["right"]
    assert (result.stop_reason, result.text) == (run["stop_reason"], run["text"])
    assert result.stop_reason == ("loop" if task.name in LOOPS else "completed")
    assert result.text or task.name in LOOPS
    used = [reply["usage"]["completion_tokens"] for reply in run["requests"]]
    assert result.usage.output_tokens == sum(used)


def test_the_recorded_calls_are_right_and_no_reply_is_empty() -> None:
    runs = {task.name: recorded(FOLDER, task) for task in TASKS}
    assert len(list(FOLDER.glob("*.json"))) == len(runs)
    right = [name for name, run in runs.items() if run["right"]]
    without = [name for name in right if name.startswith("irrelevance")]
    assert (len(right) - len(without), len(without)) == (RIGHT_CALLS, RIGHT_ANSWERS)
    replies = ["".join(reply["deltas"]) for run in runs.values() for reply in run["requests"]]
    assert [reply for reply in replies if not reply.strip()] == []
    assert [reply for reply in replies if "End of" in reply or "tool_response" in reply] == []
