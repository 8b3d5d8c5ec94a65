//! Python calls or JSON between special tokens: LFM2 and LFM2.5.
//!
//! ```text
//! <|tool_call_start|>[GetWeather(city="Oslo")]<|tool_call_end|>
//! ```

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Evidence, IdForm, JsonList, ResultMarkup, Several,
    Teaching, ToolList, Writing,
};
use crate::parser::block::{Body, Envelopes, Python};

pub(super) const DIALECT: Dialect = Dialect {
    name: "lfm2",
    forms: &[],
    blocks: &[
        Block {
            evidence: Evidence::Marked,
            open: &["<|tool_call_start|>"],
            close: &["<|tool_call_end|>"],
            body: Body::Python(Python {}),
        },
        Block {
            evidence: Evidence::Marked,
            open: &["<|tool_call_start|>"],
            close: &["<|tool_call_end|>"],
            body: Body::Envelopes(Envelopes { list: true, ..Envelopes::OPENAI }),
        },
        Block {
            evidence: Evidence::Stripped,
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
        lead: "",
        open: "<|tool_call_start|>[",
        before: "{name}(",
        arguments: ArgumentMarkup::Python,
        after: ")",
        separator: ", ",
        close: "]<|tool_call_end|>",
    },
    results: ResultMarkup::lines("<|tool_response_start|>", "<|tool_response_end|>"),
    ids: IdForm::None,
    markers: &[
        "<|tool_call_",
        "<|tool_response_",
        "<|tool_list_",
        "<|startoftext|>",
        "<|im_start|>",
        "<|im_end|>",
        "<|endoftext|>",
    ],
};

const TEACHING: Teaching = Teaching {
    tools: ToolList::Json(JsonList::array(
        "List of tools: <|tool_list_start|>[",
        "]<|tool_list_end|>",
    )),
    several: Several::OneList,
    ..Teaching::DEFAULT
};
