"""An agent on any OpenAI-compatible endpoint: vLLM, llama.cpp, Ollama, a provider.

    python openai_endpoint.py --base-url http://127.0.0.1:8080/v1 --model qwen3 "What is 15 + 27?"

Needs the extra `openai`. Without arguments it starts a small server that sends the recorded reply
of a real model, and a hand-written second one.

Prints:

    Add {'a': 15, 'b': 27} -> 42
    15 + 27 is 42.
    completed after 2 requests
"""

from __future__ import annotations

import argparse
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from toolweave import Agent, ToolAggregateMessage, tool
from toolweave.models.openai import OpenAIModel

RECORDED = Path(__file__).parent / "streams" / "01-add.json"


@tool("Add")
async def add(a: float, b: float) -> str:
    """Add two numbers."""
    return f"{a + b:g}"


async def ask(base_url: str, model: str, prompt: str) -> None:
    # Without native calls, the tools are in the prompt, and calls are in the text.
    async with OpenAIModel(model, base_url=base_url, native_tools=False) as endpoint:
        result = await Agent(endpoint, [add], instructions="Be brief.").run(prompt)
    for message in result.messages:
        if isinstance(message, ToolAggregateMessage):
            for call, answer in zip(message.tool_calls, message.tool_results, strict=True):
                print(call.name, call.arguments, "->", answer.result)
    print(result.text)
    print(f"{result.stop_reason} after {result.iterations} requests")


class Recorded(BaseHTTPRequestHandler):
    """A handler that answers like such an endpoint: one server-sent event for each piece."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        recorded = json.loads(RECORDED.read_text(encoding="utf-8"))["deltas"]
        has_result = "<tool_response" in asked[-1]["content"]
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for text in ["15 + 27", " is 42."] if has_result else recorded:
            self.send({"index": 0, "delta": {"content": text}})
        self.send({"index": 0, "delta": {}, "finish_reason": "stop"})

    def send(self, choice: dict[str, object]) -> None:
        self.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")

    def log_message(self, *_: object) -> None:
        """Skip the log line of each request."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--base-url")
    parser.add_argument("--model", default="recorded")
    parser.add_argument("prompt", nargs="?", default="What is 15 + 27?")
    options = parser.parse_args()
    with HTTPServer(("127.0.0.1", 0), Recorded) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        own = f"http://127.0.0.1:{server.server_port}/v1"
        asyncio.run(ask(options.base_url or own, options.model, options.prompt))
        server.shutdown()
