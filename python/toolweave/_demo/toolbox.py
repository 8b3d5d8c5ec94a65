"""The five tools of the recordings, with simple but real implementations."""

from __future__ import annotations

import asyncio
import datetime
import unicodedata
from collections import Counter
from decimal import Context, Decimal
from email.message import EmailMessage
from email.policy import SMTP
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, WithJsonSchema

from ..exceptions import ToolFailed
from ..tools import ToolContext, tool
from .resources import read_json

if TYPE_CHECKING:
    from ..tools import Tool

Number = Annotated[int | float, WithJsonSchema({"type": "number"})]
"""A number as the model wrote it: a float would lose digits of a large integer."""

# Enough for realistic sums; a model may ask for more.
_ARITHMETIC = Context(prec=400, Emax=9999, Emin=-9999)


class ToolBox:
    """The tools, with their bookings and sent emails.

    Args:
        today: The day that bookings and weather are relative to.
        step: Seconds per step of a tool that imitates a remote service.
    """

    def __init__(self, today: datetime.date, *, step: float = 0.0) -> None:
        self.today = today
        self.sent_emails: list[EmailMessage] = []
        self._step = step
        self._booked: Counter[tuple[str, datetime.date]] = Counter()

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """All tools, in the order of the recorded prompts."""
        return self.get_weather, self.book_restaurant, self.add, self.multiply, self.send_email

    @tool("GetWeather")
    async def get_weather(
        self, location: str, unit: Literal["celsius", "fahrenheit"] = "celsius"
    ) -> str:
        """Get the current weather for a location.

        Args:
            location: The city and state, e.g. San Francisco, CA
            unit: The temperature unit to use

        Returns:
            weather report
        """
        # The only data are long-term means of the month.
        table: dict[str, list[int]] = read_json("climate.json")
        wanted = _normalized(location.split(",")[0])
        await asyncio.sleep(self._step)
        for city, means in table.items():
            if _normalized(city) == wanted:
                mean: float = means[self.today.month - 1]
                degrees = f"{mean:g} °C"
                if unit == "fahrenheit":
                    degrees = f"{mean * 9 / 5 + 32:.0f} °F"
                return f"{city}: {degrees} (long-term mean of {self.today:%B}, rounded)"
        raise ToolFailed(f"no weather for {location!r}; there is for {', '.join(table)}")

    @tool("BookRestaurant")
    async def book_restaurant(
        self,
        restaurantName: str,  # noqa: N803 - the name that the model writes
        date: str,
        time: str,
        numberOfPeople: int,  # noqa: N803
        context: ToolContext,
    ) -> str:
        """Book a table at a restaurant.

        Args:
            restaurantName: Name of the restaurant
            date: Date of booking in YYYY-MM-DD format
            time: Time of booking in HH:MM format
            numberOfPeople: Number of people for the reservation
            context: What is asked on the way is shown there

        Returns:
            confirmation code
        """
        place = _restaurant(restaurantName)
        name = place["name"]
        try:
            day = datetime.date.fromisoformat(date)
            clock = datetime.time.fromisoformat(time)
        except ValueError as err:
            raise ToolFailed(f"not a date and a time: {err}") from err
        if day < self.today:
            raise ToolFailed(f"{day} is in the past; today is {self.today}")
        if numberOfPeople < 1:
            raise ToolFailed("a booking is for at least one person")
        context.progress(f"is {name} open on {day:%A} at {clock:%H:%M}?")
        await asyncio.sleep(self._step)
        if f"{day:%A}" == place["closed"]:
            raise ToolFailed(f"{name} is closed on {day:%A}s")
        if not place["opens"] <= f"{clock:%H:%M}" <= place["closes"]:
            raise ToolFailed(f"{name} is open from {place['opens']} to {place['closes']}")
        context.progress(f"it is; are there {numberOfPeople} seats left?")
        await asyncio.sleep(self._step)
        left = place["seats"] - self._booked[name, day]
        if numberOfPeople > left:
            raise ToolFailed(f"{name} has {left} seats left on {day}")
        self._booked[name, day] += numberOfPeople
        letters = "".join(ch for ch in _normalized(name) if ch.isalnum())[:3].upper()
        code = f"{letters}-{day:%m%d}-{self._booked[name, day]:02d}"
        return f"booked: {name}, {numberOfPeople} people, {day:%A %Y-%m-%d} {clock:%H:%M}, {code}"

    @tool("Add", description="Adds two numbers.")
    async def add(self, a: Number, b: Number) -> str:
        """Add two numbers.

        Args:
            a: First number
            b: Second number

        Returns:
            the sum
        """
        return _format_number(_ARITHMETIC.add(_decimal(a), _decimal(b)))

    @tool("Multiply", description="Multiplies two numbers.")
    async def multiply(self, a: Number, b: Number) -> str:
        """Multiply two numbers.

        Args:
            a: First number
            b: Second number

        Returns:
            the product
        """
        return _format_number(_ARITHMETIC.multiply(_decimal(a), _decimal(b)))

    @tool("SendEmail")
    async def send_email(
        self,
        to: Annotated[list[str], Field(min_length=1)],
        subject: str,
        body: str,
        context: ToolContext,
        priority: Literal["low", "normal", "high"] = "normal",
    ) -> str:
        """Send an email message.

        Args:
            to: Recipient addresses
            subject: Subject line
            body: Plain-text body
            context: Each address is shown there
            priority: Priority

        Returns:
            message id
        """
        message = EmailMessage(policy=SMTP)
        for number, address in enumerate(to, 1):
            name, at, host = address.rpartition("@")
            if not (name and at and host) or any(ch.isspace() for ch in address):
                raise ToolFailed(f"{address!r} is not an address")
            context.progress(f"{address} can be written to ({number} of {len(to)})")
            await asyncio.sleep(self._step)
        try:
            message["To"] = ", ".join(to)
            message["Subject"] = subject
        except ValueError as err:
            raise ToolFailed(f"not a header: {err}") from err
        if priority != "normal":
            message["Importance"] = priority
        message["Message-ID"] = f"<{len(self.sent_emails) + 1}@demo.invalid>"
        message.set_content(body)
        self.sent_emails.append(message)
        return (
            f"written: {message['Message-ID']} to {', '.join(to)}, {len(bytes(message))} bytes "
            "(kept in memory, nothing is sent)"
        )


def _restaurant(wish: str) -> dict[str, Any]:
    table: list[dict[str, Any]] = read_json("restaurants.json")
    wanted = _normalized(wish)
    for place in table:
        if _normalized(place["name"]) == wanted:
            return place
    known = ", ".join(place["name"] for place in table)
    raise ToolFailed(f"no restaurant {wish!r}; there are {known}")


def _decimal(number: float) -> Decimal:
    # From the digits: the model's 0.1 is exactly a tenth.
    if isinstance(number, int) and number.bit_length() > 1_000:
        raise ToolFailed("a number with more than 300 digits")
    value = Decimal(repr(number))
    if not value.is_finite():
        raise ToolFailed(f"{number} is not a number to reckon with")
    return value


def _format_number(value: Decimal) -> str:
    if value == value.to_integral_value():
        return f"{value:.0f}"
    return f"{value.normalize(_ARITHMETIC):f}"


def _normalized(text: str) -> str:
    """Normalize a name for comparison: without case, accents and surrounding space."""
    bare = unicodedata.normalize("NFKD", text.strip().casefold())
    return "".join(ch for ch in bare if not unicodedata.combining(ch))
