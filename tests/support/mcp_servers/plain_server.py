"""A hand-written server that tests what a client accepts: only its JSON-RPC framing is valid.

Run as `plain_server.py PLAN`: a JSON file with the pages of its tools, and with their responses,
by default their names. Beside these it supports only the handshake of 2025. It starts at once.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

plan: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "plain", "version": "0"},
        }
    if method == "tools/list":
        page: dict[str, Any] = plan["pages"][int(params.get("cursor", "0"))]
        return page
    if method == "tools/call":
        return plan.get("answers", {}).get(params["name"]) or {
            "content": [{"type": "text", "text": called(params["name"])}]
        }
    return None


def called(name: str) -> str:
    if name == "die":
        os._exit(3)
    if name == "pid":
        return str(os.getpid())
    if name == "environment":
        return json.dumps({key: os.environ.get(key) for key in ("GIVEN", "SECRET")})
    return f"{name} was called"


sys.stdout.write(plan.get("greeting", ""))
sys.stdout.flush()
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": request["id"]}
    result = answer(request["method"], request.get("params") or {})
    if result is None:
        reply["error"] = {"code": -32601, "message": "Method not found"}
    else:
        reply["result"] = result
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
