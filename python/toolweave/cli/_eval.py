"""`toolweave eval`: measure how well a model calls tools, in each dialect, style and mode."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import ToolweaveError
from ._excerpt import escaped
from ._inputs import InputError, read_contracts, read_registry, write_escapes
from ._options import add_model_options, check_required, count, positive

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from typing_extensions import Self

    from .._core import FunctionContract, RegistrySnapshot
    from ..evaluation import Case, RawReply, ReplyFile, Report, Way
    from ..evaluation._run import Progress
    from ..selection._benchmark import LabelledQuery

SUMMARY = "measure how well a model calls tools, in each dialect, style and mode"
DESCRIPTION = (
    "Ask a model the same cases in several ways, and print how many calls are right. Raw replies "
    "are kept in a file: a run that was interrupted continues, and --rescore scores the file "
    "without the model. A hundred cases come with the package."
)
REPLIES = "eval-replies.jsonl"
BFCL = "bfcl:"
_BAR = 30


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--model", metavar="URL", help="an OpenAI-compatible endpoint: http://127.0.0.1:8080/v1"
    )
    add_model_options(
        parser.add_argument, "the name of the model at the endpoint; its first model by default"
    )
    parser.add_argument(
        "--rescore", action="store_true", help="score the replies of the file, without a model"
    )
    parser.add_argument(
        "--replies",
        metavar="FILE",
        default=REPLIES,
        help=f"the file of raw replies (default: {REPLIES})",
    )
    parser.add_argument(
        "--ways",
        metavar="WAY,...",
        help="the ways: native, recovered, json, or a dialect, also as natural-full or "
        "DIALECT+reminder "
        "(default: natural, the dialect of the model, native and recovered)",
    )
    asked = parser.add_argument_group("cases")
    asked.add_argument(
        "--cases",
        metavar="FILE",
        help=f"the cases, one JSON object a line; or {BFCL}CATEGORY,... for those of BFCL",
    )
    asked.add_argument("--bfcl", metavar="DIR", help="the data of BFCL (default: bfcl-eval's)")
    asked.add_argument("--count", type=count, metavar="N", help="the number of cases; all")
    asked.add_argument("--seed", type=int, metavar="N", default=0, help="the choice of N cases")
    asked.add_argument(
        "--tools",
        metavar="FILE",
        help="tools instead of those of the cases: contracts as JSON, or functions in a .py file, "
        "which is imported",
    )
    asked.add_argument(
        "--instructions", metavar="FILE", help="a system prompt before that of each case"
    )
    asked.add_argument(
        "--select",
        metavar="FILE",
        help="measure the selection of tools of a tools.xml instead; ways are choose, batch, each "
        "and prefilter",
    )
    asked.add_argument(
        "--queries",
        metavar="FILE",
        help="queries for --select, one JSON object a line (default: the examples of its tools)",
    )
    asking = parser.add_argument_group("requests")
    asking.add_argument(
        "--concurrency", type=count, default=1, metavar="N", help="requests at once (default: 1)"
    )
    asking.add_argument(
        "--timeout",
        type=positive("a number of seconds"),
        default=600.0,
        metavar="S",
        help="seconds that a reply may take (default: 600)",
    )
    asking.add_argument(
        "--max-tokens",
        type=count,
        default=1024,
        metavar="N",
        help="the maximum length of a reply, in tokens (default: 1024)",
    )
    output = parser.add_argument_group("output")
    output.add_argument("--json", action="store_true", help="print JSON")
    output.add_argument("--html", metavar="FILE", help="write a page with every case")
    output.add_argument(
        "--save-profile", metavar="FILE", help="write the recommended way as a profile"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    write_escapes()
    if options.rescore == (options.model is not None):
        raise InputError("give either --model URL or --rescore")
    if options.rescore:
        check_required(options, "--model URL", "api_key_env")
    if options.select is None:
        check_required(options, "--select FILE", "queries")
    else:
        for name in ("cases", "bfcl", "tools", "instructions", "save_profile"):
            if getattr(options, name) is not None:
                raise InputError(f"--{name.replace('_', '-')} is not for --select")
    for path in (options.replies, options.html, options.save_profile):
        # A run can take hours.
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise InputError(f"cannot write {path}: no such folder")
    try:
        report = _measure_calls(options) if options.select is None else _measure_selection(options)
        _write(report, options)
    except (ToolweaveError, ValueError) as err:
        raise InputError(str(err)) from None
    is_answered = any(result.raw.error is None for result in report.results.values())
    return 0 if is_answered else 1


def _measure_calls(options: argparse.Namespace) -> Report:
    from ..evaluation import score

    # All that is read from files is read here, not on the event loop.
    cases = _cases(options)
    if not options.rescore:
        return asyncio.run(_ask(options, cases))
    replies = _one_model(_load(options.replies), options)
    names = _names(options.ways) or _recorded_ways(replies)
    ways = [_recorded_way(name) for name in names]
    return asyncio.run(score(cases, ways, replies, path=options.replies))


async def _ask(options: argparse.Namespace, cases: list[Case]) -> Report:
    from ..evaluation import Way, evaluate
    from ..evaluation._run import DEFAULT_OPTIONS
    from ..evaluation._way import default_ways
    from ..protocols import ModelOptions
    from ._endpoint import live_model

    asked = ModelOptions(temperature=DEFAULT_OPTIONS.temperature, max_tokens=options.max_tokens)
    async with await live_model(
        options, max_retries=2, native_tools=True, timeout=options.timeout
    ) as model:
        names = _names(options.ways) or default_ways(model.name)
        ways = [Way.named(name) for name in names]
        with _opened(options.replies) as file, _ProgressLines() as progress:
            return await evaluate(
                model,
                cases,
                ways,
                file,
                options=asked,
                concurrency=options.concurrency,
                timeout=options.timeout,
                on_progress=progress.show,
            )


def _measure_selection(options: argparse.Namespace) -> Report:
    from ..evaluation import _selections as selections

    registry = read_registry(options.select)
    try:
        queries = selections.load_queries(options.queries, registry)
    except OSError as err:
        raise InputError(f"cannot read {options.queries}: {err.strerror or err}") from None
    if options.count is not None:
        from ..selection._benchmark import sample

        queries = sample(queries, options.count)
    ways = selections.selection_ways(_names(options.ways))
    if not options.rescore:
        return asyncio.run(_ask_selection(options, registry, queries, ways))
    replies = _one_model(_load(options.replies), options)
    name = replies[0].model if replies else ""
    file = _opened(options.replies)
    return asyncio.run(
        selections.evaluate_selection(registry, queries, ways, file, None, model=name)
    )


async def _ask_selection(
    options: argparse.Namespace,
    registry: RegistrySnapshot,
    queries: list[LabelledQuery],
    ways: list[Way],
) -> Report:
    from ..evaluation._selections import evaluate_selection
    from ..selection import as_scorer
    from ._endpoint import live_model

    async with await live_model(options, max_retries=2, timeout=options.timeout) as model:
        with _opened(options.replies) as file, _ProgressLines() as progress:
            return await evaluate_selection(
                registry,
                queries,
                ways,
                file,
                as_scorer(model),
                model=model.name,
                timeout=options.timeout,
                on_progress=progress.show,
            )


def _cases(options: argparse.Namespace) -> list[Case]:
    from ..evaluation import load_cases, own_cases
    from ..evaluation._bfcl import bfcl_cases
    from ..evaluation._case import sample_cases

    source: str | None = options.cases
    if source is None or not source.startswith(BFCL):
        check_required(options, f"--cases {BFCL}CATEGORY", "bfcl")
    try:
        if source is None:
            cases = sample_cases(own_cases(), options.count, options.seed)
        elif source.startswith(BFCL):
            names = _names(source.removeprefix(BFCL)) or []
            cases = bfcl_cases(names, options.bfcl, count=options.count, seed=options.seed)
        else:
            cases = sample_cases(load_cases(source), options.count, options.seed)
        if options.tools is not None:
            tools = _tools(options.tools)
            cases = [case.with_tools(tools) for case in cases]
        if options.instructions is not None:
            text = Path(options.instructions).read_text("utf-8")
            cases = [case.with_instructions(text) for case in cases]
    except OSError as err:
        raise InputError(f"cannot read {err.filename}: {err.strerror or err}") from None
    return cases


def _tools(path: str) -> list[FunctionContract]:
    """Return the tools of a file: contracts as JSON, or the functions of a Python file."""
    if not path.endswith(".py"):
        return read_contracts(path)
    from ..tools import Tool, Toolset

    spec = importlib.util.spec_from_file_location("toolweave_eval_tools", path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise InputError(f"cannot read {path}: no such file")
    module = importlib.util.module_from_spec(spec)
    # Annotations are looked up there.
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as err:  # noqa: BLE001 - any code
        raise InputError(f"{path} cannot be imported: {type(err).__name__}: {err}") from None
    values = [*vars(module).items()]
    found: list[Any] = [value for _, value in values if isinstance(value, Tool)] or [
        value
        for name, value in values
        if not name.startswith("_")
        and callable(value)
        and getattr(value, "__module__", None) == spec.name
        and not isinstance(value, type)
    ]
    if not found:
        raise InputError(f"{path} must define at least one function")
    return list(Toolset(found).snapshot().contracts)


def _names(text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    return list(dict.fromkeys(names)) or None


def _load(path: str) -> list[RawReply]:
    from ..evaluation import load_replies

    try:
        return load_replies(path)
    except OSError as err:
        raise InputError(f"cannot read {path}: {err.strerror or err}") from None


def _opened(path: str) -> ReplyFile:
    from ..evaluation import ReplyFile

    try:
        file = ReplyFile(path)
    except OSError as err:
        raise InputError(f"cannot read {path}: {err.strerror or err}") from None
    if file.dropped:
        sys.stderr.write(f"{path}: an incomplete last line of {file.dropped} bytes is dropped\n")
    return file


def _one_model(replies: list[RawReply], options: argparse.Namespace) -> list[RawReply]:
    """Return the replies of the model of `--model-name`, or of the only one."""
    wanted: str | None = options.model_name
    models = sorted({reply.model for reply in replies})
    if wanted is None and len(models) > 1:
        raise InputError(
            f"{options.replies} has replies of {', '.join(models)}; choose one with --model-name"
        )
    found = [reply for reply in replies if wanted in (None, reply.model)]
    if not found:
        raise InputError(
            f"{options.replies} has no replies{f' of {wanted}' if wanted else ''}"
            + (f", only of {', '.join(models)}" if models else "")
        )
    return found


def _recorded_ways(replies: Sequence[RawReply]) -> list[str]:
    names: list[str] = []
    for reply in replies:
        names += ["native", "recovered"] if reply.way == "native" else [reply.way]
    return list(dict.fromkeys(names))


def _recorded_way(name: str) -> Way:
    from ..evaluation import Way

    try:
        return Way.named(name)
    except ValueError:
        # Recorded by another program, with a prompt of its own.
        return Way.of_unknown(name)


def _write(report: Report, options: argparse.Namespace) -> None:
    from ..evaluation._text import report_lines

    if not report.results:
        raise InputError(f"{options.replies} has no replies to these cases in these ways")
    if options.html is not None:
        from ..evaluation._html import report_page

        Path(options.html).write_text(report_page(report), "utf-8")
    profile = None
    if options.save_profile is not None:
        today = datetime.now(timezone.utc).date()
        source = options.cases or "the cases of the package"
        profile = report.profile(today, f"{len(report.cases)} of {source}")
        if profile is not None:
            profile.save(options.save_profile)
    if options.json:
        sys.stdout.write(json.dumps(_facts(report), indent=2) + "\n")
    else:
        encoding = sys.stdout.encoding or "utf-8"
        for line in report_lines(report):
            sys.stdout.write(escaped(line, encoding) + "\n")
    if options.save_profile is not None and profile is None:
        raise InputError("no way can be recommended, so there is no profile to save")


def _facts(report: Report) -> dict[str, Any]:
    best = report.recommended
    return {
        "model": report.model,
        "cases": len(report.cases),
        "table": [{**row.__dict__, "share": row.share} for row in report.table],
        "recommended": None if best is None else best.name,
        "outcomes": [
            {"case": result.case.id, "way": result.way, "outcome": result.outcome}
            for result in report.results.values()
        ],
    }


class _ProgressLines:
    """Progress on standard error: a bar on a terminal, else a line for ten replies."""

    def __init__(self) -> None:
        self._bar = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            sys.stderr.write("\r\x1b[K")

    def show(self, progress: Progress) -> None:
        """Show the progress at the start of a run and after a reply."""
        done, total, reply = progress.done, progress.total, progress.reply
        failed = f", {progress.errors} failed" if progress.errors else ""
        about = f"{done}/{total}{failed}"
        if self._bar:
            full = _BAR * done // total
            case = "" if reply is None else re.sub(r"[^ -~]", "?", f"{reply.way} {reply.case}")[:40]
            bar = "#" * full + "." * (_BAR - full)
            sys.stderr.write(f"\r\x1b[K[{bar}] {about} {case}")
        elif reply is None or done % 10 == 0 or done == total:
            sys.stderr.write(f"{about}\n")
        sys.stderr.flush()
