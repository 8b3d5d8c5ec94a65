"""Connections to other agent libraries: LangChain, pydantic-ai, LiteLLM and MCP.

Each module needs the extra of the same name and imports nothing of the others.
"""

from __future__ import annotations

__all__: list[str] = []
