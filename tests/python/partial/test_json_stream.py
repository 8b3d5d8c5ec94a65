"""The value of JSON while it is written."""

from __future__ import annotations

import gc
import itertools
import json
import time
import weakref
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paths import CASES
from toolweave import (
    ContractError,
    JsonStream,
    Limits,
    Parser,
    SchemaError,
    ToolCall,
    ValidationError,
    repair_json,
)

FILE = CASES / "partial" / "snapshots.json"

KEYS = st.sampled_from(["a", "b", "days", "ünï", "x y", ""])
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
TEXTS = st.text(max_size=8) | st.sampled_from(
    ["4", "true", "LOW", "null", "[1]", 'a "b" c', "it's"]
)


def values(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    )


DOCUMENTS = st.dictionaries(KEYS, values(SCALARS | TEXTS), max_size=4)


def schemas() -> st.SearchStrategy[Any]:
    types = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
    leaves = (
        types.map(lambda name: {"type": name})
        | st.lists(types, min_size=1, max_size=2, unique=True).map(lambda names: {"type": names})
        | st.sampled_from([{}, {"enum": ["Low", "high", 3]}, {"const": "true"}])
    )
    return st.recursive(
        leaves,
        lambda inner: (
            inner.map(lambda items: {"type": "array", "items": items})
            | st.dictionaries(KEYS, inner, max_size=3).map(
                lambda members: {"type": "object", "properties": members}
            )
            | st.lists(inner, min_size=1, max_size=2).map(lambda each: {"anyOf": each})
            | inner.map(lambda other: {"additionalProperties": other})
        ),
        max_leaves=6,
    )


def object_schemas() -> st.SearchStrategy[Any]:
    """Return schemas that a tool may have."""
    members = st.dictionaries(KEYS, schemas(), max_size=4)
    plain = members.map(lambda members: {"type": "object", "properties": members})
    return plain | st.lists(plain, min_size=1, max_size=3).map(
        lambda each: {"type": "object", "anyOf": each}
    )


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """Text of a document in which something is missing, changed or added."""
    document = draw(DOCUMENTS)
    text = draw(st.sampled_from([json.dumps(document), json.dumps(document, indent=1)]))
    text = draw(st.sampled_from([text, repr(document), text.replace('"', "'")]))
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(text)))
        until = at + draw(st.integers(0, 2))
        text = (
            text[:at]
            + draw(st.sampled_from(["", ",", '"', "}", "]", "\\", "\n", "# ", "1"]))
            + text[until:]
        )
    before = draw(st.sampled_from(["", "Here: ", "```json\n", "\ufeff"]))
    return before + text + draw(st.sampled_from(["", "\n```", "\nDone."]))


def cut(text: str, sizes: list[int]) -> list[str]:
    """Cut a text into chunks of these sizes, in turns."""
    chunks, at = [], 0
    while at < len(text):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(text[at : at + size])
        at += size
    return chunks


def grows(part: Any, whole: Any) -> bool:
    """Return True if `whole` is `part` with more."""
    if isinstance(part, dict) and isinstance(whole, dict):
        return all(key in whole and grows(part[key], whole[key]) for key in part)
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(map(grows, part, whole))
    if isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return type(part) is type(whole) and bool(part == whole)


def native(schema: Any, text: str) -> Any:
    """Return the arguments of a native call with this text; None if they are invalid."""
    try:
        event = Parser({"f": schema}).native_call("c", "f", text)
    except ContractError:
        return None  # not the schema of an object
    return event.arguments if isinstance(event, ToolCall) else None


def repeats_a_key(text: str) -> bool:
    """Return True if an object in the text has a key twice, after repair."""
    repeated = []

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        repeated.append(len(pairs) != len(dict(pairs)))
        return dict(pairs)

    json.loads(repair_json(text)[0], object_pairs_hook=members)
    return any(repeated)


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case["name"]) for case in json.loads(FILE.read_text(encoding="utf-8"))],
)
def test_golden_texts_grow_step_by_step(case: dict[str, Any]) -> None:
    stream = JsonStream(case.get("schema"))
    for chunk, value, open_path in case["steps"]:
        before = json.dumps(stream.value), stream.open_path
        changed = stream.push(chunk)
        assert changed or before == (json.dumps(stream.value), stream.open_path)
        assert stream.value == value
        assert stream.snapshot() == value
        assert stream.open_path == (None if open_path is None else tuple(open_path))
    if "error" in case:
        with pytest.raises(ValidationError) as refused:
            stream.finish()
        assert [each.keyword for each in refused.value.violations] == case["error"]
        assert stream.value == value
    else:
        assert stream.finish() == case["value"]
        assert stream.value == case["value"]
    assert stream.open_path is None


@given(object_schemas() | schemas(), damaged(), st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_snapshots_grow_to_what_a_native_call_makes_of_the_text(
    schema: Any, text: str, sizes: list[int]
) -> None:
    stream = JsonStream(schema)
    snapshots = []
    for chunk in cut(text, sizes):
        stream.push(chunk)
        snapshots.append(stream.snapshot())
    kept = json.dumps(snapshots)
    for one, two in itertools.pairwise(snapshots):
        assert one is None or grows(one, two)
    try:
        whole = stream.finish()
    except ValidationError as refused:
        keywords = {each.keyword for each in refused.violations}
        assert "duplicate_key" in keywords or native(schema, text) is None
        # Without a repeated key, a value is never shown that the whole contradicts.
        assert "duplicate_key" not in keywords or repeats_a_key(text)
    else:
        assert not snapshots or snapshots[-1] is None or grows(snapshots[-1], whole)
        expected = native(schema, text)
        assert expected is None or json.dumps(whole) == json.dumps(expected)
    # A snapshot stays as it is.
    assert json.dumps(snapshots) == kept


@given(schemas(), damaged(), st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_the_value_does_not_depend_on_the_chunks(schema: Any, text: str, sizes: list[int]) -> None:
    stream, at = JsonStream(schema), 0
    for chunk in cut(text, sizes):
        stream.push(chunk)
        at += len(chunk)
        other = stream.fresh()
        other.push(text[:at])
        assert json.dumps(stream.value) == json.dumps(other.value)
        assert stream.open_path == other.open_path


@given(DOCUMENTS, st.lists(st.integers(1, 9), min_size=1, max_size=4))
def test_nothing_is_withheld_of_json_without_a_schema(
    document: dict[str, Any], sizes: list[int]
) -> None:
    stream = JsonStream()
    for chunk in cut(json.dumps(document, ensure_ascii=False), sizes):
        stream.push(chunk)
    assert json.dumps(stream.value) == json.dumps(document)
    assert stream.finish() == document


def test_the_open_path_leads_to_the_only_value_that_changes() -> None:
    stream = JsonStream()
    for ch in '{"a": ["x", {"b": "y", "c": [1, 2, "z"]}], "d": {}, "e": "w" }':
        stream.push(ch)
        place = stream.value
        for step in stream.open_path or ():
            # Each container on the way ends with the open value.
            last = len(place) - 1 if isinstance(place, list) else list(place)[-1]
            assert step == last
            place = place[step]


def test_complete_parts_are_shared_and_open_ones_copied() -> None:
    stream = JsonStream()
    stream.push('{"a": {"b": 1}, "c": [[1], ')
    first = stream.snapshot()
    stream.push("[2")
    second = stream.snapshot()
    assert first == {"a": {"b": 1}, "c": [[1]]}
    assert second == {"a": {"b": 1}, "c": [[1], []]}
    assert first["a"] is second["a"]
    assert first["c"] is not second["c"]
    assert first["c"][0] is second["c"][0]
    assert stream.value is stream.value


def test_a_string_that_was_kept_does_not_change() -> None:
    stream = JsonStream()
    kept = []
    for chunk in ['{"a": "', "b", "é", "\U0001f600", "d"]:
        stream.push(chunk)
        kept.append((stream.value or {}).get("a"))
    assert kept == ["", "b", "bé", "bé\U0001f600", "bé\U0001f600d"]


def test_the_changes_of_repair_are_reported_at_the_end() -> None:
    stream = JsonStream({"properties": {"days": {"type": "integer"}}})
    stream.push("{days: '4'}")
    assert stream.repairs == ()
    assert stream.finish() == {"days": 4}
    assert [repair.kind for repair in stream.repairs] == ["bare_key", "quotes", "type"]


def test_a_truncated_reply_keeps_its_value() -> None:
    stream = JsonStream()
    stream.push('{"a": [1, {"b": "c')
    with pytest.raises(ValidationError, match="cut off"):
        stream.finish(truncated=True)
    assert stream.value == {"a": [1, {"b": "c"}]}


def test_a_finished_stream_refuses_more() -> None:
    stream = JsonStream()
    stream.push("{}")
    stream.finish()
    with pytest.raises(ValueError, match="finished"):
        stream.push(" ")
    with pytest.raises(ValueError, match="finished"):
        stream.finish()
    assert stream.fresh().value is None


def test_invalid_options_are_refused() -> None:
    with pytest.raises(SchemaError, match="type"):
        JsonStream({"type": "no such type"})
    with pytest.raises(ValueError, match='repair: "all" is not one of'):
        JsonStream(repair="all")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        JsonStream().push(b"{}")  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError):
        JsonStream().push("\ud800")


def test_limits_bound_depth_and_size() -> None:
    stream = JsonStream(limits=Limits(max_depth=2, max_argument_bytes=20))
    stream.push('{"a": [[1]]}')
    assert stream.value == {"a": []}
    with pytest.raises(ValidationError, match="nested deeper than 2 levels"):
        stream.finish()
    stream = stream.fresh()
    stream.push('{"a": "' + "b" * 100)
    assert stream.value == {"a": "b" * 13}
    with pytest.raises(ValidationError, match="larger than 20 bytes"):
        stream.finish()


@pytest.mark.growth
@pytest.mark.parametrize("part", ['"‘', "\" 'x", '"}x', '" ,', "[", '{"a":', "\\u", "/*", '"a",'])
def test_hostile_text_is_read_in_bounded_time(part: str) -> None:
    stream = JsonStream({"anyOf": [{"type": "object"}, {"items": {"type": "string"}}]})
    begun = time.process_time()
    for chunk in cut('{"a": "x' + part * 50_000, [4]):
        stream.push(chunk)
        _ = stream.value
    with suppress(ValidationError):
        stream.finish()
    assert time.process_time() - begun < 20


def test_a_recursive_schema_is_followed() -> None:
    schema = {"properties": {"next": {"$ref": "#"}, "n": {"type": "integer"}}}
    stream = JsonStream(schema)
    stream.push('{"n": "1", "next": ' * 100)
    place, depth = stream.value, 0
    while place is not None:
        assert place["n"] == 1
        place, depth = place.get("next"), depth + 1
    assert depth == 100


def test_a_stream_in_a_cycle_is_collected() -> None:
    class Marked(list[Any]):
        pass

    marked = Marked()
    reference = weakref.ref(marked)
    stream = JsonStream()
    stream.push('{"a": 1, ')
    stream.value["cycle"] = [stream, marked]
    del stream, marked
    gc.collect()
    assert reference() is None
