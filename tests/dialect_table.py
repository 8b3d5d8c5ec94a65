"""Tables of `docs/explanation/dialects.md`: what is read, and how tools are presented.

A mark in the table of what is read is backed by at least one golden case of `tests/cases/dialects`;
what no case shows is "unverified". "none" is a fact of the markup: it has no place for an id. The
templates are those of `tests/support/presented_tools.py`.

    python tests/dialect_table.py          # write the tables
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "explanation" / "dialects.md"
CASES = ROOT / "tests" / "cases" / "dialects"
UNVERIFIED = "unverified"

WITHOUT_IDS = frozenset(
    {
        "natural",
        "qwen3_coder",
        "gemma4",
        "harmony",
        "deepseek_v32",
        "glm45",
        "glm47",
        "minimax_m2",
        "deepseek_v3",
        "deepseek_v31",
        "pythonic",
        "kimi_k3",
        "hunyuan",
        "seed_oss",
        "minimax_m3",
        "functiongemma",
        "anthropic_xml",
        "react",
    }
)
"""Dialects whose markup has no place for the id of a call; `index` of Kimi K3 is its position."""

Case: TypeAlias = dict[str, Any]


def load_cases() -> list[Case]:
    """Return the golden cases of all files."""
    files = sorted(path for path in CASES.glob("*.json") if path.stem != "tools")
    return [case for path in files for case in json.loads(path.read_text("utf-8"))]


def _invalid(case: Case, kind: str) -> bool:
    return any(each["kind"] == kind for each in case.get("invalid", ()))


def _is_text(case: Case) -> bool:
    """Return True if a call of an unknown tool is text, as it has nothing but its shape."""
    found = case["calls"] or case.get("invalid")
    return not found and "unknown tool" in case["name"] and case.get("text") == case["reply"]


def _has_text(case: Case) -> bool:
    return bool(case["calls"]) and bool(case.get("text", "").strip())


def _has_code(case: Case) -> bool:
    found = case["calls"] or case.get("invalid")
    return not found and "`" in case["reply"]


def _has_types(case: Case) -> bool:
    values = [value for call in case["calls"] for value in call["arguments"].values()]
    return any(not isinstance(value, str) for value in values)


COLUMNS: dict[str, Callable[[Case], bool]] = {
    "one call": lambda case: len(case["calls"]) == 1,
    "several": lambda case: len(case["calls"]) > 1,
    "no arguments": lambda case: any(not call["arguments"] for call in case["calls"]),
    "typed values": _has_types,
    "text around": _has_text,
    "ids": lambda case: any("id" in call for call in case["calls"]),
    "unknown tool": lambda case: _invalid(case, "unknown_tool"),
    "cut off": lambda case: _invalid(case, "unclosed"),
    "quoted in code": _has_code,
}


def cases_of(dialect: str, cases: list[Case]) -> list[Case]:
    """Return the cases that a parser for this dialect reads."""
    return [case for case in cases if dialect in case["read_by"]]


def table(dialects: list[tuple[str, tuple[str, ...]]], cases: list[Case]) -> Iterator[str]:
    """Yield the lines of the table of what is read."""
    yield "| dialect | models | in `auto` | " + " | ".join(COLUMNS) + " |"
    yield "| --- " * (3 + len(COLUMNS)) + "|"
    for name, models in dialects:
        own = cases_of(name, cases)
        called = [case for case in own if case["calls"]]
        marks = {"auto": any("auto" in case["read_by"] for case in called)}
        marks |= {column: any(map(shows, own)) for column, shows in COLUMNS.items()}
        if name == "natural":
            # Its cases are those of `tests/cases/calls`.
            marks = dict.fromkeys(marks, True)
        shown = {column: "yes" if mark else UNVERIFIED for column, mark in marks.items()}
        if name in WITHOUT_IDS:
            shown["ids"] = "none"
        if not marks["unknown tool"] and any(map(_is_text, own)):
            shown["unknown tool"] = "text"
        yield f"| `{name}` | {', '.join(models)} | " + " | ".join(shown.values()) + " |"


def examples(names: list[str]) -> Iterator[str]:
    """Yield an example of each dialect that has cases: the first reply with one call."""
    for name in names:
        case = example(name)
        if case is not None:
            yield from (f"`{name}`:", "", "````text", *case["reply"].split("\n"), "````", "")


def example(name: str) -> Case | None:
    """Return the first case of a dialect with one call, which is as its models write it.

    Cases with less markup follow in each file.
    """
    file = CASES / f"{name}.json"
    if not file.exists():
        return None
    cases: list[Case] = json.loads(file.read_text("utf-8"))
    called = (case for case in cases if len(case["calls"]) == 1)
    return next(case for case in called if case["calls"][0]["arguments"])


def presented(dialects: list[tuple[str, tuple[str, ...]]]) -> Iterator[str]:
    """Yield the lines of the table of how tools are presented."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    try:
        from presented_tools import FORMS, SOURCES
    finally:
        sys.path.pop(0)
    yield "| dialect | list of tools | the same in | different in |"
    yield "| --- | --- | --- | --- |"
    for name, _ in dialects:
        if name not in FORMS:
            continue
        sources = [source for source in SOURCES if source.dialect == name]
        same = ", ".join(f"`{source.file}`" for source in sources if not source.difference)
        differences = [source for source in sources if source.difference]
        different = "; ".join(f"`{source.file}` {source.difference}" for source in differences)
        yield f"| `{name}` | {FORMS[name]} | {same or UNVERIFIED} | {different} |"


def details() -> Iterator[str]:
    """Yield the lines of the table of details that differ from templates."""
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    try:
        from presented_tools import DETAILS
    finally:
        sys.path.pop(0)
    yield "| part of a contract | dialects | difference |"
    yield "| --- | --- | --- |"
    for detail in DETAILS:
        reasons: dict[str, list[str]] = {}
        for dialect, reason in detail.reasons.items():
            reasons.setdefault(reason, []).append(f"`{dialect}`")
        for reason, names in reasons.items():
            yield f"| {detail.name} | {', '.join(names)} | {reason} |"


def sections(dialects: list[tuple[str, tuple[str, ...]]]) -> dict[str, str]:
    """Return the generated sections of the page, by their names."""
    cases = load_cases()
    names = [name for name, _ in dialects]
    return {
        "table": "\n".join(table(dialects, cases)),
        "examples": "\n".join(examples(names)).strip("\n"),
        "presented": "\n".join(presented(dialects)),
        "details": "\n".join(details()),
    }


def rewritten(page: str, generated: dict[str, str]) -> str:
    """Return the page with its generated sections replaced."""
    for name, text in generated.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, rest = page.split(begin)
        page = f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}"
    return page


def known_dialects() -> list[tuple[str, tuple[str, ...]]]:
    """Return the names of all dialects with their models."""
    from toolweave import Dialect

    return [(name, Dialect.named(name).models) for name in Dialect.names()]


def main() -> int:
    """Write the page."""
    page = PAGE.read_text("utf-8")
    PAGE.write_text(rewritten(page, sections(known_dialects())), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
