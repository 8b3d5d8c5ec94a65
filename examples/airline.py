"""Customer service of an airline: agents that hand a conversation over to each other.

The best-known example of the OpenAI Agents SDK, in toolweave. Set MODEL_URL (and MODEL_NAME,
MODEL_KEY) to ask a real model at any OpenAI-compatible endpoint.

Prints:

    triage hands over to faq
    faq: One bag, up to 22 kg.
    faq hands over to triage
    triage hands over to seats
    seats: You sit in 12A now.
    flight FL-123: seat 12A
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from toolweave import Agent, ChatModel, Handoff, HandoffEvent, HttpModel, Message, ToolContext
from toolweave.agent import AgentResult, RunnableAgent
from toolweave.testing import ScriptedModel


@dataclass
class Trip:
    flight: str
    seat: str | None = None


def answer_question(topic: str) -> str:
    """Look up the rules of the airline for a topic, such as bags, seats or wifi."""
    rules = {"bags": "One bag of at most 22 kg.", "seats": "120 seats.", "wifi": "Free."}
    return rules.get(topic, f"There are rules for: {', '.join(rules)}.")


def change_seat(context: ToolContext[Trip], booking: str, seat: str) -> str:
    """Move a booking to another seat."""
    context.deps.seat = seat
    return f"Booking {booking} on {context.deps.flight} has seat {seat}."


def model(*replies: str) -> ChatModel:
    if url := os.environ.get("MODEL_URL"):
        return HttpModel(url, os.environ.get("MODEL_NAME", "qwen3"), os.environ.get("MODEL_KEY"))
    return ScriptedModel(*replies)


def service() -> Agent[Trip]:
    rules = '<answer_question>{"topic": "bags"}</answer_question>'
    faq_model = model(rules, "One bag, up to 22 kg.", "<transfer_to_triage/>")
    seat = '<change_seat>{"booking": "QX7", "seat": "12A"}</change_seat>'
    desk = Agent[Trip](model("<transfer_to_faq/>", "<transfer_to_seats/>"), name="triage")
    faq = Agent[Trip](faq_model, [answer_question], name="faq", handoffs=[desk])
    seats = Agent[Trip](model(seat, "You sit in 12A now."), [change_seat], name="seats")
    desk.add_handoff(Handoff(faq, "Questions about the rules of the airline."))
    desk.add_handoff(Handoff(seats, "Changes of a seat."))
    return desk


async def main() -> None:
    trip, history = Trip("FL-123"), tuple[Message, ...]()
    agent: Agent[Trip, str] | RunnableAgent = service()
    for text in ("May I bring a bag?", "Then move me to seat 12A. My booking is QX7."):
        async for event in agent.stream(text, deps=trip, history=history):
            if isinstance(event, HandoffEvent):
                print(f"{event.from_agent} hands over to {event.to_agent}")
            elif isinstance(event, AgentResult):
                history, agent = event.messages, event.last_agent  # the agent of the next turn
                print(f"{agent.name}: {event.text}")
    print(f"flight {trip.flight}: seat {trip.seat}")


if __name__ == "__main__":
    asyncio.run(main())
