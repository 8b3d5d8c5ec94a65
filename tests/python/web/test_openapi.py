"""The OpenAPI document, held against the routes, the code and a running server."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount, Route

import toolweave.web
from chat_servers import QUICK, all_events, new_chat, on_a_server, say, serve, until
from effort import EFFORT, effort
from openapi_server import TOKEN, conforming_server, model
from paths import CASES, ROOT
from toolweave import Agent, Validator
from toolweave.store import MessageStore
from toolweave.web import AgentResponder, Page, chat_app
from toolweave.web._openapi import OPERATIONS, PAGE_OPERATIONS, OpenApiDocument
from toolweave.web._openapi import _error_replies as error_codes

Fields = dict[str, Any]
SOURCES = Path(toolweave.web.__file__).parent
# For a change, requests at the limits of the schemas, and few others: this is the longest test.
PHASES, EXAMPLES = (
    ("coverage,fuzzing,stateful", effort(20))
    if EFFORT in ("full", "long")
    else ("coverage,stateful", 2)
)


def app_of(folder: Path, **options: Any) -> Starlette:
    store = MessageStore(f"sqlite:///{(folder / 'chats.db').as_posix()}", poll=0.02)
    return chat_app(store, AgentResponder(Agent(model)), limits=QUICK, **options)


def document(**options: Any) -> Fields:
    made = OpenApiDocument(
        (*OPERATIONS, *PAGE_OPERATIONS),
        title="Tea",
        version="1",
        formats={"native": "text/event-stream", "lines": "text/plain"},
        **{"has_users": False, "security_schemes": None, **options},
    )
    return made.to_dict()


def parts(value: object) -> Iterator[Fields]:
    """Yield all objects within a value."""
    if isinstance(value, dict):
        yield cast("Fields", value)
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from parts(each)


def validator(doc: Fields, name: str) -> Validator:
    """Return the validator of a schema of the document."""
    return Validator({"$ref": f"#/components/schemas/{name}", "components": doc["components"]})


@pytest.mark.parametrize("page", [None, Page(title="Tea")])
def test_the_document_has_exactly_the_routes_of_the_application(
    tmp_path: Path, page: Page | None
) -> None:
    app = app_of(tmp_path, page=page)
    served = {
        (method, re.sub(r":\w+\}", "}", route.path))
        for route in app.routes
        if isinstance(route, Route)
        for method in cast("set[str]", route.methods) - {"HEAD"}
    }
    assert all(isinstance(route, Route) for route in app.routes)
    operations = OPERATIONS if page is None else (*OPERATIONS, *PAGE_OPERATIONS)
    made = OpenApiDocument(
        operations, title="", version="", formats={}, has_users=False, security_schemes=None
    )
    paths = made.to_dict()["paths"]
    documented = {(method.upper(), path) for path, item in paths.items() for method in item}
    assert documented == served


def test_references_lead_to_schemas_all_of_which_are_used() -> None:
    doc = document()
    used = {each["$ref"] for each in parts(doc) if isinstance(each.get("$ref"), str)}
    made = {f"#/components/schemas/{name}" for name in doc["components"]["schemas"]}
    assert used <= made
    # These are referred to in words.
    assert made - used <= {f"#/components/schemas/{name}" for name in ("Error", "ExportLine")}
    for name in doc["components"]["schemas"]:
        validator(doc, name)
    ids = [each["operationId"] for item in doc["paths"].values() for each in item.values()]
    assert len(ids) == len(set(ids))
    links = {
        each["operationId"] for each in parts(doc) if set(each) > {"operationId", "parameters"}
    }
    assert links <= set(ids)


def raised() -> Iterator[tuple[int, str]]:
    """Yield the errors that the code of the server makes."""
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            values = [each.value for each in node.args if isinstance(each, ast.Constant)]
            match node.func.id, values:
                case "HttpError", [int() as status, str() as code, *_]:
                    yield status, code
                case "unavailable", [str() as code, *_]:
                    yield 503, code


def test_the_documented_errors_are_those_that_the_code_makes() -> None:
    operations = (*OPERATIONS, *PAGE_OPERATIONS)
    documented = {
        (error.status, error.code) for operation in operations for error in operation.all_errors()
    }
    documented |= {error_codes.UNAUTHORIZED[:2]}
    assert documented == set(raised())


@on_a_server
async def test_events_messages_and_chats_fit_their_schemas(tmp_path: Path) -> None:
    async with serve(app_of(tmp_path)) as client:
        doc = (await client.get("/openapi.json")).json()
        event, state = validator(doc, "StreamEvent"), validator(doc, "ChatState")
        stored, line = validator(doc, "StoredMessage"), validator(doc, "ExportLine")
        chat = await new_chat(client)
        await say(client, chat, "Is there tea?")
        await until(client, chat, "run", status="finished")
        for each in await all_events(client, chat):
            assert event.iter_errors(each) == ()
        assert state.iter_errors((await client.get(chat)).json()) == ()
        messages = (await client.get(f"{chat}/messages")).json()["messages"]
        assert len(messages) >= 2
        for each in messages:
            assert stored.iter_errors(each) == ()
        for text in (await client.get(f"{chat}/export")).text.splitlines():
            assert line.iter_errors(json.loads(text)) == ()


def test_messages_of_all_kinds_fit_the_schema_of_messages() -> None:
    check = validator(document(), "Message")
    cases: list[Fields] = json.loads((CASES / "message/wire.json").read_text("utf-8"))
    known = 0
    for case in parts([each.get("json") for each in cases]):
        try:
            message = toolweave.message_from_dict(case)
        except toolweave.MessageError:
            continue
        known += 1
        assert check.iter_errors(message.to_dict()) == ()
    assert known > 5
    for wrong in ({"kind": "text"}, {"kind": "text", "role": "user"}, {"role": "user"}):
        assert check.iter_errors(wrong) != ()


def test_security_is_what_authenticate_demands() -> None:
    assert "securitySchemes" not in document()["components"]
    bearer = {"token": {"type": "http", "scheme": "bearer"}}
    for schemes, names in ((None, ["credentials"]), (bearer, ["token"])):
        doc = document(has_users=True, security_schemes=schemes)
        assert list(doc["components"]["securitySchemes"]) == names
        for path, item in doc["paths"].items():
            for operation in item.values():
                is_public = not path.startswith(("/chats", "/ai-sdk", "/ag-ui"))
                assert ("401" not in operation["responses"]) is is_public
                assert operation.get("security", []) == (
                    [] if is_public else [{name: []} for name in names]
                )


@on_a_server
async def test_a_mounted_application_names_its_path(tmp_path: Path) -> None:
    inner = app_of(tmp_path)
    outer = Starlette(routes=[Mount("/api", inner)], lifespan=inner.router.lifespan_context)
    async with serve(outer) as client:
        doc = (await client.get("/api/openapi.json")).json()
        assert doc["servers"] == [{"url": "/api"}]
        assert (await client.get("/api/chats")).status_code == 200


@on_a_server
async def test_methods_that_a_path_has_are_listed_and_streams_have_no_head(tmp_path: Path) -> None:
    async with serve(app_of(tmp_path)) as client:
        answer = await client.put("/chats", json={})
        assert answer.status_code == 405
        assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "POST"}
        assert (await client.head("/healthz")).status_code == 200
        chat = await new_chat(client)
        assert (await client.head(f"{chat}/events?follow=1")).status_code == 405


has_schemathesis = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="schemathesis needs Python 3.11; its requests are the same"
)


def schemathesis(folder: Path, url: str, *options: str) -> str:
    """Run schemathesis in a folder against a server, and return what it prints."""
    command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()"]
    command += ["--config-file", str(ROOT / "tests/support/schemathesis.toml"), "run", *options]
    command += ["--seed=1", "--generation-deterministic"]
    found = subprocess.run(
        [*command, "--continue-on-failure", "--no-color", f"{url}/openapi.json"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONWARNINGS": "default"},
    )
    assert found.returncode == 0, found.stdout[-20_000:] + found.stderr[-2_000:]
    return found.stdout


@has_schemathesis
def test_the_running_server_conforms(tmp_path: Path) -> None:
    options = ("--checks=all", f"--phases={PHASES}", f"--max-examples={EXAMPLES}")
    with conforming_server(tmp_path) as url:
        printed = schemathesis(tmp_path, url, *options)
    # It does not request the document again.
    count = len(OPERATIONS) + len(PAGE_OPERATIONS) - 1
    assert f"{count} selected / {count} total" in printed


@has_schemathesis
def test_the_running_server_demands_the_documented_credentials(tmp_path: Path) -> None:
    with conforming_server(tmp_path, with_users=True) as url:
        printed = schemathesis(
            tmp_path,
            url,
            "--phases=coverage",
            # With the credentials missing as well, and wrong.
            "--checks=ignored_auth,status_code_conformance,response_schema_conformance",
            "--include-path=/chats",
            "--include-path=/healthz",
            f"--header=Cookie: session={TOKEN}",
        )
    assert "3 selected" in printed
