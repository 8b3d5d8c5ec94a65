"""Repair of invalid calls by a second model, with one request each."""

from __future__ import annotations

import difflib
import json
import logging
import re
from typing import TYPE_CHECKING, Any, cast

from .. import tracing
from .._core import (
    FinishUpdate,
    Repair,
    TextDelta,
    TextMessage,
    ToolCall,
    UsageUpdate,
    repair_json,
)
from ..costs._spending import close_request, current_meter
from ..exceptions import InvalidJSONError
from ..kinds import FinishReason
from ..models import as_model, closing
from ..models._identity import identify
from ..protocols import ModelOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._core import FunctionContract, InvalidToolCall
    from ..protocols import Model
    from ._prepared_tools import PreparedTools

_log = logging.getLogger("toolweave.natural")

MAX_FALLBACK_CHARS = 16_000
"""Maximum length of a text to repair, in characters. Truncated texts cannot be repaired."""

_MAX_ANSWER_CHARS = 4 * MAX_FALLBACK_CHARS
_MAX_RECORDED_CHARS = 200
# Minimum similarity of a misspelled name to the name of a tool, from 0 to 1.
_MIN_SIMILARITY = 0.8

_THOUGHTS = re.compile(r"\s*<(think|thinking)>.*?</\1>", re.DOTALL)

_REPAIR_PROMPT = """\
A language model meant to call the tool {name}, but the call cannot be run.

What the tool does: {description}

Its arguments have to fit this JSON Schema:
{schema}

What is wrong with the call:
{violations}

What the model wrote, as a JSON string:
{raw}

Answer with the arguments as they should have been, as one JSON object and nothing else. Keep what \
the model meant, and make up nothing that it did not say. If that leaves no valid arguments, \
answer null."""

_REWRITE_PROMPT = """\
A language model may call these tools:
{tools}

It wrote the reply below, as a JSON string, which holds no call in the form that was agreed:
{text}

If the reply clearly means to call one of the tools now, answer with one JSON object and nothing \
else: {{"name": the tool, "arguments": an object that fits its parameters}}. Keep what the reply \
says, and make up nothing. If it does not mean to call a tool, answer {{"name": null}}."""

_OBJECT: Mapping[str, Any] = {"type": "object"}


class Fallback:
    """A second model that repairs the calls of the first one.

    There is one request for each invalid call. Calls that are truncated, too long or of an unknown
    tool are not repaired, since their missing parts would have to be invented.

    Args:
        model: The second model.
    """

    def __init__(self, model: Model) -> None:
        self._model = as_model(model)

    async def repair(self, call: InvalidToolCall, prepared: PreparedTools) -> ToolCall | None:
        """Return the repaired call, with a repair of the kind ``fallback``; None on failure.

        Errors of the model are logged, not raised. Only cancellation propagates.
        """
        contract = _intended_contract(call, prepared)
        if contract is None:
            return None
        if len(call.raw) > MAX_FALLBACK_CHARS:
            _log_outcome(call, "the call is too long to be repaired by the fallback")
            return None
        schema = _OBJECT if contract.parameters is None else contract.parameters
        prompt = _REPAIR_PROMPT.format(
            name=_json(contract.name),
            description=contract.description or "(it does not say)",
            schema=_json(schema),
            violations="\n".join(f"- {violation.message}" for violation in call.violations),
            raw=_json(call.raw),
        )
        answer = await self._ask(prompt, schema)
        if answer is None:
            return None
        parsed = prepared.parser.native_call(
            call.id, contract.name, answer, index=call.index, dialect=call.dialect
        )
        if not isinstance(parsed, ToolCall):
            _log_outcome(call, "the answer of the fallback does not fit either")
            return None
        _log_outcome(call, "the fallback has repaired the call", level=logging.INFO)
        recorded = [
            Repair("", "fallback", call.raw[:_MAX_RECORDED_CHARS], answer[:_MAX_RECORDED_CHARS])
        ]
        if contract.name != call.name:
            recorded.insert(0, Repair("", "fallback", call.name, contract.name))
        return parsed.__replace__(
            raw=call.raw,
            repairs=(*recorded, *parsed.repairs),
            dialect=call.dialect,
            recovered=call.recovered,
        )

    async def rewrite(
        self, text: str, prepared: PreparedTools, call_id: str, *, found: Sequence[str] = ()
    ) -> ToolCall | None:
        """Return the call that a reply without calls intends to make; None if there is none."""
        contracts = prepared.visible(found)
        if not contracts or not text.strip() or len(text) > MAX_FALLBACK_CHARS:
            return None
        prompt = _REWRITE_PROMPT.format(
            tools=_json([contract.to_dict() for contract in contracts]), text=_json(text)
        )
        schema = {
            "type": "object",
            "properties": {
                "name": {"enum": [*(contract.name for contract in contracts), None]},
                "arguments": _OBJECT,
            },
            "required": ["name"],
        }
        answer = await self._ask(prompt, schema)
        named = None if answer is None else _read_named(answer)
        if answer is None or named is None:
            return None
        name, arguments = named
        if name not in prepared.by_name:
            return None
        parsed = prepared.parser.native_call(call_id, name, arguments, dialect="natural")
        if not isinstance(parsed, ToolCall):
            _log.warning("the fallback rewrote a reply as an invalid call", extra={"tool": name})
            return None
        _log.info("the fallback has found a call in a plain reply", extra={"tool": name})
        repair = Repair("", "fallback", text[:_MAX_RECORDED_CHARS], answer[:_MAX_RECORDED_CHARS])
        # The model did not write this call, so `raw` is empty; the reply stays text.
        return parsed.__replace__(raw="", repairs=(repair, *parsed.repairs))

    async def _ask(self, prompt: str, schema: Mapping[str, Any]) -> str | None:
        """Return the answer of the model without reasoning; None if it is incomplete."""
        asked = [TextMessage(prompt)]
        meter = current_meter.get()
        request = None if meter is None else await meter.try_request(self._model, asked)
        if meter is not None and request is None:
            _log.warning("a limit of the run refused a request to the fallback")
            return None
        options = ModelOptions(response_schema=schema)
        name, provider, *_ = identify(self._model)
        pieces: list[str] = []
        length = 0
        finish = FinishReason.MISSING
        used: UsageUpdate | None = None
        try:
            with tracing.chat(name, provider=provider, options=options) as span:
                reply = self._model.stream(asked, options=options)
                async with closing(reply) as updates:
                    async for update in updates:
                        if isinstance(update, FinishUpdate):
                            finish = update.reason
                        elif isinstance(update, UsageUpdate):
                            span.usage(update)
                            used = update
                        elif isinstance(update, TextDelta):
                            pieces.append(update.text)
                            length += len(update.text)
                            if length > _MAX_ANSWER_CHARS:
                                break
                span.set(tracing.RESPONSE_FINISH_REASONS, [finish.value])
        except Exception:  # noqa: BLE001 - the call stays invalid
            _log.warning("a request to the fallback failed", exc_info=True)
            return None
        finally:
            if request is not None:
                close_request(request, asked, used, "".join(pieces))
        if finish is not FinishReason.STOP:
            _log.warning(
                "the reply of the fallback is incomplete", extra={"finish_reason": finish.value}
            )
            return None
        text = "".join(pieces)
        thoughts = _THOUGHTS.match(text)
        return text if thoughts is None else text[thoughts.end() :]


def _intended_contract(call: InvalidToolCall, prepared: PreparedTools) -> FunctionContract | None:
    """Return the contract of the tool that an invalid call is for, if the call is repairable."""
    if call.kind in ("invalid_json", "schema_violation"):
        return prepared.by_name.get(call.name)
    if call.kind == "unknown_tool":
        names = {name.lower(): name for name in prepared.by_name}
        close = difflib.get_close_matches(call.name.lower(), names, n=1, cutoff=_MIN_SIMILARITY)
        return prepared.by_name[names[close[0]]] if close else None
    return None


def _read_named(answer: str) -> tuple[str, str] | None:
    """Return the name and the JSON text of the arguments in an answer to `_REWRITE_PROMPT`."""
    try:
        fields: object = json.loads(repair_json(answer)[0])
    except (InvalidJSONError, ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    known = cast("dict[str, object]", fields)
    name = known.get("name")
    return (name, _json(known.get("arguments", {}))) if isinstance(name, str) else None


def _json(value: object) -> str:
    """Return the value as JSON; a text in it cannot be mistaken for the prompt around it."""
    return json.dumps(value, ensure_ascii=False)


def _log_outcome(call: InvalidToolCall, text: str, *, level: int = logging.WARNING) -> None:
    _log.log(level, text, extra={"tool": call.name, "tool_call_id": call.id, "kind": call.kind})
