"""Exceptions of tools: clients get a reference to the log on every route, at any time."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Callable
from pathlib import Path
from random import choice
from secrets import token_hex
from typing import Any

import httpx
import pytest

from chat_servers import QUICK, TEST_TIMEOUT, all_events, app_of, new_chat, say, serve
from toolweave import Agent, ModelRetry, SceneManager, ToolContext, ToolError, tool
from toolweave.store import MessageStore
from toolweave.testing import ScriptedModel
from toolweave.web import SceneResponder, chat_app
from toolweave.web._redaction import redact, redact_line

REFERENCE = re.compile(r"Error executing tool \(reference ([0-9a-f]{8})\)")
KINDS: list[type[Exception]] = [ValueError, KeyError, OSError, RuntimeError]
WAYS = ["async", "sync", "generator", "nested", "unencodable"]


def failing(error: Exception) -> list[Any]:
    """Return tools that raise the exception in every possible way, named after the way."""

    async def in_async() -> str:
        raise error

    def in_thread() -> str:
        raise error

    async def in_generator() -> Any:
        yield "at work"
        raise error

    async def in_nested(ctx: ToolContext) -> Any:
        return await ctx.call("fail_async", {})

    class Odd:
        def to_dict(self) -> dict[str, str]:
            raise error

    async def unencodable() -> Odd:
        return Odd()

    functions: dict[str, Callable[..., Any]] = {
        "async": in_async,
        "sync": in_thread,
        "generator": in_generator,
        "nested": in_nested,
        "unencodable": unencodable,
    }
    return [
        tool(function, name=f"fail_{way}", description=f"Fail, {way}.")
        for way, function in functions.items()
    ]


REPLIES = ("".join(f"<fail_{way}>{{}}</fail_{way}>\n" for way in WAYS), "That did not work.")
SCENE_REPLIES = ('<tool_call name="Work">{}</tool_call>', *REPLIES)


def agent_app(path: Path, model: ScriptedModel, tools: list[Any], **options: Any) -> Any:
    return app_of(path, Agent(model, tools), **options)


def scene_app(path: Path, model: ScriptedModel, tools: list[Any], **options: Any) -> Any:
    manager = SceneManager(model)
    scene = manager.scene("Work", "Does the work.")
    for each in tools:
        scene.tool(each)
    store = MessageStore(f"sqlite:///{path / 'chats.db'}", poll=0.02)
    return chat_app(store, SceneResponder(manager), **{"limits": QUICK, **options})


AI_SDK = {"id": "chat", "trigger": "submit-message", "messages": []}


async def sent(client: httpx.AsyncClient, chat: str) -> dict[str, str]:
    """Return all responses about a chat, by route."""
    routes = {
        "chats": "/chats",
        "chat": chat,
        "messages": f"{chat}/messages",
        "export": f"{chat}/export",
        "events": f"{chat}/events",
        "resumed": f"{chat}/events?after=4",
        "ai-sdk": f"{chat}/events?format=ai-sdk",
        "ag-ui": f"{chat}/events?format=ag-ui",
    }
    answers = {name: await client.get(address) for name, address in routes.items()}
    assert {answer.status_code for answer in answers.values()} == {200}
    return {name: answer.text for name, answer in answers.items()}


async def posted(client: httpx.AsyncClient, path: str) -> str:
    """Start a run as a client of another protocol, and return the stream."""
    text = {"role": "user", "id": "m1"}
    if path == "/ag-ui":
        body: dict[str, Any] = {
            "threadId": "chosen-by-the-client",
            "runId": "r1",
            "messages": [{**text, "content": "Go."}],
            "tools": [],
            "context": [],
            "state": {},
            "forwardedProps": {},
        }
    else:
        body = {**AI_SDK, "messages": [{**text, "parts": [{"type": "text", "text": "Go."}]}]}
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (agent_app, "/chats"),
        (agent_app, "/ai-sdk/chat"),
        (agent_app, "/ag-ui"),
        (scene_app, "/chats"),
    ],
)
def test_no_response_has_the_text_of_an_exception(
    make: Callable[..., Any], path: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:

    secret, kind = token_hex(8), choice(KINDS)
    tools = failing(kind(f"refused for {secret}"))
    replies = REPLIES if make is agent_app else SCENE_REPLIES
    model = ScriptedModel(*replies, *replies)

    async def main(folder: Path) -> None:
        read: dict[str, str] = {}
        async with serve(make(folder, model, tools)) as client:
            if path == "/chats":
                chat = await new_chat(client)
                await say(client, chat, "Go.")
                read["live"] = json.dumps(await all_events(client, chat))
            else:
                read["live"] = await posted(client, path)
                [found] = (await client.get("/chats")).json()["chats"]
                chat = f"/chats/{found['chatId']}"
            read |= await sent(client, chat)
        # Another process, which has only the store.
        async with serve(make(folder, model, tools)) as client:
            again = await sent(client, chat)
            read |= {f"{name} after a restart": text for name, text in again.items()}
            await say(client, chat, "Again.")
            read["next run"] = json.dumps(await all_events(client, chat))
        leaks = [name for name, text in read.items() if secret in text]
        assert leaks == []
        logged = {
            record.reference for record in caplog.records if getattr(record, "reference", None)
        }
        for name in ("live", "messages", "events", "ai-sdk", "ag-ui", "export", "next run"):
            references = set(REFERENCE.findall(read[name]))
            assert references <= logged, (name, references, logged)
            assert len(references) >= len(WAYS) - 1, (name, read[name])

    with caplog.at_level(logging.INFO, "toolweave"):
        asyncio.run(asyncio.wait_for(main(tmp_path), 3 * TEST_TIMEOUT))
    # The model has read the text, in the first run and from the store.
    for request in (model.requests[len(replies) - 1], model.requests[-1]):
        assert any(secret in each.to_json() for each in request.messages)


async def outcome(tmp_path: Path, error: Exception, **options: Any) -> dict[str, str]:
    model = ScriptedModel("<fail_async>{}</fail_async>", "That did not work.")
    app = agent_app(tmp_path, model, failing(error), **options)
    async with serve(app) as client:
        chat = await new_chat(client)
        await say(client, chat, "Go.")
        await all_events(client, chat)
        return await sent(client, chat)


@pytest.mark.parametrize("kind", [ToolError, ModelRetry])
def test_texts_that_a_tool_raises_for_the_model_are_shown(
    kind: type[ToolError], tmp_path: Path
) -> None:
    read = asyncio.run(outcome(tmp_path, kind("no such city")))
    for name in ("messages", "export", "events", "ai-sdk", "ag-ui"):
        assert "no such city" in read[name]
        assert "reference" not in read[name]


def test_an_application_can_show_the_text_that_the_model_reads(tmp_path: Path) -> None:
    read = asyncio.run(outcome(tmp_path, ValueError("no such disk"), error_text="message"))
    for name in ("messages", "export", "events", "ai-sdk", "ag-ui"):
        assert "Error executing tool: no such disk" in read[name]


def test_the_exception_that_ends_a_run_of_scenes_is_only_in_the_log(tmp_path: Path) -> None:
    async def main() -> dict[str, str]:
        async def model(_: Any) -> str:
            raise ValueError("cannot reach hunter2.internal")

        async with serve(scene_app(tmp_path, model, failing(ValueError()))) as client:  # type: ignore[arg-type]
            chat = await new_chat(client)
            await say(client, chat, "Go.")
            live = json.dumps(await all_events(client, chat))
            return {"live": live, **await sent(client, chat)}

    read = asyncio.run(main())
    assert [name for name, text in read.items() if "hunter2" in text] == []
    assert "Execution failed (reference " in read["live"]


def test_an_unknown_kind_of_error_text_is_rejected() -> None:
    store = MessageStore("sqlite://")
    with pytest.raises(ValueError, match="error_text must be 'reference' or 'message', got 'none'"):
        chat_app(store, lambda _: None, error_text="none")  # type: ignore[arg-type,return-value]


def test_clients_read_only_the_exception_type_of_a_failed_scorer() -> None:
    ranking = [
        {"tool": "a", "score": 7.0},
        {"tool": "b", "error": "ModelError: the model function f raised\nhunter2"},
        {"tool": "c", "error": "the reply has no score"},
    ]
    received = redact({"kind": "selection", "ranking": ranking})
    assert [each.get("error") for each in received["ranking"]] == [
        None,
        "ModelError",
        "the reply has no score",
    ]


def test_results_of_earlier_versions_have_no_reference_and_no_text() -> None:
    result = {"toolCallId": "c", "name": "f", "isError": True, "errorCode": "tool_error"}
    message = {
        "kind": "tools_aggregate",
        "toolCalls": [],
        "toolResults": [
            {**result, "result": "Error executing tool: hunter2"},
            {**result, "result": "no such city"},
        ],
    }
    received = [each["result"] for each in redact(message)["toolResults"]]
    assert received == ["Error executing tool.", "no such city"]
    damaged = json.dumps({"type": "message", "message_json": "{Error executing tool: hunter2"})
    assert "hunter2" not in redact_line(damaged)
