"""The tools of a registry for agents, executors and MCP clients."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import mcp_types
import pytest
from mcp import Client, StdioServerParameters

from mcp_processes import SERVERS
from sample_registries import DETAILS, SEARCH, SHOP, registry_of
from toolweave import Agent, ToolCall, ToolExecutor, ToolResult, tool
from toolweave.cli import main
from toolweave.registry import ToolRegistry
from toolweave.testing import ScriptedModel
from toolweave.tools import Toolset

FILE = SERVERS / "tools.xml"
SERVE = ["-W", "error", "-m", "toolweave", "mcp"]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> ToolRegistry:
    monkeypatch.syspath_prepend(SERVERS)
    monkeypatch.delitem(sys.modules, "registry_handlers", raising=False)
    return ToolRegistry.load(FILE)


def run(tools: Iterable[Any], name: str, /, **arguments: Any) -> ToolResult:
    async def execute() -> ToolResult:
        aggregate = await ToolExecutor(tools).execute([ToolCall("call_0", name, arguments)])
        return aggregate.tool_results[0]

    return asyncio.run(execute())


def test_the_tools_of_a_type_are_tools_for_a_model(registry: ToolRegistry) -> None:
    tools = registry.toolset("https://schema.org/Recipe", allowed_handlers=["registry_handlers"])
    assert isinstance(tools, Toolset)
    details, substitute = tools.contracts
    assert (details.name, substitute.name) == ("details", "substitute")
    # A model that calls the tool needs neither the query nor the demand for a score.
    assert details.description == (
        "The details tool gets more about one item.\n"
        "It scores high if the item is named. It needs its name.\n"
        "\n"
        "Examples of what it is for:\n"
        "- What is in carbonara?"
    )
    assert substitute.description == "Substitutes ingredients."
    [entry, _] = registry.tools_for("Recipe")
    assert details.parameters == entry.parameters
    assert list(entry.parameters["properties"]) == ["item_name"]


def test_a_tool_that_cannot_start_is_an_error_without_a_fallback() -> None:
    registry = ToolRegistry.loads(registry_of(Thing=SEARCH + DETAILS))

    @registry.handler("search")
    def search() -> str:
        return "what was not asked for"

    tools = registry.toolset("Thing")
    assert run(tools, "search").value == "what was not asked for"
    failed = run(tools, "details")
    assert failed.is_error
    assert "no handlers are allowed" in failed.result


def test_handlers_of_each_kind_run(registry: ToolRegistry) -> None:
    tools = registry.toolset("Recipe", "trattoria", allowed_handlers=["registry_handlers"])
    # The messages of a handler that returns nothing are its result.
    result = run(tools, "details", item_name="carbonara")
    assert result.value == {"message_type": "item_details", "item": "carbonara"}
    assert run(tools, "substitute", ingredient="eggs").value == "apple sauce"
    # A name that is not valid in a tag is changed.
    ordered = {"site": "trattoria", "type": "Recipe", "ordered": "carbonara"}
    assert run(tools, "order_a_dish", dish="carbonara").value == ordered


def test_handlers_receive_the_application_object(registry: ToolRegistry) -> None:
    class Request:
        sent: list[Any]

        async def send_message(self, message: Any) -> None:
            self.sent = [message]

    request = Request()
    tools = registry.toolset("Thing", handler=request, allowed_handlers=["registry_handlers"])
    assert run(tools, "details", item_name="carbonara").value is None
    assert request.sent == [{"message_type": "item_details", "item": "carbonara"}]


def test_several_messages_are_returned_as_a_list() -> None:
    class Talkative:
        def __init__(self, params: dict[str, Any], handler: Any) -> None:
            self.handler, self.count = handler, params["count"]

        async def do(self) -> None:
            for number in range(int(self.count)):
                await self.handler.send_message(number)

    registry = ToolRegistry()
    structure = {"score": "integer between 0 and 100", "count": "what to count up to"}
    registry.handler("talk", return_struc=structure)(Talkative)
    assert run(registry.toolset(), "talk", count="3").value == [0, 1, 2]
    assert run(registry.toolset(), "talk", count="0").value is None


class Endpoint(BaseHTTPRequestHandler):
    """Server that echoes requests."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
        pass


def test_a_tool_with_an_endpoint_runs_if_its_host_is_allowed() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            host = f"127.0.0.1:{server.server_port}"
            order = f"""
            <Tool name="order">
              <method>url</method><path>http://{host}/order</path>
              <prompt>Orders a dish.</prompt>
              <returnStruc>{{"score": "integer between 0 and 100", "dish": "which"}}</returnStruc>
            </Tool>"""
            registry = ToolRegistry.loads(registry_of(Recipe=order))
            allowed = registry.toolset("Recipe", allowed_hosts=[host])
            assert run(allowed, "order", dish="soup").value == {"dish": "soup"}
            refused = run(registry.toolset("Recipe"), "order", dish="soup")
            assert refused.is_error
            assert "127.0.0.1" in refused.result
        finally:
            server.shutdown()
            serving.join(30)


def test_a_tool_that_is_not_allowed_does_not_run(registry: ToolRegistry) -> None:
    result = run(registry.toolset("Recipe"), "substitute", ingredient="eggs")
    assert result.is_error
    assert "'registry_handlers.substitute' is not imported" in result.result
    assert "registry_handlers" not in sys.modules


def test_arguments_are_validated_first(registry: ToolRegistry) -> None:
    tools = registry.toolset("Recipe", allowed_handlers=["registry_handlers"])
    result = run(tools, "substitute", ingredient=3)
    assert (result.is_error, result.error_code) == (True, "invalid_arguments")


def test_a_handler_that_times_out_is_stopped() -> None:
    registry = ToolRegistry()

    @registry.handler("wait")
    async def wait() -> None:
        await asyncio.Event().wait()

    result = run(registry.toolset(timeout=0.01), "wait")
    assert result.is_error
    assert "did not finish within 0.01 seconds" in result.result


def test_tools_are_returned_unchanged() -> None:
    @tool(requires_approval=True)
    async def pay(amount: float, currency: str = "EUR") -> str:
        "Pay."
        return f"{amount} {currency}"

    def greet(name: str) -> str:
        "Say hello."
        return f"Hello {name}"

    tools = ToolRegistry.from_tools([pay, greet]).toolset("Offer")
    assert next(iter(tools)) is pay
    assert run(tools, "greet", name="Ann").value == "Hello Ann"
    assert run(tools, "pay", amount=3).error_code == "denied"


def test_optional_parameters_of_a_function_may_be_omitted() -> None:
    registry = ToolRegistry()

    @registry.handler("convert", type="Offer")
    def convert(amount: float, currencies: list[str], rounded: bool = True) -> str:
        "Convert money."
        return f"{amount} {currencies} {rounded}"

    tools = registry.toolset("Offer")
    [contract] = tools.contracts
    assert contract.description == "Convert money."
    assert contract.parameters is not None
    assert contract.parameters["required"] == ["amount", "currencies"]
    assert run(tools, "convert", amount=2.5, currencies=["JPY"]).value == "2.5 ['JPY'] True"
    assert run(tools, "convert", amount=2.5, currencies=[], rounded=False).value == "2.5 [] False"
    assert run(tools, "convert", amount="much", currencies=[]).error_code == "invalid_arguments"


def test_a_renamed_tool_is_called_by_its_new_name() -> None:
    @tool
    def greet(name: str) -> str:
        "Say hello."
        return f"Hello {name}"

    registry = ToolRegistry()
    registry.handler("welcome")(greet)
    assert run(registry.toolset(), "welcome", name="Ann").value == "Hello Ann"


def test_tool_descriptions_can_be_overridden(registry: ToolRegistry) -> None:
    tools = registry.toolset("Recipe", describe=lambda entry: f"{entry.name} of {entry.type}")
    descriptions = [contract.description for contract in tools.contracts]
    assert descriptions == ["details of Thing", "substitute of Recipe"]


def test_a_toolset_is_updated_with_its_registry(tmp_path: Path) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(registry_of(Thing=SEARCH), "utf-8")
    registry = ToolRegistry.load(file)
    tools, films = registry.toolset("Recipe"), registry.toolset("Movie")
    agent_s = ToolExecutor(tools)
    [search] = tools
    assert search.name == "search"
    version = tools.version
    file.write_text(registry_of(Thing=SEARCH, Movie=DETAILS), "utf-8")
    registry.reload()
    # Unchanged tools stay the same objects.
    assert list(tools) == [search]
    assert [tool.name for tool in films] == ["search", "details"]
    assert tools.version > version

    @registry.handler("more", type="Recipe")
    def more() -> str:
        return "more"

    assert [tool.name for tool in agent_s.toolset] == ["search", "more"]
    assert run(tools, "more").value == "more"
    registry.handler("more", type="Recipe", examples=["More!"])(lambda: "most")
    assert run(tools, "more").value == "most"


def test_a_toolset_that_cannot_be_updated_keeps_its_tools(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "tools.xml"
    file.write_text(registry_of(Thing=SEARCH), "utf-8")
    registry = ToolRegistry.load(file)

    def describe(entry: Any) -> str:
        return {"search": "Searches."}[entry.name]

    tools = registry.toolset(describe=describe)
    file.write_text(SHOP, "utf-8")
    with caplog.at_level(logging.ERROR, "toolweave.registry"):
        assert registry.reload() is True
    assert [tool.name for tool in tools] == ["search"]
    assert [record.getMessage() for record in caplog.records] == [
        "a toolset cannot follow its registry"
    ]


def test_an_agent_calls_the_tools_of_a_registry(registry: ToolRegistry) -> None:
    model = ScriptedModel('<substitute>{"ingredient": "eggs"}</substitute>', "Take apple sauce.")
    tools = registry.toolset("Recipe", allowed_handlers=["registry_handlers"])
    result = Agent(model, tools).run_sync("I have no eggs.")
    assert result.text == "Take apple sauce."
    [called] = [message for message in result.messages if hasattr(message, "tool_results")]
    assert [one.result for one in called.tool_results] == ["apple sauce"]


def outcome_of(result: mcp_types.CallToolResult) -> tuple[bool, str, Any]:
    [part] = result.content
    assert isinstance(part, mcp_types.TextContent)
    return result.is_error, part.text, result.structured_content


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ([], ["details"]),
        (["--type", "Movie"], ["details"]),
        (["--type", "schema:Recipe"], ["details", "substitute"]),
        (["--type", "Recipe", "--site", "trattoria"], ["details", "substitute", "order_a_dish"]),
        (["--type", "Recipe", "--site", "other"], ["details", "substitute"]),
    ],
)
def test_an_mcp_client_is_served_the_tools_of_a_type_and_site(
    asked: list[str], names: list[str]
) -> None:
    command = [*SERVE, "--registry", "tools.xml", "--allow", "registry_handlers", *asked]
    server = StdioServerParameters(command=sys.executable, args=command, cwd=SERVERS)

    async def talk() -> None:
        async with Client(server, cache=None) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == names
            assert list(tools["details"].input_schema["properties"]) == ["item_name"]
            answer = outcome_of(await client.call_tool("details", {"item_name": "carbonara"}))
            sent = {"message_type": "item_details", "item": "carbonara"}
            assert (answer[0], answer[2]) == (False, sent)
            if "substitute" in tools:
                answer = outcome_of(await client.call_tool("substitute", {"ingredient": "eggs"}))
                assert answer == (False, "apple sauce", None)
            if "order_a_dish" in tools:
                answer = outcome_of(await client.call_tool("order_a_dish", {"dish": "tiramisu"}))
                ordered = {"site": "trattoria", "type": "Recipe", "ordered": "tiramisu"}
                assert answer[2] == ordered
            failed, text, _ = outcome_of(await client.call_tool("details", {"item": "carbonara"}))
            assert failed
            assert text.startswith("Invalid arguments for tool 'details': ")

    asyncio.run(asyncio.wait_for(talk(), 60))


@pytest.mark.parametrize(
    ("allowed", "status", "message"),
    [
        ([], 0, "warning: handler 'registry_handlers.Details' is not imported: no handlers are"),
        (["--allow", "registry_handlers"], 0, ""),
        (["--allow", "no name"], 2, "--allow: a prefix of handlers must be"),
    ],
)
def test_listed_tools_that_cannot_run_are_reported_at_startup(
    allowed: list[str], status: int, message: str
) -> None:
    command = [sys.executable, *SERVE, "--registry", "tools.xml", *allowed]
    done = subprocess.run(
        command,
        cwd=SERVERS,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == status
    assert message in done.stderr
    assert bool(done.stderr) == bool(message)


def test_a_registry_of_a_module_is_served_with_its_handlers(tmp_path: Path) -> None:
    (tmp_path / "kitchen.py").write_text(
        "from toolweave import ToolRegistry\n"
        "registry = ToolRegistry()\n"
        "@registry.handler('substitute', type='Recipe')\n"
        "def substitute(ingredient: str) -> str:\n"
        "    'Finds something to use instead.'\n"
        "    return 'no ' + ingredient\n",
        "utf-8",
    )
    command = [*SERVE, "kitchen:registry", "--type", "Recipe"]
    server = StdioServerParameters(command=sys.executable, args=command, cwd=tmp_path)

    async def talk() -> None:
        async with Client(server, cache=None) as client:
            [listed] = (await client.list_tools()).tools
            assert listed.description == "Finds something to use instead."
            answer = outcome_of(await client.call_tool("substitute", {"ingredient": "eggs"}))
            assert answer == (False, "no eggs", None)

    asyncio.run(asyncio.wait_for(talk(), 60))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either MODULE[:NAME] or --registry FILE"),
        (["json", "--registry", "tools.xml"], "give either MODULE[:NAME] or --registry FILE"),
        (["--registry", "none.xml"], "cannot read none.xml: No such file or directory"),
        (["--registry", "broken.xml"], "toolweave lint broken.xml shows where"),
        (["tools_here", "--type", "Recipe"], "--type is for tools of a registry"),
        (["tools_here", "--allow", "json"], "--allow is for tools of a registry"),
    ],
)
def test_tools_that_cannot_be_served_are_named(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    Path("broken.xml").write_text("<Tools>", "utf-8")
    Path("tools_here.py").write_text(
        "from toolweave import tool\n@tool\ndef here() -> str: ...\n", "utf-8"
    )
    assert main(["mcp", *arguments]) == 2
    printed = capsys.readouterr().err
    assert printed.startswith("toolweave mcp: ")
    assert message in printed
    sys.modules.pop("tools_here", None)
