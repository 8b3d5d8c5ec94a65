//! JSON in tags: Qwen2.5, Qwen3, QwQ, Hermes 2 and 3, Granite 4, SmolLM3; with other tags
//! `LongCat`, `IQuest` and granite-20b-functioncalling.
//!
//! ```text
//! <tool_call>
//! {"name": "GetWeather", "arguments": {"city": "Oslo"}}
//! </tool_call>
//! ```

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Evidence, IdForm, ResultMarkup, Teaching, Writing,
};
use crate::parser::block::{Body, Envelopes};

pub(super) const DIALECT: Dialect = Dialect {
    name: "hermes",
    forms: &[],
    blocks: &[
        tagged(&["<tool_call>"], &["</tool_call>"]),
        tagged(&["<longcat_tool_call>"], &["</longcat_tool_call>"]),
        tagged(&["<iquest_tool_call>"], &["</iquest_tool_call>"]),
        // Written without a closing tag by granite-20b-functioncalling.
        tagged(&["<function_call>"], &["</function_call>"]),
        // A small Qwen2.5 repeats the tag around the tools of its prompt, but it may also quote
        // them.
        Block {
            evidence: Evidence::Shaped,
            open: &["<tools>"],
            close: &["</tools>"],
            body: Body::Envelopes(Envelopes {
                arguments: &["arguments"],
                nested: &[],
                other: &[],
                lead: "<tools>",
                ..Envelopes::OPENAI
            }),
        },
    ],
    response: Some("tool_response"),
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const fn tagged(open: &'static [&'static str], close: &'static [&'static str]) -> Block {
    Block { evidence: Evidence::Marked, open, close, body: Body::Envelopes(Envelopes::OPENAI) }
}

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "\n",
        open: "",
        before: "<tool_call>\n{\"name\": \"{name}\", \"arguments\": ",
        arguments: ArgumentMarkup::Json,
        after: "}\n</tool_call>",
        separator: "\n",
        close: "",
    },
    results: ResultMarkup::lines("<tool_response>\n", "\n</tool_response>"),
    ids: IdForm::None,
    markers: &[
        "<tool_call",
        "</tool_call",
        "<tool_response",
        "</tool_response",
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
    ],
};

const TEACHING: Teaching = Teaching::DEFAULT;
