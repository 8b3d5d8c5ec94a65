"""The five tools of the recordings: small, but they do what they say."""

from __future__ import annotations

import datetime
import json
import time
import unicodedata
from collections import Counter
from decimal import Context, Decimal
from email.message import EmailMessage
from email.policy import SMTP
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .. import ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Enough for any sum a person would ask for; a model may ask for more.
_ARITHMETIC = Context(prec=400, Emax=9999, Emin=-9999)


class ToolBoxError(Exception):
    """A tool cannot do what it was asked; the text says why."""


class ToolBox:
    """The tools, with the bookings and mails they have made.

    Args:
        today: The day that bookings and weather are relative to.
    """

    def __init__(self, today: datetime.date) -> None:
        self.today = today
        self.outbox: list[EmailMessage] = []
        self._booked: Counter[tuple[str, datetime.date]] = Counter()
        self._tools: dict[str, Callable[..., str]] = {
            "GetWeather": self.get_weather,
            "BookRestaurant": self.book_restaurant,
            "Add": self.add,
            "Multiply": self.multiply,
            "SendEmail": self.send_email,
        }

    def run(self, call: ToolCall) -> ToolResult:
        """Run one valid call. What the tool cannot do is an error result."""
        begun = time.perf_counter()
        try:
            result, failed = self._tools[call.name](**call.arguments), False
        except ToolBoxError as failure:
            result, failed = f"Error executing tool: {failure}", True
        return ToolResult(
            tool_call_id=call.id,
            name=call.name,
            result=result,
            is_error=failed,
            error_code="tool_error" if failed else None,
            duration=time.perf_counter() - begun,
        )

    def add(self, a: float, b: float) -> str:
        """The sum."""
        return _spell(_ARITHMETIC.add(_decimal(a), _decimal(b)))

    def multiply(self, a: float, b: float) -> str:
        """The product."""
        return _spell(_ARITHMETIC.multiply(_decimal(a), _decimal(b)))

    def get_weather(self, location: str, unit: str = "celsius") -> str:
        """What the weather is like at this time of the year: the mean of the month."""
        table: dict[str, list[int]] = _data("climate.json")
        wanted = _folded(location.split(",")[0])
        for city, means in table.items():
            if _folded(city) == wanted:
                mean: float = means[self.today.month - 1]
                degrees = f"{mean:g} °C"
                if unit == "fahrenheit":
                    degrees = f"{mean * 9 / 5 + 32:.0f} °F"
                return f"{city}: {degrees} (long-term mean of {self.today:%B}, rounded)"
        raise ToolBoxError(f"no weather for {location!r}; there is for {_listed(table)}")

    def book_restaurant(
        self,
        restaurantName: str,  # noqa: N803 - as the contract spells it
        date: str,
        time: str,
        numberOfPeople: int,  # noqa: N803
    ) -> str:
        """Book seats, if the restaurant is open then and has as many left."""
        table: list[dict[str, Any]] = _data("restaurants.json")
        wanted = _folded(restaurantName)
        place = next((row for row in table if _folded(row["name"]) == wanted), None)
        if place is None:
            known = _listed(row["name"] for row in table)
            raise ToolBoxError(f"no restaurant {restaurantName!r}; there are {known}")
        name = place["name"]
        try:
            day = datetime.date.fromisoformat(date)
            clock = datetime.time.fromisoformat(time)
        except ValueError as err:
            raise ToolBoxError(f"not a date and a time: {err}") from err
        if day < self.today:
            raise ToolBoxError(f"{day} is in the past; today is {self.today}")
        if numberOfPeople < 1:
            raise ToolBoxError("a booking is for at least one person")
        if f"{day:%A}" == place["closed"]:
            raise ToolBoxError(f"{name} is closed on {day:%A}s")
        if not place["opens"] <= f"{clock:%H:%M}" <= place["closes"]:
            raise ToolBoxError(f"{name} is open from {place['opens']} to {place['closes']}")
        left = place["seats"] - self._booked[name, day]
        if numberOfPeople > left:
            raise ToolBoxError(f"{name} has {left} seats left on {day}")
        self._booked[name, day] += numberOfPeople
        letters = "".join(ch for ch in _folded(name) if ch.isalnum())[:3].upper()
        code = f"{letters}-{day:%m%d}-{self._booked[name, day]:02d}"
        return f"booked: {name}, {numberOfPeople} people, {day:%A %Y-%m-%d} {clock:%H:%M}, {code}"

    def send_email(
        self, to: Sequence[str], subject: str, body: str, priority: str = "normal"
    ) -> str:
        """Write the message as it would be sent; it stays in `outbox`."""
        message = EmailMessage(policy=SMTP)
        for address in to:
            name, at, host = address.rpartition("@")
            if not (name and at and host) or any(ch.isspace() for ch in address):
                raise ToolBoxError(f"{address!r} is not an address")
        try:
            message["To"] = ", ".join(to)
            message["Subject"] = subject
        except ValueError as err:
            raise ToolBoxError(f"not a header: {err}") from err
        if priority != "normal":
            message["Importance"] = priority
        message["Message-ID"] = f"<{len(self.outbox) + 1}@demo.invalid>"
        message.set_content(body)
        self.outbox.append(message)
        return (
            f"written: {message['Message-ID']} to {_listed(to)}, {len(bytes(message))} bytes "
            "(kept in memory, nothing is sent)"
        )


def _decimal(number: float) -> Decimal:
    # By way of the digits: what the model wrote as 0.1 is a tenth.
    if isinstance(number, int) and number.bit_length() > 1_000:
        raise ToolBoxError("a number with more than 300 digits")
    value = Decimal(repr(number))
    if not value.is_finite():
        raise ToolBoxError(f"{number} is not a number to reckon with")
    return value


def _spell(value: Decimal) -> str:
    if value == value.to_integral_value():
        return f"{value:.0f}"
    return f"{value.normalize(_ARITHMETIC):f}"


def _folded(text: str) -> str:
    """For comparing names as people write them: without case, accents and outer space."""
    bare = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(ch for ch in bare if not unicodedata.combining(ch))


def _listed(names: Any) -> str:
    return ", ".join(names)


def _data(name: str) -> Any:
    return json.loads((files("toolweave.demo") / "data" / name).read_text(encoding="utf-8"))
