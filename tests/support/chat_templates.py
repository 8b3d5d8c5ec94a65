"""The chat templates of models, rendered as inference servers render them."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, NoReturn

from jinja2 import Template, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from paths import SHARED

COLLECTED = SHARED / "data" / "chat_templates"
"""Templates of models, most of them under licences of their own. They may be absent."""


def render(file: str, messages: list[dict[str, Any]], **variables: Any) -> str:
    """Return the prompt that a collected template makes of messages."""
    template = _template(file)
    return template.render(messages=messages, bos_token="<s>", eos_token="</s>", **variables)


@cache
def _template(file: str) -> Template:
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _to_json
    environment.filters["from_json"] = json.loads
    environment.globals["raise_exception"] = _refuse
    environment.globals["strftime_now"] = _today
    return environment.from_string((COLLECTED / file).read_text("utf-8"))


def _to_json(value: Any, **options: Any) -> str:
    # `map` returns an iterator, which is a list in llama.cpp.
    return json.dumps(value, **{"ensure_ascii": False, "default": list, **options})


def _refuse(message: str) -> NoReturn:
    raise TemplateError(message)


def _today(_format: str) -> str:
    return "2026-11-23"
