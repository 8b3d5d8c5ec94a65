"""Evaluation of the prompts of tool selection, whose cases are queries with a known tool.

A selection may take several requests. The text of its raw reply is a JSON object with the reply to
each prompt, by a hash of the prompt.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .._core import FunctionContract, Validator, type_name
from ..selection import SelectionPolicy, ToolSelector
from ..selection._benchmark import (
    METHODS,
    LabelledQuery,
    WithoutExample,
    is_right,
    labelled_queries,
    policy_of,
)
from ..selection._scorer import ScorerReply
from ._case import MAX_BYTES, Case, ExpectedCall
from ._reading import ReadReply
from ._replies import RawReply, ReplyFile, check_hash, latest
from ._report import CaseResult, Report
from ._run import Progress
from ._way import Way

if TYPE_CHECKING:
    import os

    from .._core import RegistrySnapshot
    from ..selection import Scorer, Selection
    from ..selection._benchmark import Method
    from ..selection._scorer import ScorerRequest
    from ._outcome import CaseOutcome

_query_validator = Validator(
    {
        "type": "object",
        "additionalProperties": False,
        "required": ["query", "tool"],
        "properties": {
            "query": {"type": "string", "minLength": 1},
            "type": {"type": "string"},
            "site": {"type": ["string", "null"]},
            "tool": {"type": ["string", "array", "null"], "items": {"type": "string"}},
        },
    }
)

_texts_validator = Validator({"type": "object", "additionalProperties": {"type": "string"}})


def load_queries(
    path: str | os.PathLike[str] | None, registry: RegistrySnapshot
) -> list[LabelledQuery]:
    """Read queries from a file with one JSON object a line: query, type, site and tool.

    `tool` is the name of the right tool, a list of names, or null if no tool is right.

    Args:
        path: The file; None for the examples of the registry.
        registry: The registry.

    Raises:
        OSError: The file cannot be read.
        ValueError: There are no queries, or a line is invalid; the error names it.
    """
    if path is None:
        found = labelled_queries(registry, registry.entries)
        if not found:
            raise ValueError("the registry has no examples of tools to choose between")
        return found
    with Path(path).open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{path}: a file of queries must be at most {MAX_BYTES >> 20} MiB")
    queries: list[LabelledQuery] = []
    for number, line in enumerate(data.splitlines(), 1):
        if not line.strip():
            continue
        try:
            fields: dict[str, Any] = _query_validator.validate_json(line)
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
        tool = fields["tool"]
        names = [] if tool is None else [tool] if isinstance(tool, str) else tool
        about = type_name(fields.get("type", "Thing"))
        known = {each.name for each in registry.tools_for(about, fields.get("site"))}
        if unknown := sorted({*names} - known):
            raise ValueError(
                f"{path}, line {number}: /tool: must be one of {', '.join(sorted(known))}, "
                f"got {', '.join(unknown)}"
            )
        queries.append(LabelledQuery(fields["query"], about, fields.get("site"), frozenset(names)))
    if not queries:
        raise ValueError(f"{path} must have at least one query")
    return queries


def selection_ways(names: Sequence[str] | None) -> list[Way]:
    """Return ways for methods of selection; ``choose`` if none are given.

    Raises:
        ValueError: A name is unknown.
    """
    for name in names or ():
        if name not in METHODS:
            known = ", ".join(METHODS)
            raise ValueError(f"a way of selecting a tool must be one of {known}, got {name!r}")
    return [Way(name, asked_as=name) for name in names or ("choose",)]


async def evaluate_selection(
    registry: RegistrySnapshot,
    queries: Sequence[LabelledQuery],
    ways: Sequence[Way],
    replies: ReplyFile,
    scorer: Scorer | None,
    *,
    model: str,
    timeout: float = 600.0,
    on_progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Select a tool for each query in all ways, and score the selections.

    Args:
        registry: The tools.
        queries: The queries.
        ways: The ways.
        replies: The file of raw replies. Queries with a reply are not asked again.
        scorer: The model; None to score the replies of the file alone.
        model: Name of the model.
        timeout: Timeout of a request, in seconds.
        on_progress: Function that is called before the first query and after each one that was
            asked.

    Raises:
        ValueError: A reply in the file is for other tools.
    """
    known = latest(reply for reply in replies.replies if reply.model == model)
    # One request at a time, so that a selection that stops early stops at the same tool again.
    policy = SelectionPolicy(timeout=timeout, max_concurrency=1)
    results: dict[tuple[str, str], CaseResult] = {}
    cases = [_case(query, registry) for query in queries]
    total, errors = len(ways) * len(queries), 0

    is_asking = False

    def report(done: int, reply: RawReply | None) -> None:
        if on_progress is not None:
            on_progress(Progress(done, total, errors, reply))

    for way in ways:
        method: Any = way.name
        for query, case in zip(queries, cases, strict=True):
            raw = known.get((case.id, way.name))
            result = None
            if raw is not None and (raw.error is None or scorer is None):
                check_hash(raw, case, replies.path)
                result = await _score(method, query, case, registry, policy, raw)
                if result is None and scorer is None:
                    raise ValueError(
                        f"{replies.path}: the prompts for {case.id!r} have changed since the "
                        "replies were recorded; ask the model again, with another file"
                    )
            if result is None and scorer is not None:
                if not is_asking:
                    is_asking = True
                    report(len(results), None)
                raw = await _ask(method, query, case, registry, scorer, policy, model)
                replies.append(raw)
                result = await _score(method, query, case, registry, policy, raw)
                errors += raw.error is not None
                report(len(results) + 1, raw)
            if result is not None:
                results[case.id, way.name] = result
    return Report(model, tuple(cases), tuple(ways), results)


def _case(query: LabelledQuery, registry: RegistrySnapshot) -> Case:
    tools = registry.tools_for(query.item_type, query.site)
    place = query.item_type if query.site is None else f"{query.item_type} at {query.site}"
    return Case(
        id=f"{place}: {query.query}",
        messages=({"role": "user", "content": query.query},),
        tools=tuple(FunctionContract(tool.name, tool.prompt) for tool in tools),
        expected=tuple(ExpectedCall(name, {}) for name in sorted(query.tools)),
        kind=place,
    )


async def _ask(
    method: Method,
    query: LabelledQuery,
    case: Case,
    registry: RegistrySnapshot,
    scorer: Scorer,
    policy: SelectionPolicy,
    model: str,
) -> RawReply:
    recorder = _RecordingScorer(scorer)
    start = time.monotonic()
    selection = await _select(method, query, registry, recorder, policy)
    usage = selection.usage
    failed = None if recorder.replies else "; ".join(one.error or "" for one in selection.errors)
    return RawReply(
        case.id,
        method,
        model,
        text=json.dumps(recorder.replies, ensure_ascii=False),
        finish="stop",
        prompt_tokens=None if usage is None else usage.input_tokens,
        completion_tokens=None if usage is None else usage.output_tokens,
        seconds=round(time.monotonic() - start, 3),
        case_hash=case.digest,
        error=failed,
    )


async def _score(
    method: Method,
    query: LabelledQuery,
    case: Case,
    registry: RegistrySnapshot,
    policy: SelectionPolicy,
    raw: RawReply,
) -> CaseResult | None:
    """Return the result of a raw reply; None if it has no reply to one of the prompts."""
    if raw.error is not None:
        return CaseResult(case, method, "error", raw, None)
    scorer = _RecordedScorer(raw)
    selection = await _select(method, query, registry, scorer, policy)
    if scorer.is_incomplete:
        return None
    read = ReadReply(selection.explain(), (), ())
    return CaseResult(case, method, _outcome(query, selection, raw), raw, read)


def _outcome(query: LabelledQuery, selection: Selection, raw: RawReply) -> CaseOutcome:
    is_chosen = selection.tool is not None and is_right(query, selection)
    if selection.tool is not None and not selection.fallback:
        return "right" if is_chosen else "invented"
    # The fallback may happen to be right, whatever the model has written.
    if not any(text.strip() for text in _texts(raw).values()):
        return "empty"
    if selection.errors:
        return "invalid"
    return "right" if is_chosen or not query.tools else "missed"


async def _select(
    method: Method,
    query: LabelledQuery,
    registry: RegistrySnapshot,
    scorer: Scorer,
    policy: SelectionPolicy,
) -> Selection:
    source = WithoutExample(registry, query.query)
    selector = ToolSelector(source, scorer, policy_of(method, policy), cache_ttl=0)
    return await selector.select(query.query, item_type=query.item_type, site=query.site)


class _RecordingScorer:
    """Scorer that keeps the texts of its replies."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self.name = scorer.name
        self.replies: dict[str, str] = {}

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        reply = await self._scorer.ask(request)
        content = reply.content
        text = content if isinstance(content, str) else json.dumps(dict(content))
        self.replies[_digest(request.prompt)] = text
        return reply


class _RecordedScorer:
    """Scorer that gives recorded replies."""

    def __init__(self, raw: RawReply) -> None:
        self.name = raw.model
        self.is_incomplete = False
        self._texts = _texts(raw)

    async def ask(self, request: ScorerRequest) -> ScorerReply:
        text = self._texts.get(_digest(request.prompt))
        if text is None:
            self.is_incomplete = True
            raise LookupError("no reply to this prompt was recorded")
        return ScorerReply(text)


def _texts(raw: RawReply) -> Mapping[str, str]:
    try:
        found: Any = _texts_validator.validate_json(raw.text)
    except ValueError:
        return {}
    return cast("dict[str, str]", found)


def _digest(prompt: str) -> str:
    return hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()[:16]
