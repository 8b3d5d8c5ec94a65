"""The tools of the playground: those of the recordings, and slower ones.

They are real functions. Each of the slower ones demonstrates one feature of calls: progress, an
error, a timeout, an approval, a question to the user, a deferred result.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from ..exceptions import ToolFailed
from ..executor import Deferred
from ..tools import ToolContext, tool
from .toolbox import ToolBox

if TYPE_CHECKING:
    import datetime

    from ..tools import Tool

STEP = 0.5
"""Seconds per step of a tool: long enough to be seen."""

TIMEOUT = 4 * STEP
"""Timeout of the carrier, in seconds."""

SENSORS = {"Oslo": 15, "Rome": 8, "Tokyo": 2, "Lima": 6, "Lisbon": 2}
"""Number of sensors of a city's station; other cities have three. The first station that the
scenarios read takes so long that later ones finish before it."""

SIZES = ("small", "medium", "large")


class Tools:
    """The tools, with the state of a `ToolBox`, transfers and orders.

    Args:
        today: The day that bookings and weather are relative to.
        step: Seconds per step of a slow tool.
    """

    def __init__(self, today: datetime.date, *, step: float = STEP) -> None:
        self.box = ToolBox(today, step=step)
        """The tools of the recordings."""
        self.balance = Decimal(1000)
        """Balance of the account, in euros."""
        self.orders: list[str] = []
        """The ordered pizzas."""
        self._step = step

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """All tools, in the order of the prompt."""
        return (
            *self.box.tools,
            self.read_station,
            self.divide,
            self.track_shipment.replace(timeout=TIMEOUT * self._step / STEP),
            self.transfer_money,
            self.order_pizza,
            self.ask_colleague,
        )

    @tool("ReadStation")
    async def read_station(self, city: str, context: ToolContext) -> str:
        """Read the weather station of one city. Slow: call it once for each city.

        Args:
            city: The city, e.g. Oslo
            context: Receives the progress

        Returns:
            the temperature
        """
        sensors = SENSORS.get(city.partition(",")[0].strip().title(), 3)
        for number in range(1, sensors + 1):
            await asyncio.sleep(self._step)
            context.progress(f"{number} of {sensors} sensors read")
        return await self.box.get_weather(city)

    @tool("Divide")
    def divide(self, a: float, b: float) -> float:
        """Divide one number by another.

        Args:
            a: The dividend
            b: The divisor

        Returns:
            the quotient
        """
        return a / b

    @tool("TrackParcel")
    async def track_shipment(self, number: str, context: ToolContext) -> str:
        """Ask the carrier where a shipment is.

        Args:
            number: The tracking number
            context: Receives the progress

        Returns:
            where it is
        """
        context.progress(f"the carrier is asked about {number}")
        # This carrier never answers.
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    @tool("TransferMoney", requires_approval=True)
    async def transfer_money(self, to: str, euros: Annotated[float, Field(gt=0)]) -> str:
        """Transfer money from the user's account. The user is asked before it happens.

        Args:
            to: The recipient
            euros: The amount, in euros

        Returns:
            what is left in the account
        """
        try:
            amount = Decimal(str(euros)).quantize(Decimal("0.01"))
        except InvalidOperation:
            raise ToolFailed(f"{euros!r} euros cannot be transferred") from None
        if amount > self.balance:
            raise ToolFailed(f"there are only {self.balance:.2f} euros in the account")
        await asyncio.sleep(self._step)
        self.balance -= amount
        return f"transferred {amount:.2f} euros to {to}; {self.balance:.2f} euros are left"

    @tool("OrderPizza")
    async def order_pizza(self, kind: str, context: ToolContext) -> str:
        """Order a pizza. The tool asks the user for the size by itself.

        Args:
            kind: The kind of pizza, e.g. Margherita
            context: Asks the user

        Returns:
            what was ordered
        """
        size = await context.ask(f"Which size of {kind}?", {"enum": list(SIZES)})
        await asyncio.sleep(self._step)
        self.orders.append(f"{size} {kind}")
        return f"ordered: one {size} {kind}, in {20 + 5 * SIZES.index(size)} minutes"

    @tool("AskColleague")
    async def ask_colleague(self, question: str) -> Deferred:
        """Pass a question on to a colleague, who answers later.

        Args:
            question: The question

        Returns:
            the answer, later
        """
        return Deferred(note=f"A colleague is asked: {question}")
