"""The tools of the playground: those of the recordings, and more that take their time.

They are real functions. Each of the others shows one thing that can happen to a call: progress,
an error, a timeout, an approval, a question to the user, a result that comes later.
"""

from __future__ import annotations

import asyncio
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from ..exceptions import ToolFailed
from ..executor import Deferred
from ..play.tools import ToolBox
from ..tools import ToolContext, tool

if TYPE_CHECKING:
    import datetime

    from ..tools import Tool

STEP = 0.5
"""How long a step of a tool takes, in seconds: long enough to be seen."""

TIMEOUT = 4 * STEP
"""How long a carrier is waited for, in seconds."""

SENSORS = {"Oslo": 15, "Rome": 8, "Tokyo": 2, "Lima": 6, "Lisbon": 2}
"""How many sensors the station of a city has; those of other cities have three. The first that is
asked for in the scenarios takes so long that the others, asked for seconds later, answer before."""

SIZES = ("small", "medium", "large")


class Tools:
    """The tools, with what they have done: the transfers, the orders and what a `ToolBox` keeps.

    Args:
        today: The day that bookings and weather are relative to.
        step: How long each step of a slow tool takes, in seconds.
    """

    def __init__(self, today: datetime.date, *, step: float = STEP) -> None:
        self.box = ToolBox(today, step=step)
        """Those of the recordings."""
        self.balance = Decimal(1000)
        """What is in the account, in euros."""
        self.orders: list[str] = []
        """The pizzas that have been ordered."""
        self._step = step

    @property
    def tools(self) -> tuple[Tool[..., Any], ...]:
        """All tools, in the order in which models are told of them."""
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
        """Reads the weather station of one city. Slow: call it once for each city.

        Args:
            city: The city, e.g. Oslo
            context: How far it has come is shown there

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
        """Divides one number by another.

        Args:
            a: What is divided
            b: What it is divided by

        Returns:
            the quotient
        """
        return a / b

    @tool("TrackParcel")
    async def track_shipment(self, number: str, context: ToolContext) -> str:
        """Asks the carrier where a parcel is.

        Args:
            number: The number of the parcel
            context: What is waited for is shown there

        Returns:
            where it is
        """
        context.progress(f"the carrier is asked about {number}")
        # This carrier never answers.
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    @tool("TransferMoney", requires_approval=True)
    async def transfer_money(self, to: str, euros: Annotated[float, Field(gt=0)]) -> str:
        """Transfers money from the user's account. The user is asked before it happens.

        Args:
            to: Who gets it
            euros: How much, in euros

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
        """Orders a pizza. Asks the user for the size by itself.

        Args:
            kind: What is on it, e.g. Margherita
            context: Where the user is asked

        Returns:
            what was ordered
        """
        size = await context.ask(f"Which size of {kind}?", {"enum": list(SIZES)})
        await asyncio.sleep(self._step)
        self.orders.append(f"{size} {kind}")
        return f"ordered: one {size} {kind}, in {20 + 5 * SIZES.index(size)} minutes"

    @tool("AskColleague")
    async def ask_colleague(self, question: str) -> Deferred:
        """Passes a question on to a colleague, who answers in his own time.

        Args:
            question: What to ask

        Returns:
            the answer, later
        """
        return Deferred(note=f"A colleague is asked: {question}")
