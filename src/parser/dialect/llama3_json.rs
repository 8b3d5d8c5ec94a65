//! Bare JSON, with or without a token before it: Llama 3.1 to 3.3.
//!
//! ```text
//! <|python_tag|>{"name": "GetWeather", "parameters": {"city": "Oslo"}}
//! ```
//!
//! Several calls are separated by semicolons.

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Evidence, IdForm, JsonList, ResultContent,
    ResultMarkup, Several, Teaching, ToolList, Writing,
};
use crate::parser::block::{Body, Envelopes};

pub(super) const DIALECT: Dialect = Dialect {
    name: "llama3_json",
    forms: &[],
    blocks: &[
        Block {
            evidence: Evidence::Marked,
            open: &["<|python_tag|>"],
            close: &["<|eom_id|>", "<|eot_id|>"],
            body: Body::Envelopes(Envelopes::OPENAI),
        },
        Block {
            evidence: Evidence::Shaped,
            open: &["{"],
            close: &[],
            body: Body::Envelopes(Envelopes { list: false, ..Envelopes::OPENAI }),
        },
    ],
    response: None,
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "\n",
        open: "",
        before: "{\"name\": \"{name}\", \"parameters\": ",
        arguments: ArgumentMarkup::Json,
        after: "}",
        separator: "; ",
        close: "",
    },
    results: RESULTS,
    ids: IdForm::None,
    markers: &[
        "<|python_tag|>",
        "<|python_start|>",
        "<|python_end|>",
        "<|start_header_id|>",
        "<|end_header_id|>",
        "<|header_start|>",
        "<|header_end|>",
        "<|eot_id|>",
        "<|eom_id|>",
        "<|eot|>",
        "<|eom|>",
        "<|begin_of_text|>",
        "<|end_of_text|>",
    ],
};

/// The markup of results of all versions.
pub(super) const RESULTS: ResultMarkup =
    ResultMarkup { content: ResultContent::JsonString, ..ResultMarkup::lines("", "") };

const TEACHING: Teaching = Teaching {
    tools: ToolList::Json(JsonList::INDENTED),
    several: Several::Semicolons,
    text_before: false,
    ..Teaching::DEFAULT
};
