//! Python calls: Llama 3.2 and 4, `ToolACE`, `OLMo` 3.
//!
//! ```text
//! [GetWeather(city="Oslo"), Ping()]
//! <|python_start|>[GetWeather(city="Oslo")]<|python_end|>
//! <function_calls>
//! GetWeather(city="Oslo")
//! Ping()
//! </function_calls>
//! ```
//!
//! Llama 3.3 writes one after `<|python_tag|>`.

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Evidence, IdForm, JsonList, Several, Teaching,
    ToolList, Writing, llama3_json,
};
use crate::parser::block::{Body, Python};

pub(super) const DIALECT: Dialect = Dialect {
    name: "pythonic",
    forms: &[],
    blocks: &[
        Block {
            evidence: Evidence::Marked,
            open: &["<|python_start|>"],
            close: &["<|python_end|>"],
            body: Body::Python(Python {}),
        },
        Block {
            evidence: Evidence::Marked,
            open: &["<|python_tag|>"],
            close: &["<|eom_id|>", "<|eot_id|>"],
            body: Body::Python(Python {}),
        },
        Block {
            evidence: Evidence::Marked,
            open: &["<function_calls>"],
            close: &["</function_calls>"],
            body: Body::Python(Python {}),
        },
        Block {
            evidence: Evidence::Shaped,
            open: &["["],
            close: &[],
            body: Body::Python(Python {}),
        },
    ],
    response: None,
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "\n",
        open: "[",
        before: "{name}(",
        arguments: ArgumentMarkup::Python,
        after: ")",
        separator: ", ",
        close: "]",
    },
    results: llama3_json::RESULTS,
    ids: IdForm::None,
    markers: &[
        "<function_calls",
        "</function_calls",
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

const TEACHING: Teaching = Teaching {
    tools: ToolList::Json(JsonList::INDENTED),
    several: Several::OneList,
    text_before: false,
    ..Teaching::DEFAULT
};
