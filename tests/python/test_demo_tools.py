"""The tools of the demo do what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from toolweave import ToolCall
from toolweave.demo.player import RECORDED_ON
from toolweave.demo.tools import ToolBox

if TYPE_CHECKING:
    pass


def call(name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id="call_0", name=name, arguments=arguments, raw="", index=0, repairs=())


def answer(name: str, **arguments: Any) -> str:
    return ToolBox(RECORDED_ON).run(call(name, **arguments)).result


@pytest.mark.parametrize(
    ("name", "a", "b", "expected"),
    [
        ("Add", 15, 27, "42"),
        ("Add", 0.1, 0.2, "0.3"),
        ("Add", 6.02e23, 2, "602000000000000000000002"),
        ("Add", 12345678901234567890123, 1, "12345678901234567890124"),
        ("Multiply", 12.5, -4, "-50"),
        ("Multiply", 3, 0.5, "1.5"),
        ("Multiply", -0.0, 3, "-0"),
    ],
)
def test_sums_are_exact(name: str, a: float, b: float, expected: str) -> None:
    assert answer(name, a=a, b=b) == expected


def test_a_number_that_is_too_long_is_an_error() -> None:
    result = ToolBox(RECORDED_ON).run(call("Multiply", a=1 << 2_000, b=2))
    assert (result.is_error, result.error_code) == (True, "tool_error")
    assert result.result.startswith("Error executing tool: ")


def test_weather_is_that_of_the_month_in_the_unit_asked_for() -> None:
    assert answer("GetWeather", location="Nice, France").startswith("Nice: 18 °C")
    assert "64 °F" in answer("GetWeather", location="nice", unit="fahrenheit")
    assert "no weather for 'Atlantis'; there is for San" in answer(
        "GetWeather", location="Atlantis"
    )


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "booked: Gusto, 3 people, Friday 2025-08-01 13:00, GUS-0801-03"),
        ({"restaurantName": " gusto "}, "booked: Gusto"),
        ({"restaurantName": "Sushi Dai"}, "no restaurant 'Sushi Dai'; there are Adler"),
        ({"date": "2025-04-31"}, "not a date and a time"),
        ({"date": "tomorrow"}, "not a date and a time"),
        ({"date": "2025-05-11"}, "2025-05-11 is in the past; today is 2025-05-12"),
        ({"date": "2025-08-04"}, "Gusto is closed on Mondays"),
        ({"time": "23:00"}, "Gusto is open from 12:00 to 22:00"),
        ({"numberOfPeople": 0}, "at least one person"),
        ({"numberOfPeople": 25}, "24 seats left"),
    ],
)
def test_a_booking_is_made_or_refused_for_a_reason(changed: dict[str, Any], expected: str) -> None:
    wish = {"restaurantName": "Gusto", "date": "2025-08-01", "time": "13:00", "numberOfPeople": 3}
    assert expected in answer("BookRestaurant", **{**wish, **changed})


def test_seats_that_are_booked_are_gone() -> None:
    tools = ToolBox(RECORDED_ON)
    wish = {"restaurantName": "Bar <Centrale> & Co", "date": "2025-05-20", "time": "21:00"}
    assert not tools.run(call("BookRestaurant", **wish, numberOfPeople=6)).is_error
    assert "2 seats left" in tools.run(call("BookRestaurant", **wish, numberOfPeople=3)).result


def test_mail_is_written_but_not_sent() -> None:
    tools = ToolBox(RECORDED_ON)
    mail = {"subject": "Lünch", "body": "a\nb", "priority": "high"}
    result = tools.run(call("SendEmail", to=["bob@example.com", "eve@example.com"], **mail))
    assert "nothing is sent" in result.result
    (message,) = tools.outbox
    assert message["To"] == "bob@example.com, eve@example.com"
    assert message["Importance"] == "high"
    assert message.get_content().splitlines() == ["a", "b"]
    for bad in ("bob", "bob@example.com\nBcc: eve@example.com", "@", "a b@c"):
        assert tools.run(call("SendEmail", to=[bad], **mail)).is_error
    assert tools.run(call("SendEmail", to=["a@b"], subject="x\r\nBcc: e@f", body="")).is_error
    assert len(tools.outbox) == 1
