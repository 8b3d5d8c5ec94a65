"""The required tests of the JSON-Schema-Test-Suite, through the Python API.

The suite is not part of this repository. It is looked up in ``JSON_SCHEMA_TEST_SUITE``, then in the
data next to the repository.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from paths import SHARED
from toolweave import Validator

DRAFTS = {
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
DEFAULT_DIRECTORY = SHARED / "data" / "json_schema_test_suite"


@functools.cache
def suite() -> Path | None:
    """Return the directory with ``tests`` and ``remotes``, if it exists."""
    path = Path(os.environ.get("JSON_SCHEMA_TEST_SUITE") or DEFAULT_DIRECTORY)
    return path if (path / "tests").is_dir() else None


@functools.cache
def remotes(draft: str) -> dict[str, Any]:
    """Return the schemas that tests of ``draft`` may refer to, by their URIs."""
    root = suite()
    assert root is not None
    found = {}
    for path in sorted((root / "remotes").rglob("*.json")):
        name = path.relative_to(root / "remotes").as_posix()
        if name.startswith(("draft", "v1/")) and not name.startswith(f"{draft}/"):
            continue
        schema = json.loads(path.read_text())
        if isinstance(schema, dict):
            schema.setdefault("$schema", DRAFTS[draft])
        found[f"http://localhost:1234/{name}"] = schema
    return found


def groups() -> Iterator[Any]:
    root = suite()
    if root is None:
        skip = pytest.mark.skip(reason="set JSON_SCHEMA_TEST_SUITE to a checkout of the suite")
        yield pytest.param("", {}, marks=skip, id="no-suite")
        return
    for draft in DRAFTS:
        for path in sorted((root / "tests" / draft).glob("*.json")):
            for group in json.loads(path.read_text()):
                yield pytest.param(draft, group, id=f"{draft}/{path.stem}/{group['description']}")


@pytest.mark.parametrize(("draft", "group"), list(groups()))
def test_required_tests_pass(draft: str, group: dict[str, Any]) -> None:
    schema = group["schema"]
    if isinstance(schema, dict):
        schema = {"$schema": DRAFTS[draft], **schema}
    validator = Validator(schema, resources=remotes(draft))
    for test in group["tests"]:
        data, expected = test["data"], test["valid"]
        assert validator.is_valid(data) is expected, test["description"]
        assert (validator.iter_errors(data) == ()) is expected, test["description"]


def test_the_suite_is_complete() -> None:
    if suite() is None:
        pytest.skip("set JSON_SCHEMA_TEST_SUITE to a checkout of the suite")
    count = sum(len(group.values[1]["tests"]) for group in groups())
    assert count > 2_000
