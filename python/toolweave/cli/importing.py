"""`toolweave import`: a transcript to a chat of the store, or to messages as JSON."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from ..exceptions import StoreError
from .inputs import InputError, name_of, read_contracts, write_utf8
from .transcript import FORMATS, read_transcript

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from .. import Message

SUMMARY = "turn a transcript into a chat of the store, or into messages"
DESCRIPTION = (
    "Turn a transcript into a new chat of the store, or print its messages, one JSON object a "
    "line. A transcript is a JSON list of messages, an object with the member messages, a message "
    "a line, or plain text with a heading such as '## user' above each turn; plain text without "
    "headings is one reply. Calls in natural text are read in the assistant's turns alone, their "
    "results there and in the turn after. Nothing is imported unless all of it can be."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("file", metavar="FILE", help="the transcript, or - for stdin")
    parser.add_argument(
        "--format",
        choices=(*FORMATS, "auto"),
        default="auto",
        help="what the messages are: natural text, OpenAI's or Anthropic's; by default what they "
        "look like",
    )
    parser.add_argument(
        "--tools",
        metavar="FILE",
        help="the contracts of the tools in natural text, as JSON; without them <Name> is text, "
        "and <tool_call> may name any tool",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--store", metavar="URL", help="the store, such as sqlite:///chats.db")
    where.add_argument(
        "--json", action="store_true", help="print the messages; the default without --store"
    )
    parser.add_argument(
        "--chat", metavar="ID", help="the id of the new chat in the store; made up if left out"
    )


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    if options.chat is not None and options.store is None:
        raise InputError("--chat ID goes with --store URL")
    tools = [] if options.tools is None else read_contracts(options.tools)
    messages = read_transcript(options.file, options.format, tools)
    write_utf8()
    if options.store is None:
        for message in messages:
            sys.stdout.write(message.to_json() + "\n")
        return 0
    try:
        chat_id = asyncio.run(_store(options.store, options.chat, messages))
    except (ImportError, StoreError) as err:
        raise InputError(str(err)) from None
    except ValueError as err:
        raise InputError(f"{name_of(options.file)}: {err}") from None
    count_noun = "1 message" if len(messages) == 1 else f"{len(messages)} messages"
    sys.stdout.write(f"imported {count_noun} as chat {chat_id}\n")
    return 0


async def _store(url: str, chat_id: str | None, messages: Sequence[Message]) -> str:
    from ..store import MessageStore
    from ..store.checks import optional_id

    try:
        optional_id(chat_id, "--chat ID")
    except ValueError as err:
        raise InputError(str(err)) from None
    # The chat and the run that they come from are elsewhere.
    own = [message.__replace__(chat_id=None, run_id=None) for message in messages]
    async with MessageStore(url) as store:
        return (await store.import_chat(own, chat_id)).chat_id
