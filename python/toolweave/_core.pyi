"""The compiled core. Each file of its bindings, `src/python`, has a stub here."""

from typing import Any, Final, TypeVar

from ._bindings.call import Repair, ToolCall, ToolResult
from ._bindings.consolidate import Consolidator, consolidate, parse_history
from ._bindings.contract import FunctionContract
from ._bindings.diagnostic import Diagnostic
from ._bindings.endpoint import (
    ChunkReader,
    HttpBatch,
    HttpClient,
    HttpLargeEvents,
    HttpReply,
    HttpWakeup,
)
from ._bindings.events import (
    Discarded,
    FabricatedResult,
    InvalidToolCall,
    ToolCallDelta,
    ToolCallStart,
)
from ._bindings.joiner import JoinedReply, Joiner, JoinProblem
from ._bindings.lifecycle import StreamReducer, check_stream_event
from ._bindings.message import (
    MessageBase,
    ReasoningMessage,
    TextMessage,
    ToolAggregateMessage,
    ToolCallMessage,
    ToolResultMessage,
    UnknownMessage,
    UsageMessage,
    message_from_dict,
    message_from_json,
)
from ._bindings.meter import JsonMeter
from ._bindings.parser import Dialect, EventStream, Limits, Parser, parse
from ._bindings.partial import JsonStream
from ._bindings.prompt import (
    Simplification,
    find_simplifications,
    render_contracts,
    system_prompt,
)
from ._bindings.provider import from_anthropic, from_openai, to_anthropic, to_openai
from ._bindings.proxy import ProxyServer
from ._bindings.registry import Origin, RegistrySnapshot, ToolEntry, supertypes, type_name
from ._bindings.repair import repair_json
from ._bindings.reply import UpdateReader
from ._bindings.search import SearchIndex
from ._bindings.selection import Ranking, RankingResult, ReplyReader, ScoredReply
from ._bindings.template import PromptTemplate, structure_schema
from ._bindings.update import FinishUpdate, ReasoningDelta, TextDelta, ToolCallUpdate, UsageUpdate
from ._bindings.validator import Validator, Violation

__all__ = [
    "ChunkReader",
    "Consolidator",
    "Diagnostic",
    "Dialect",
    "Discarded",
    "EventStream",
    "FabricatedResult",
    "FinishUpdate",
    "FunctionContract",
    "HttpBatch",
    "HttpClient",
    "HttpLargeEvents",
    "HttpReply",
    "HttpWakeup",
    "InvalidToolCall",
    "JoinProblem",
    "JoinedReply",
    "Joiner",
    "JsonMeter",
    "JsonStream",
    "Limits",
    "MessageBase",
    "Origin",
    "Parser",
    "PromptTemplate",
    "ProxyServer",
    "Ranking",
    "RankingResult",
    "ReasoningDelta",
    "ReasoningMessage",
    "RegistrySnapshot",
    "Repair",
    "ReplyReader",
    "ScoredReply",
    "SearchIndex",
    "Simplification",
    "StreamReducer",
    "TextDelta",
    "TextMessage",
    "ToolAggregateMessage",
    "ToolCall",
    "ToolCallDelta",
    "ToolCallMessage",
    "ToolCallStart",
    "ToolCallUpdate",
    "ToolEntry",
    "ToolResult",
    "ToolResultMessage",
    "UnknownMessage",
    "UpdateReader",
    "UsageMessage",
    "UsageUpdate",
    "Validator",
    "Violation",
    "__version__",
    "_copy_json",
    "_is_debug_build",
    "_is_html_element",
    "_rebuild",
    "_stream_event_schema",
    "_without_keys",
    "check_stream_event",
    "consolidate",
    "find_simplifications",
    "from_anthropic",
    "from_openai",
    "message_from_dict",
    "message_from_json",
    "parse",
    "parse_history",
    "render_contracts",
    "repair_json",
    "structure_schema",
    "supertypes",
    "system_prompt",
    "to_anthropic",
    "to_openai",
    "type_name",
]

_T = TypeVar("_T")

__version__: Final[str]

_is_debug_build: Final[bool]
_stream_event_schema: Final[str]

def _copy_json(value: Any) -> Any: ...
def _is_html_element(name: str) -> bool: ...
def _rebuild(class_: type[_T], fields: dict[str, Any], /) -> _T: ...
def _without_keys(text: str, keys: list[str]) -> str: ...
