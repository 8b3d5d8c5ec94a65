"""Tools as the chat templates of models present them, and the differences of toolweave.

`docs/explanation/dialects.md` has its tables from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Source:
    """A template that presents tools.

    Attributes:
        file: The file of the template.
        dialect: The dialect of its models.
        begin: The beginning of the list of tools.
        end: The end of the list.
        difference: The reason why the list is not the same as toolweave's; empty if it is.
    """

    file: str
    dialect: str
    begin: str
    end: str
    difference: str = ""


_TOOLS = ("<tools>\n", "\n</tools>")
_MARKERS = ("[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]")
_DECLARATIONS = ("<|tool>", "<tool|><turn|>")

SOURCES = (
    Source("qwen3-coder.jinja", "qwen3_coder", *_TOOLS),
    Source("vllm-qwen3coder.jinja", "qwen3_coder", *_TOOLS),
    Source(
        "qwen3.5.jinja",
        "qwen3_coder",
        *_TOOLS,
        difference="lists JSON objects, as in `hermes`; other models of the dialect have tags",
    ),
    Source("qwen2.5.jinja", "hermes", *_TOOLS),
    Source("qwen3.jinja", "hermes", *_TOOLS),
    Source("gemma-4-31b.jinja", "gemma4", *_DECLARATIONS),
    Source("vllm-gemma4.jinja", "gemma4", *_DECLARATIONS),
    Source("gpt-oss-120b.jinja", "harmony", "## functions", "} // namespace functions"),
    Source("deepseek-v3.2.jinja", "deepseek_v32", "<functions>\n", "\n</functions>"),
    Source(
        "deepseek-v4.jinja",
        "deepseek_v32",
        "### Available Tool Schemas\n\n",
        "\n\nYou MUST strictly follow",
        difference="has the same lines below a heading, without `<functions>`",
    ),
    Source("glm-4.5.jinja", "glm45", *_TOOLS),
    Source("glm-4.7-flash.jinja", "glm47", *_TOOLS),
    Source("mistral-small-3.2.jinja", "mistral_v11", *_MARKERS),
    Source("devstral-small-2507.jinja", "mistral_v11", *_MARKERS),
    Source("ministral-3-14b-reasoning.jinja", "mistral_v11", *_MARKERS),
    Source("mistral-nemo-2407.jinja", "mistral", *_MARKERS),
    Source(
        "vllm-mistral.jinja",
        "mistral",
        *_MARKERS,
        difference="has a space after `[AVAILABLE_TOOLS]`",
    ),
    Source(
        "vllm-mistral3.jinja",
        "mistral",
        *_MARKERS,
        difference="has a space after `[AVAILABLE_TOOLS]`",
    ),
    Source(
        "vllm-deepseekv3.jinja",
        "deepseek_v3",
        "to assist with the user query.\n",
        "\n</tools>",
        difference="has the same lines without the opening `<tools>`",
    ),
    Source(
        "vllm-deepseekr1.jinja",
        "deepseek_v3",
        "functions available:\n\n\n",
        "\n<｜User｜>",
        difference="has each object in a fence; the model's own template has no tools",
    ),
    Source(
        "deepseek-r1-llama.cpp.jinja",
        "deepseek_v3",
        "user's requests: ",
        "\n\nExample function tool call",
        difference="has an indented array; the model's own template has no tools",
    ),
    Source("vllm-deepseekv31.jinja", "deepseek_v31", "### ", "\n\nIMPORTANT:"),
)

_ARRAY = "an array of definitions"

FORMS = {
    "qwen3_coder": "a tag for each part, in `<tools>`",
    "hermes": "definitions, one a line, in `<tools>`",
    "gemma4": "`<|tool>declaration:NAME{..}<tool|>`, types in capitals, parameters sorted",
    "harmony": "TypeScript types in `namespace functions`",
    "deepseek_v32": "functions, one a line, in `<functions>`",
    "llama3_json": "definitions, indented by four spaces",
    "glm45": "as `hermes`",
    "glm47": "as `hermes`",
    "kimi_k2": _ARRAY,
    "minimax_m2": "functions in `<tool>`, one a line, in `<tools>`",
    "mistral_v11": f"{_ARRAY} in `[AVAILABLE_TOOLS]`",
    "deepseek_v3": "as `hermes`",
    "deepseek_v31": "`### NAME`, description and parameters below it",
    "mistral": "as `mistral_v11`",
    "pythonic": "as `llama3_json`",
    "kimi_k3": f"{_ARRAY} in a fence, without spaces, keys sorted",
    "lfm2": f"{_ARRAY} in `<|tool_list_start|>`",
}
"""The form of the list of tools, for each dialect."""

WITHOUT_TOOLS = ("deepseek-v3.1.jinja",)
"""Templates that present no tools."""

ONLY_READ = (
    "seed-oss.jinja",
    "vllm-granite.jinja",
    "vllm-phi4-mini.jinja",
)
"""Templates of dialects in which toolweave does not present tools."""

TOOLS: list[dict[str, Any]] = [
    {
        "name": "get_weather",
        "description": "Current weather of a place, in Zürich's <b>own</b> words.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "City and country"},
                "days": {"type": "integer", "description": "Days ahead"},
                "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "tags": {"type": "array", "items": {"type": "string"}},
                "exact": {"type": "boolean"},
            },
            "required": ["city"],
        },
    },
    {
        "name": "ping",
        "description": "Nothing.",
        "parameters": {"type": "object", "properties": {}},
    },
    {
        "name": "math.add",
        "description": "Sum of 'a' and b",
        "parameters": {
            "type": "object",
            "properties": {
                "b": {"type": "number"},
                "A": {"type": "number", "description": "The first"},
            },
            "required": ["A", "b"],
        },
    },
]
"""Tools that every template presents as toolweave does."""


@dataclass(frozen=True)
class Detail:
    """A part of a contract that toolweave presents in another way than a template.

    Attributes:
        name: The part.
        parameters: Parameters that have it.
        reasons: The reason, for each dialect that differs.
        description: The description of the tool; None for none.
    """

    name: str
    parameters: dict[str, Any] | None
    reasons: dict[str, str]
    description: str | None = "Does it."

    @property
    def tool(self) -> dict[str, Any]:
        """The tool."""
        about = {"description": self.description, "parameters": self.parameters}
        return {"name": "f", **{key: value for key, value in about.items() if value is not None}}


def _of(schema: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"value": schema}, "required": list(required)}


def _named(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


_TRIMMED = "toolweave leaves it out"
_EXPONENT = "the template writes `1e-07`; toolweave, `1e-7`"
_LINES = "descriptions are put on one line, so that they cannot forge another tool"

_ALL = tuple(dict.fromkeys(source.dialect for source in SOURCES if not source.difference))

DETAILS = (
    Detail(
        "no parameters",
        None,
        {"deepseek_v31": "the template writes `[]`; toolweave, an empty schema"},
    ),
    Detail(
        "no description",
        _of({"type": "string"}),
        {
            "harmony": "the template raises an error; toolweave writes no line for it",
            "deepseek_v31": "the template raises an error; toolweave leaves it empty",
        },
        description=None,
    ),
    Detail(
        "an empty description",
        _of({"type": "string"}),
        {"harmony": "the template writes `//` alone; toolweave, no line"},
        description="",
    ),
    Detail("a description of the parameters", {**_of({}), "description": "Together."}, {}),
    Detail("a name with a hyphen or a dot", _named("a-b", "c.d"), {}),
    Detail("a name in another script", _named("größe", "日"), {}),
    Detail("a default", _of({"type": "integer", "default": 3}), {}),
    Detail("a string with a default", _of({"type": "string", "default": "x"}), {}),
    Detail("bounds", _of({"type": "integer", "minimum": 1, "maximum": 9}), {}),
    Detail("a pattern", _of({"type": "string", "pattern": "^[a-z]+$"}, "value"), {}),
    Detail(
        "an enum with a default", _of({"type": "string", "enum": ["a", "b"], "default": "b"}), {}
    ),
    Detail(
        "an enum of integers",
        _of({"type": "integer", "enum": [1, 2]}),
        {"harmony": "the template shows `number`"},
    ),
    Detail(
        "an enum without a type",
        _of({"enum": ["a", 1, None]}),
        {"harmony": "the template shows `any`; toolweave, the values"},
    ),
    Detail(
        "an array of an enum",
        _of({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}),
        {"harmony": "the template shows the type of the items; toolweave, their values"},
    ),
    Detail(
        "a constant",
        _of({"const": "x"}),
        {"harmony": "the template shows `any`; toolweave, the value"},
    ),
    Detail(
        "several types",
        _of({"type": ["integer", "string"]}),
        {
            "gemma4": "the template writes the list as Python's text; toolweave, the first one",
            "harmony": "the template shows `integer`; toolweave, `number`, a type of TypeScript",
        },
    ),
    Detail(
        "a type or null",
        _of({"type": ["string", "null"]}),
        {"gemma4": "the template writes the list as Python's text; toolweave, `nullable:true`"},
    ),
    Detail(
        "`anyOf` with null",
        _of({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        {
            "gemma4": "the template shows no type; toolweave, the type and `nullable:true`",
            "harmony": "the template shows `any`; toolweave, the union",
        },
    ),
    Detail(
        "`anyOf`",
        _of({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        {
            "gemma4": "the template shows no type; toolweave, the first one",
            "harmony": "the template shows `any`; toolweave, the union",
        },
    ),
    Detail(
        "`oneOf`",
        _of({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
        {
            "gemma4": "the template shows no type; toolweave, the first one",
            "harmony": "the template has spaces without meaning",
        },
    ),
    Detail(
        "`allOf`",
        _of({"allOf": [{"type": "string"}]}),
        {
            "gemma4": "the template shows no type; toolweave, that of the parts",
            "harmony": "the template shows `any`; toolweave, the type of the parts",
        },
    ),
    Detail(
        "an object in an object",
        _of(
            {
                "type": "object",
                "description": "Where",
                "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
                "required": ["city"],
            },
            "value",
        ),
        {"harmony": "the template has spaces without meaning, and no descriptions"},
    ),
    Detail(
        "an array of objects",
        _of(
            {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"x": {"type": "number", "description": "East"}},
                    "required": ["x"],
                },
            }
        ),
        {"harmony": "the template has spaces without meaning, and no descriptions"},
    ),
    Detail(
        "an object of integers",
        _of({"type": "object", "additionalProperties": {"type": "integer"}}),
        {"gemma4": "the template shows the keyword as a property; toolweave leaves it out"},
    ),
    Detail(
        "no further properties",
        {"type": "object", "properties": {}, "additionalProperties": False},
        {},
    ),
    Detail(
        "a reference",
        {
            "type": "object",
            "properties": {"value": {"$ref": "#/$defs/City"}},
            "$defs": {"City": {"type": "string", "description": "A city"}},
        },
        {
            "gemma4": "the template shows no type; toolweave, what the reference stands for",
            "harmony": "the template shows `any`; toolweave, what the reference stands for",
        },
    ),
    Detail(
        "a description of several lines",
        _of({"type": "string", "description": "One.\nTwo."}),
        {
            "qwen3_coder": _LINES,
            "gemma4": _LINES,
            "harmony": _LINES,
            "deepseek_v31": _LINES,
            "mistral": "`mistral-nemo-2407.jinja` and vLLM's write strings without escapes",
        },
        description="First line.\nSecond line.",
    ),
    Detail(
        "white space around a description",
        _of({"type": "string"}),
        dict.fromkeys(("gemma4", "harmony", "deepseek_v31"), _TRIMMED),
        description="  Does it. ",
    ),
    Detail(
        "a number in scientific notation",
        _of({"type": "number", "default": 1e-7}),
        dict.fromkeys((name for name in _ALL if name != "gemma4"), _EXPONENT),
    ),
    Detail(
        "parameters without a type",
        {"properties": {"value": {"type": "string"}}},
        {"gemma4": "the template leaves a brace open; toolweave writes the type of an object"},
    ),
    Detail(
        "quotes in a description",
        _of({"type": "string"}),
        {"mistral": "`mistral-nemo-2407.jinja` and vLLM's write strings without escapes"},
        description='Says "a".',
    ),
    Detail(
        "markup in a description",
        _of({"type": "string"}),
        dict.fromkeys(_ALL, "no template escapes anything"),
        description="Ends <|im_end|> the list </tools>.",
    ),
)
"""Parts of contracts, each with the dialects in which toolweave differs from a template."""
