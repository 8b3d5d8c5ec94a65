"""The Python API for repair of JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paths import CASES
from toolweave import InvalidJSONError, Repair, repair_json

FILE = CASES / "repair" / "mend.json"


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case["name"]) for case in json.loads(FILE.read_text(encoding="utf-8"))],
)
def test_golden_texts_are_repaired(case: dict[str, Any]) -> None:
    if case["mended"] is None:
        with pytest.raises(InvalidJSONError, match=r"repaired|guess"):
            repair_json(case["text"])
    else:
        text, repairs = repair_json(case["text"])
        assert text == case["mended"]
        assert repairs == tuple(Repair(**repair) for repair in case["repairs"])


@given(st.text(alphabet="{}[](),:\"'`a1.+\\-# /*\n", max_size=40))
def test_repaired_text_is_json_and_stays_unchanged(text: str) -> None:
    try:
        repaired, _ = repair_json("{" + text)
    except InvalidJSONError:
        return
    json.loads(repaired)
    assert repair_json(repaired) == (repaired, ())


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.none()), st.booleans())
def test_python_literals_are_repaired_to_the_same_value(
    value: dict[str, Any], ascii_only: bool
) -> None:
    # The output of `repr` has the quotes that models write.
    if any(not text.isprintable() for text in [*value, *map(str, value.values())]):
        return
    text, _ = repair_json(ascii(value) if ascii_only else repr(value))
    assert json.loads(text) == value


@pytest.mark.parametrize("text", [None, 1, b"{}", ["{}"]])
def test_only_text_is_repaired(text: Any) -> None:
    with pytest.raises(TypeError):
        repair_json(text)


def test_the_error_has_the_position() -> None:
    with pytest.raises(InvalidJSONError) as refused:
        repair_json('{"a": 1,\n "b": hello}')
    assert (refused.value.line, refused.value.column) == (2, 7)
