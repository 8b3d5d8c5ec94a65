"""Typed results of a real model: how many replies are valid, and how many outputs are right.

    python benches/outputs.py http://127.0.0.1:8080/v1 MODEL [--modes native,prompted,auto]

Each task is asked in each output mode, greedily. The table counts the tasks whose first reply was
valid as it was written, was valid after repair, whose output was valid in the end, with the one
request after an invalid reply, and whose output was right. `--replies FILE` keeps all replies.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, is_dataclass
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from toolweave import Agent, AgentResult, Message, TextMessage
from toolweave.exceptions import OutputError
from toolweave.kinds import Role
from toolweave.models.http import HttpModel
from toolweave.natural import NaturalToolUse
from toolweave.output import OutputSchema, ReadOutput
from toolweave.profiles import Profile
from toolweave.protocols import ModelOptions

OPTIONS = ModelOptions(temperature=0.0, max_tokens=300)
STAGES = ("as written", "after repair", "in the end", "right")


@dataclass
class Person:
    name: str
    age: int
    city: str | None = None


@dataclass
class City:
    name: str
    country: str
    inhabitants: int


@dataclass
class Item:
    name: str
    quantity: int
    price: float


@dataclass
class Address:
    street: str
    number: int
    city: str


@dataclass
class Order:
    customer: str
    address: Address
    items: list[Item]
    express: bool


@dataclass
class Refund:
    kind: Literal["refund"]
    order: str
    reason: str


@dataclass
class Question:
    kind: Literal["question"]
    topic: Literal["delivery", "payment", "product"]


@dataclass
class Reading:
    city: str
    celsius: float


class Priority(Enum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


MEETING = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "start": {"type": "string", "pattern": r"^\d{2}:\d{2}$", "description": "As HH:MM"},
        "minutes": {"type": "integer"},
        "guests": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["title", "start", "minutes", "guests"],
}


def temperature(city: str) -> float:
    """Get the present temperature in a city, in degrees Celsius."""
    return {"Lugo": 17.5}.get(city, 3.0)


def stock(article: str) -> int:
    """Get the number of pieces of an article in stock."""
    return {"88-12": 0}.get(article, 4)


def delivery(number: str) -> str:
    """Get the state of a delivery by its number."""
    return f"Delivery {number}: left at the front door, delivered on Tuesday at 10:42."


def guests(room: int) -> str:
    """Get the names of the guests in a room of the hotel."""
    return f"Room {room}: Ada Brandt, Luis Ferro"


@dataclass(frozen=True)
class Task:
    name: str
    output_type: Any
    request: str
    right: tuple[Any, ...]
    """Outputs that are right."""
    tools: tuple[Callable[..., Any], ...] = field(default=())


SENTIMENT = Literal["positive", "negative", "neutral"]
SHIRT = "A shirt costs 40 euros and is reduced by 25 percent. What does it cost now, in euros?"
TASKS = (
    Task(
        "person",
        Person,
        "Who is this about? Maria Keller, a nurse of 34 years, moved to Graz last spring.",
        (Person("Maria Keller", 34, "Graz"),),
    ),
    Task("person, no city", Person, "Who is this about? Tom is 7.", (Person("Tom", 7),)),
    Task(
        "person, German",
        Person,
        "Um wen geht es? Ines Baumann ist 52 und lebt in Bern.",
        (Person("Ines Baumann", 52, "Bern"),),
    ),
    Task(
        "list of words",
        list[str],
        "Which colours are named here? The red car passed a blue bus and two green bicycles.",
        (["red", "blue", "green"],),
    ),
    Task(
        "list of numbers",
        list[int],
        "Which room numbers are named here, in their order? Rooms 12, 7 and 305 are free.",
        ([12, 7, 305],),
    ),
    Task(
        "list of objects",
        list[Item],
        "What was bought? 3 apples at 0.50 euros each, and 2 loaves at 3.20 euros each.",
        (
            [Item("apples", 3, 0.5), Item("loaves", 2, 3.2)],
            [Item("apple", 3, 0.5), Item("loaf", 2, 3.2)],
        ),
    ),
    Task(
        "empty list",
        list[str],
        "Which e-mail addresses are in this text? Call me tomorrow, I am at home all day.",
        ([],),
    ),
    Task(
        "choice, positive",
        SENTIMENT,
        "What is the mood of this review? The room was lovely and the staff were kind.",
        ("positive",),
    ),
    Task(
        "choice, negative",
        SENTIMENT,
        "What is the mood of this review? Cold food, rude waiter. Never again.",
        ("negative",),
    ),
    Task(
        "enum",
        Priority,
        "Which priority has this ticket? The payment page is down and all orders are lost.",
        (Priority.HIGH,),
    ),
    Task("true", bool, "Is Paris the capital of France?", (True,)),
    Task("false", bool, "Is Oslo the capital of Sweden?", (False,)),
    Task("integer", int, "How many days does a leap year have?", (366,)),
    Task("number", float, SHIRT, (30.0,)),
    Task(
        "date",
        date,
        "On which day does the sale end? The sale begins on 3 March 2026 and ends on 17 March.",
        (date(2026, 3, 17),),
    ),
    Task(
        "union of objects",
        City | Person,
        "What is described here? Lugo in Spain has 98000 inhabitants.",
        (City("Lugo", "Spain", 98000),),
    ),
    Task(
        "union by kind",
        Refund | Question,
        "What does the customer want? When will my parcel be delivered?",
        (Question("question", "delivery"),),
    ),
    Task(
        "number or word",
        int | Literal["unknown"],
        "How old is the writer of this? I love my garden, and the tomatoes are ripe.",
        ("unknown",),
    ),
    Task(
        "nested",
        Order,
        "What is the order? Ada Brandt, 12 Mill Lane, York, orders 2 lamps at 19.90 euros each. "
        "Please send it by express.",
        (
            Order("Ada Brandt", Address("Mill Lane", 12, "York"), [Item("lamps", 2, 19.9)], True),
            Order("Ada Brandt", Address("Mill Lane", 12, "York"), [Item("lamp", 2, 19.9)], True),
        ),
    ),
    Task(
        "JSON Schema",
        MEETING,
        "Which meeting is this? Budget review at half past two in the afternoon, for 45 minutes, "
        "with Ines and Tom.",
        (
            {
                "title": "Budget review",
                "start": "14:30",
                "minutes": 45,
                "guests": ["Ines", "Tom"],
            },
        ),
    ),
    Task(
        "object, after a call",
        Reading,
        "How warm is it in Lugo now?",
        (Reading("Lugo", 17.5),),
        (temperature,),
    ),
    Task(
        "choice, after a call",
        Literal["in stock", "sold out"],
        "Can I buy article 88-12?",
        ("sold out",),
        (stock,),
    ),
    Task("bool, after a call", bool, "Has parcel 4711 been delivered?", (True,), (delivery,)),
    Task(
        "list, after a call",
        list[str],
        "What are the names of the guests in room 12?",
        (["Ada Brandt", "Luis Ferro"],),
        (guests,),
    ),
)


@dataclass(frozen=True)
class Outcome:
    task: str
    mode: str
    stages: frozenset[str]
    replies: list[str]
    output: Any
    error: str


def comparable(value: Any) -> Any:
    """Return a value with its texts in lower case."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {"type": type(value).__name__, **asdict(value)}
    if isinstance(value, dict):
        return {key: comparable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [comparable(each) for each in value]
    return value.strip().casefold() if isinstance(value, str) else value


def is_right(task: Task, output: Any) -> bool:
    return any(
        type(comparable(output)) is type(comparable(right))
        and comparable(output) == comparable(right)
        for right in task.right
    )


def written(messages: tuple[Message, ...]) -> list[str]:
    """Return the texts of the model."""
    return [
        each.text
        for each in messages
        if isinstance(each, TextMessage) and each.role == Role.ASSISTANT
    ]


async def ask(model: HttpModel, task: Task, mode: Any) -> Outcome:
    profile = Profile.for_model(model.name)
    agent = Agent(
        model,
        task.tools,
        output_type=task.output_type,
        output_mode=mode,
        profile=profile,
        options=OPTIONS,
        max_iterations=6,
    )
    output, error = None, ""
    try:
        result: AgentResult[Any] = await agent.run(task.request)
        messages = result.messages
        output = result.output
    except OutputError as raised:
        messages, error = raised.messages, str(raised)
    return outcome(task, mode, written(messages), output, error)


async def ask_once(model: HttpModel, task: Task) -> Outcome:
    """Ask with `NaturalToolUse`, which makes one request."""
    use = NaturalToolUse(model, output_type=task.output_type)
    run = use.open(task.request, options=OPTIONS)
    try:
        output = await use.output(run)
    except OutputError as raised:
        return outcome(task, "one request", [raised.text], None, str(raised))
    return outcome(task, "one request", written(tuple(run.messages)), output, "")


def outcome(task: Task, mode: str, replies: list[str], output: Any, error: str) -> Outcome:
    stages: set[str] = set()
    names = [tool.__name__ for tool in task.tools]
    first = OutputSchema(task.output_type).read(replies[0] if replies else "", tools=names)
    if isinstance(first, ReadOutput):
        stages.add("after repair")
        if not first.repairs:
            stages.add("as written")
    if not error:
        stages.add("in the end")
        if is_right(task, output):
            stages.add("right")
    return Outcome(task.name, mode, frozenset(stages), replies, output, error)


async def measure(url: str, name: str, modes: list[str], replies: Path | None) -> None:
    counts: dict[str, Counter[str]] = {}
    async with HttpModel(url, name, first_byte_timeout=1800, idle_timeout=1800) as model:
        for mode in modes:
            once = mode == "once"
            tasks = [task for task in TASKS if not (once and task.tools)]
            asked = [ask_once(model, t) if once else ask(model, t, mode) for t in tasks]
            found = await asyncio.gather(*asked)
            counts[mode] = Counter(name for each in found for name in each.stages)
            counts[mode]["tasks"] = len(found)
            for each in found:
                if "right" not in each.stages:
                    print(f"{mode}, {each.task}: {each.error or each.output!r}")
                if replies is not None:
                    row = {**vars(each), "stages": sorted(each.stages), "output": str(each.output)}
                    with replies.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"\n| mode | tasks | {' | '.join(STAGES)} |\n|{' --- |' * 6}")
    for mode, count in counts.items():
        print(f"| {mode} | {count['tasks']} | {' | '.join(str(count[s]) for s in STAGES)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", help="base URL of an OpenAI-compatible endpoint")
    parser.add_argument("model", help="name of the model")
    parser.add_argument(
        "--modes", default="native,prompted,auto,once", help="output modes to ask in"
    )
    parser.add_argument("--replies", type=Path, help="file to append all replies to, as JSON lines")
    options = parser.parse_args()
    asyncio.run(measure(options.url, options.model, options.modes.split(","), options.replies))


if __name__ == "__main__":
    main()
