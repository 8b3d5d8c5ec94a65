"""The tools of the recordings."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolweave import ToolCall, ToolResult
from toolweave._demo.recordings import RECORDED_ON, recordings
from toolweave._demo.toolbox import ToolBox
from toolweave.executor import ToolExecutor, ToolProgress


def run(box: ToolBox, name: str, **arguments: Any) -> ToolResult:
    call = ToolCall("call_0", name, arguments)
    [result] = asyncio.run(ToolExecutor(box.tools).execute([call])).tool_results
    return result


def answer(name: str, **arguments: Any) -> str:
    return run(ToolBox(RECORDED_ON), name, **arguments).result


def test_the_tools_are_those_of_the_recorded_prompts() -> None:
    for recording in recordings():
        for tool in ToolBox(RECORDED_ON).tools:
            assert f"## {tool.name}\nDescription: {tool.description}\n" in recording.system
            schema = tool.contract.parameters
            assert schema is not None
            for name, argument in schema["properties"].items():
                needed = "required" if name in schema["required"] else "optional"
                kind = argument["type"]
                entry = f"- {name} ({needed}, {kind}"
                [line] = [line for line in _section(recording.system, tool.name) if entry in line]
                assert line.endswith(f": {argument['description']}")
                assert all(value in line for value in argument.get("enum", ()))


def _section(system: str, tool: str) -> list[str]:
    return system.partition(f"## {tool}\n")[2].partition("\n## ")[0].splitlines()


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
    result = run(ToolBox(RECORDED_ON), "Multiply", a=1 << 2_000, b=2)
    assert (result.is_error, result.error_code) == (True, "tool_error")
    assert result.result == "a number with more than 300 digits"


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


def test_booked_seats_are_unavailable() -> None:
    tools = ToolBox(RECORDED_ON)
    wish = {"restaurantName": "Bar <Centrale> & Co", "date": "2025-05-20", "time": "21:00"}
    assert not run(tools, "BookRestaurant", **wish, numberOfPeople=6).is_error
    assert "2 seats left" in run(tools, "BookRestaurant", **wish, numberOfPeople=3).result


def test_mail_is_written_but_not_sent() -> None:
    tools = ToolBox(RECORDED_ON)
    mail = {"subject": "Lünch", "body": "a\nb", "priority": "high"}
    result = run(tools, "SendEmail", to=["bob@example.com", "eve@example.com"], **mail)
    assert "nothing is sent" in result.result
    (message,) = tools.sent_emails
    assert message["To"] == "bob@example.com, eve@example.com"
    assert message["Importance"] == "high"
    assert message.get_content().splitlines() == ["a", "b"]
    for bad in ("bob", "bob@example.com\nBcc: eve@example.com", "@", "a b@c"):
        assert run(tools, "SendEmail", to=[bad], **mail).is_error
    assert run(tools, "SendEmail", to=["a@b"], subject="x\r\nBcc: e@f", body="").is_error
    assert len(tools.sent_emails) == 1


def test_slow_tools_report_progress() -> None:
    booking = {"restaurantName": "Gusto", "date": "2025-08-01", "time": "13:00"}
    calls = [
        ToolCall("book", "BookRestaurant", {**booking, "numberOfPeople": 3}),
        ToolCall("mail", "SendEmail", {"to": ["a@b", "c@d"], "subject": "x", "body": "y"}),
    ]

    async def main() -> list[tuple[str, Any]]:
        executor = ToolExecutor(ToolBox(RECORDED_ON).tools)
        events = [event async for event in executor.stream(calls)]
        return [(e.tool_call_id, e.value) for e in events if isinstance(e, ToolProgress)]

    shown = asyncio.run(main())
    assert [value for call_id, value in shown if call_id == "book"] == [
        "is Gusto open on Friday at 13:00?",
        "it is; are there 3 seats left?",
    ]
    assert [value for call_id, value in shown if call_id == "mail"] == [
        "a@b can be written to (1 of 2)",
        "c@d can be written to (2 of 2)",
    ]
    # Concurrently, not one after the other.
    assert {call_id for call_id, _ in shown[:2]} == {"book", "mail"}
