"""Runs of an evaluation: requests for all cases, and replies kept in a file."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from .._checks import (
    check_callable,
    check_count,
    check_methods,
    check_number,
    check_type,
)
from .._core import FinishUpdate, TextDelta, ToolCallUpdate, UsageUpdate
from ..exceptions import ToolweaveError
from ..models import closing
from ..protocols import ModelOptions
from ._replies import NativeCall, RawReply, ReplyFile, check_hash, latest
from ._report import Report, as_tuples, score

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Sequence

    from .._messages import Update
    from ..natural._request import Request
    from ..protocols import ChatModel
    from ._case import Case
    from ._way import Way

DEFAULT_OPTIONS = ModelOptions(temperature=0, max_tokens=1024)
"""Options of the requests."""


class Progress(NamedTuple):
    """Progress of a run."""

    done: int
    """Number of replies so far, including those of earlier runs."""
    total: int
    """Number of replies of the whole run."""
    errors: int
    """Number of requests that failed."""
    reply: RawReply | None
    """Last reply; None before the first."""


class _Job(NamedTuple):
    case: Case
    way: Way
    request: Request | None
    digest: str
    error: str | None
    """Reason why there is no request."""


async def evaluate(
    model: ChatModel,
    cases: Sequence[Case],
    ways: Sequence[Way],
    replies: ReplyFile,
    *,
    options: ModelOptions = DEFAULT_OPTIONS,
    concurrency: int = 1,
    timeout: float | None = 600.0,
    on_progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Ask a model all cases in all ways, and score its replies.

    Replies are appended to a file as they arrive. Those that are in the file already are not
    requested again, except after an error or for a request that has changed.

    Args:
        model: The model, whose `native_tools` is true if ways are native.
        cases: The cases.
        ways: The ways.
        replies: The file, opened.
        options: Options of the requests.
        concurrency: Maximum number of requests at once.
        timeout: Timeout of a request, in seconds.
        on_progress: Function that is called before the first request and after each reply.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: `concurrency` or `timeout` is out of range, a way cannot be asked, or a reply in
            the file is for another case of the same id.
    """
    check_methods("model", model, "a model with the method `stream`", "stream")
    cases, ways = as_tuples(cases, ways)
    check_type("replies", replies, ReplyFile, "a ReplyFile")
    check_type("options", options, ModelOptions, "a ModelOptions")
    check_count("concurrency", concurrency, 1)
    check_number("timeout", timeout, above=0, none=True)
    check_callable("on_progress", on_progress, "a function of the progress", "progress", none=True)
    name = str(getattr(model, "name", type(model).__name__))
    # Prompts of many cases take longer to write than a callback may hold the event loop.
    jobs = await asyncio.to_thread(_jobs, model, cases, ways, options)
    known = latest(reply for reply in replies.replies if reply.model == name)
    waiting: list[_Job] = []
    for job in jobs:
        reply = known.get((job.case.id, job.way.asked_as))
        if reply is not None and reply.request_hash == job.digest:
            check_hash(reply, job.case, replies.path)
        if reply is None or reply.error is not None or reply.request_hash != job.digest:
            waiting.append(job)
    queue = iter(waiting)
    done, errors = len(jobs) - len(waiting), 0

    def report(reply: RawReply | None) -> None:
        if on_progress is not None:
            on_progress(Progress(done, len(jobs), errors, reply))

    async def work() -> None:
        nonlocal done, errors
        for job in queue:
            reply = await _ask(model, job, name, timeout)
            replies.append(reply)
            done += 1
            errors += reply.error is not None
            report(reply)

    if waiting:
        report(None)
    workers = [asyncio.ensure_future(work()) for _ in range(min(concurrency, len(waiting)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    own = [reply for reply in replies.replies if reply.model == name]
    return await score(cases, ways, own, path=replies.path)


def _jobs(
    model: ChatModel, cases: Sequence[Case], ways: Sequence[Way], options: ModelOptions
) -> list[_Job]:
    """Return one job for each case and way of asking, cases first."""
    asked = {way.asked_as: way for way in ways}
    for way in asked.values():
        way.check_asked()
    return [_job(model, case, way, options) for way in asked.values() for case in cases]


def _job(model: ChatModel, case: Case, way: Way, options: ModelOptions) -> _Job:
    try:
        request = way.request(model, case, options)
    except ToolweaveError as error:
        # Not every dialect can name every tool.
        return _Job(case, way, None, "", f"{type(error).__name__}: {error}")
    return _Job(case, way, request, _digest(request), None)


def _digest(request: Request) -> str:
    facts = [
        [[getattr(message, "role", ""), message.kind, getattr(message, "text", "")]
         for message in request.messages],
        [tool.to_dict() for tool in request.tools],
        repr(request.options),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]


async def _ask(model: ChatModel, job: _Job, name: str, timeout: float | None) -> RawReply:
    """Return the reply to one request; one with an error if it failed."""
    request = job.request
    reply = RawReply(
        job.case.id,
        job.way.asked_as,
        name,
        case_hash=job.case.digest,
        request_hash=job.digest,
    )
    if request is None:
        return replace(reply, error=job.error)
    start = time.monotonic()
    updates = model.stream(request.messages, tools=request.tools, options=request.options)
    try:
        reply = await asyncio.wait_for(_receive(updates, reply), timeout)
    except asyncio.TimeoutError:
        reply = replace(reply, error=f"timed out after {timeout:g} s")
    except (ToolweaveError, ValueError, OSError) as error:
        reply = replace(reply, error=f"{type(error).__name__}: {error}")
    return replace(reply, seconds=round(time.monotonic() - start, 3))


async def _receive(updates: AsyncIterable[Update], reply: RawReply) -> RawReply:
    """Return a reply with the content of a stream."""
    texts: list[str] = []
    calls: list[ToolCallUpdate] = []
    usage: UsageUpdate | None = None
    finish = ""
    async with closing(updates):
        async for update in updates:
            if isinstance(update, TextDelta):
                texts.append(update.text)
            elif isinstance(update, ToolCallUpdate):
                calls.append(update)
            elif isinstance(update, UsageUpdate):
                usage = update
            elif isinstance(update, FinishUpdate):
                finish = finish or update.reason.value
    return replace(
        reply,
        text="".join(texts),
        native_calls=join_fragments(calls),
        finish=finish,
        prompt_tokens=usage and usage.input_tokens,
        completion_tokens=usage and usage.output_tokens,
    )


def join_fragments(fragments: Sequence[ToolCallUpdate]) -> tuple[NativeCall, ...]:
    """Return native calls from their fragments, which share an id or else an index."""
    calls: list[dict[str, str]] = []
    by_id: dict[str, dict[str, str]] = {}
    by_index: dict[int, dict[str, str]] = {}
    for each in fragments:
        call: dict[str, str] | None = None
        if each.tool_call_id:
            call = by_id.get(each.tool_call_id)
        elif each.index is not None:
            call = by_index.get(each.index)
        elif calls and not each.function_name:
            call = calls[-1]
        if call is None:
            call = {"name": "", "arguments": ""}
            calls.append(call)
        if each.tool_call_id:
            by_id[each.tool_call_id] = call
            call["id"] = each.tool_call_id
        if each.index is not None:
            by_index[each.index] = call
        call["name"] += each.function_name or ""
        call["arguments"] += each.function_args or ""
    return tuple(NativeCall(call["name"], call["arguments"], call.get("id")) for call in calls)
