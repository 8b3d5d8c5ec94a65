"""Cases of the Berkeley Function Calling Leaderboard, read from its data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ._case import MAX_BYTES, Case, sample_cases
from ._matching import exactly

if TYPE_CHECKING:
    from collections.abc import Sequence

CATEGORIES = (
    "simple_python",
    "multiple",
    "parallel",
    "parallel_multiple",
    "irrelevance",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
    "live_irrelevance",
)
"""Categories whose calls can be compared: one request, with arguments as JSON."""

_SHORT = {"simple": "simple_python"}

_TYPES = {
    "dict": "object",
    "float": "number",
    "tuple": "array",
    "list": "array",
    "int": "integer",
    "bool": "boolean",
    "str": "string",
}
"""Python's names of types, by which BFCL describes parameters."""


def bfcl_cases(
    categories: Sequence[str],
    folder: str | None = None,
    *,
    count: int | None = None,
    seed: int = 0,
) -> list[Case]:
    """Return cases of BFCL.

    Args:
        categories: Names of `CATEGORIES`, or ``simple`` for the first.
        folder: The folder with ``BFCL_v*.json`` files and ``possible_answer``, or with a converted
            ``calls.jsonl``. Defaults to that of the package ``bfcl-eval``.
        count: Number of cases, spread evenly over the categories; None for all.
        seed: Seed of the choice.

    Raises:
        OSError: A file cannot be read.
        ValueError: A category is unknown, there is no folder, or the data is invalid.
    """
    names = [_SHORT.get(name, name) for name in categories]
    for name in names or [""]:
        if name not in CATEGORIES:
            known = ", ".join((*_SHORT, *CATEGORIES))
            raise ValueError(f"a category of BFCL must be one of {known}, got {name!r}")
    place = Path(folder) if folder is not None else _package_data()
    converted = place / "calls.jsonl"
    read = _converted if converted.exists() else _original
    path = converted if converted.exists() else place
    cases = [case for name in dict.fromkeys(names) for case in read(path, name)]
    return sample_cases(cases, count, seed)


def _package_data() -> Path:
    found = find_spec("bfcl_eval")
    if found is None or found.origin is None:
        raise ValueError("BFCL's cases need the package bfcl-eval, or --bfcl DIR with its data")
    return Path(found.origin).parent / "data"


def _original(folder: Path, category: str) -> Iterator[Case]:
    name = re.compile(rf"BFCL_v\d+_{category}\.json")
    files = sorted(file for file in folder.glob("BFCL_v*.json") if name.fullmatch(file.name))
    if not files:
        raise ValueError(f"{folder} must have a file BFCL_v*_{category}.json")
    path = files[-1]
    answers: dict[str, Any] = {}
    if "irrelevance" not in category:
        found = _entries(path.parent / "possible_answer" / path.name)
        answers = {entry["id"]: entry["ground_truth"] for entry in found}
    for entry in _entries(path):
        if len(entry["question"]) != 1:
            continue
        expected = [
            {"name": name, "arguments": _alternatives(arguments)}
            for call in answers.get(entry["id"], ())
            for name, arguments in call.items()
        ]
        if expected or not answers:
            yield _case(path, entry, category, entry["question"][0], entry["function"], expected)


def _alternatives(value: Any) -> Any:
    """Return alternatives in which those of objects are lists, at all depths."""
    if isinstance(value, list):
        return [_alternatives(each) for each in cast("Sequence[Any]", value)]
    if not isinstance(value, dict):
        return value
    return {
        # An argument without alternatives is one that must be omitted.
        name: (_alternatives(each) or [""]) if isinstance(each, list) else [_alternatives(each)]
        for name, each in cast("dict[str, Any]", value).items()
    }


def _converted(path: Path, category: str) -> Iterator[Case]:
    for entry in _entries(path):
        if entry["category"] == category:
            expected = [
                {
                    "name": call["name"],
                    "arguments": {key: [exactly(each)] for key, each in call["arguments"].items()},
                }
                for call in entry["calls"]
            ]
            yield _case(path, entry, category, entry["question"], entry["functions"], expected)


def _case(
    path: Path, entry: Mapping[str, Any], category: str, messages: Any, tools: Any, expected: Any
) -> Case:
    fields = {
        "id": entry["id"],
        "kind": category,
        "messages": messages,
        "tools": [{**tool, "parameters": _schema(tool["parameters"])} for tool in tools],
        "expected": expected,
    }
    try:
        return Case.from_dict(fields)
    except ValueError as error:
        raise ValueError(f"{path}, {entry['id']}: {error}") from error


def _schema(schema: Any) -> Any:
    """Return a JSON Schema for one of BFCL's."""
    if isinstance(schema, list):
        return [_schema(each) for each in cast("Sequence[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    found: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", schema).items():
        if key == "properties" and isinstance(value, dict):
            inner = cast("dict[str, Any]", value)
            found[key] = {name: _schema(each) for name, each in inner.items()}
        elif key == "type" and isinstance(value, str):
            if value != "any":
                found[key] = _TYPES.get(value.lower(), value)
        elif key in ("default", "enum", "description"):
            found[key] = value
        elif key != "required" or isinstance(value, list):
            found[key] = _schema(value)
    return found


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path}: a file of cases must be at most {MAX_BYTES >> 20} MiB")
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}, line {number}: not JSON: {error}") from error
