"""Result texts: JSON of the returned value, or an error that names the unsupported part."""

from __future__ import annotations

import collections
import enum
import json
import sys
import uuid
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolweave import TextMessage
from toolweave.exceptions import ResultError
from toolweave.executor import _results as results
from toolweave.executor._results import to_json_value, to_text, truncate

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@pytest.fixture(params=["with orjson", "without orjson"])
def encoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> object:
    """Run the tests with both encoders."""
    results._orjson.cache_clear()
    if request.param == "without orjson":
        monkeypatch.setitem(sys.modules, "orjson", None)
    yield request.param
    results._orjson.cache_clear()


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Flat(NamedTuple):
    street: str
    rooms: int


@dataclass
class City:
    name: str
    flats: list[Flat]


class Weather(pydantic.BaseModel):
    at: datetime
    degrees: Decimal


class Shout(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "not what it is"


@given(st.text())
def test_a_string_is_its_own_text(text: str) -> None:
    assert to_text(text) == text


@given(JSON)
def test_json_values_are_written_as_json_that_reads_the_same(value: Any) -> None:
    text = to_text(value)
    assert value == (text if isinstance(value, str) else json.loads(text))
    assert to_json_value(value) == value


@given(JSON)
def test_any_text_can_be_encoded_as_utf_8(value: Any) -> None:
    to_text(["\ud800", value]).encode()


MOMENT = datetime(2026, 11, 22, 9, 30, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (42, "42"),
        (0.5, "0.5"),
        ("", ""),
        ({"temperature": "20 °C", "sky": None}, '{"temperature":"20 °C","sky":null}'),
        ((1, (2, 3)), "[1,[2,3]]"),
        (10**30, "1" + "0" * 30),
        ([10**30, 1], "[1" + "0" * 30 + ",1]"),
        ([float("nan"), float("inf")], '["NaN","Infinity"]'),
        (float("nan"), "NaN"),
        ({"a": 1}.items(), '[["a",1]]'),
        ({"b": 1, "a": 2}.keys(), '["a","b"]'),
        ({2: "a", None: "b", True: "c", 2.5: "d"}, '{"2":"a","null":"b","true":"c","2.5":"d"}'),
        ({Colour.RED: 1, date(2026, 11, 22): 2}, '{"red":1,"2026-11-22":2}'),
        (Colour.RED, "red"),
        ([Level.HIGH, Colour.RED], '[3,"red"]'),
        (Flat("High Street", 2), '{"street":"High Street","rooms":2}'),
        (
            City("Bern", [Flat("High Street", 2)]),
            '{"name":"Bern","flats":[{"street":"High Street","rooms":2}]}',
        ),
        (
            {"weather": Weather(at=MOMENT, degrees=Decimal("20.50"))},
            '{"weather":{"at":"2026-11-22T09:30:00Z","degrees":"20.50"}}',
        ),
        (MOMENT, "2026-11-22T09:30:00+00:00"),
        ([date(2026, 11, 22), time(9, 30)], '["2026-11-22","09:30:00"]'),
        (timedelta(hours=1, milliseconds=500), "PT3600.5S"),
        (Decimal("1.10"), "1.10"),
        ([uuid.UUID(int=1)], '["00000000-0000-0000-0000-000000000001"]'),
        (PurePosixPath("notes/today.txt"), "notes/today.txt"),
        (b"caf\xc3\xa9", "café"),
        (bytearray(b"\xff\x00"), "/wA="),
        ([memoryview(b"ab")], '["ab"]'),
        ({3, 1, 2}, "[1,2,3]"),
        (frozenset({"b", "a"}), '["a","b"]'),
        ({(1, 2), (1, 1)}, "[[1,1],[1,2]]"),
        (collections.deque([1, 2]), "[1,2]"),
        (range(3), "[0,1,2]"),
        (MappingProxyType({"a": 1}), '{"a":1}'),
        (collections.OrderedDict(a=1), '{"a":1}'),
        (Shout("as it is"), "as it is"),
        ([Shout("as it is")], '["as it is"]'),
        ("half a \ud83d character", "half a � character"),
        (["half a \ud83d character"], '["half a � character"]'),
        ("a whole \U0001f600", "a whole \U0001f600"),
        (numpy.float64(0.5), "0.5"),
        ([numpy.int64(7), numpy.bool_(True)], "[7,true]"),
        (numpy.array([[1, 2], [3, 4]]), "[[1,2],[3,4]]"),
        (numpy.array([1.5, float("nan")]), '[1.5,"NaN"]'),
        (TextMessage("hello"), '{"kind":"text","role":"user","text":"hello"}'),
    ],
)
@pytest.mark.usefixtures("encoder")
def test_supported_types_are_converted(value: object, text: str) -> None:
    assert to_text(value) == text


class Connection:
    """Type without a JSON form."""


class Broken(pydantic.BaseModel):
    value: Any

    @pydantic.model_serializer
    def refuse(self) -> Any:
        raise ValueError("secret: /srv/app")


@pytest.mark.parametrize(
    ("value", "message", "path"),
    [
        (Connection(), "it is of the type Connection", ""),
        ({"rows": [1, Connection()]}, "/rows/1 is of the type Connection", "/rows/1"),
        ({"a/b": {"~": object()}}, "/a~1b/~0 is of the type object", "/a~1b/~0"),
        (City("Bern", [Connection()]), "/flats/0 is of the type Connection", "/flats/0"),  # type: ignore[list-item]
        ([lambda: 1], "/0 is of the type function", "/0"),
        ((n for n in ()), "it is of the type generator", ""),
        ([Connection], "/0 is the class Connection", "/0"),
        (City, "it is the class City", ""),
        ({(1, 2): 3}, "it has a key of the type tuple", ""),
        ([{"1": "a", 1: "b"}], "/0 has two keys that are both written '1'", "/0"),
        pytest.param([10**5000], "/0 is an integer with too many digits", "/0", id="long"),
        pytest.param(10**5000, "it is an integer with too many digits", "", id="longest"),
        ([1 + 2j], "/0 is of the type complex", "/0"),
        ([ValueError("x")], "/0 is of the type ValueError", "/0"),
        (Broken(value=1), "it is of the type Broken, which failed to convert", ""),
        (numpy.array([Connection()]), "/0 is of the type Connection", "/0"),
    ],
)
@pytest.mark.usefixtures("encoder")
def test_the_error_names_the_path_of_an_unsupported_value(
    value: object, message: str, path: str
) -> None:
    with pytest.raises(ResultError) as caught:
        to_text(value)
    assert str(caught.value) == f"the result is not JSON: {message}"
    assert caught.value.path == path
    assert "0x" not in str(caught.value)


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.usefixtures("encoder")
def test_a_value_that_contains_itself_is_an_error() -> None:
    cycle: list[Any] = [1]
    cycle.append({"cycle": cycle})
    with pytest.raises(ResultError, match=r"/1/cycle/1/cycle.*nested too deep, or contains itself"):
        to_text(cycle)


@pytest.mark.usefixtures("encoder")
def test_a_value_that_converts_to_itself_is_an_error() -> None:
    class Turning:
        def to_dict(self) -> Turning:
            return Turning()

    with pytest.raises(ResultError, match="it is nested too deep"):
        to_text(Turning())


@pytest.mark.usefixtures("encoder")
def test_128_levels_are_fine_and_100000_are_an_error() -> None:
    assert to_text(nested(128)) == "[" * 128 + "]" * 128
    with pytest.raises(ResultError, match="nested too deep"):
        to_text(nested(100_000))


def test_both_encoders_write_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"text": 'ü"\n\u2028', "numbers": [1, -0.5, 2**63], "none": None, "tuple": (True,)}
    with_orjson = to_text(value)
    monkeypatch.setattr(results, "_orjson", lambda: None)
    assert to_text(value) == with_orjson


def test_json_values_share_no_objects_with_their_source() -> None:
    value = {"rows": [[1]]}
    plain = to_json_value(value)
    value["rows"][0].append(2)
    assert plain == {"rows": [[1]]}


@given(st.text(max_size=50), st.integers(1, 60))
def test_a_truncated_text_keeps_its_start_and_states_how_much_is_missing(
    text: str, max_chars: int
) -> None:
    cut = truncate(text, max_chars)
    if len(text) <= max_chars:
        assert cut == text
    else:
        kept, _, notice = cut.rpartition("\n")
        assert kept == text[:max_chars]
        lost = len(text) - max_chars
        assert notice == f"[truncated: {lost} of {len(text)} characters left out]"


def test_without_a_limit_nothing_is_truncated() -> None:
    assert truncate("x" * 10_000_000, None) == "x" * 10_000_000
