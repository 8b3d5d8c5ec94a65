//! Objects with bare keys: Gemma 4.
//!
//! ```text
//! <|tool_call>call:GetWeather{city:<|"|>Oslo<|"|>,days:3}<tool_call|>
//! ```
//!
//! The server's results stand between `<|tool_response>` and `<tool_response|>` in the same turn, so
//! that models write them as well.

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Evidence, IdForm, ResultMarkup, Teaching, ToolList,
    Values, Writing,
};
use crate::parser::block::{BareKeys, Body};

/// The texts that open and close a block.
type Marks = [&'static [&'static str]; 2];

/// The blocks of calls and of results, with this text before and after a string.
pub(super) const fn blocks(quote: &'static str, call: Marks, response: Marks) -> [Block; 3] {
    let body = BareKeys { lead: "call:", quote, result: false };
    let result = BareKeys { lead: "response:", quote, result: true };
    [
        block(Evidence::Marked, call, body),
        block(Evidence::Stripped, [&["call:"], &[]], body),
        block(Evidence::Marked, response, result),
    ]
}

const fn block(evidence: Evidence, [open, close]: Marks, body: BareKeys) -> Block {
    Block { evidence, open, close, body: Body::BareKeys(body) }
}

const BLOCKS: [Block; 3] = blocks(
    "<|\"|>",
    [&["<|tool_call>"], &["<tool_call|>"]],
    [&["<|tool_response>"], &["<tool_response|>"]],
);

pub(super) const DIALECT: Dialect = Dialect {
    name: "gemma4",
    forms: &[],
    blocks: &BLOCKS,
    response: None,
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "",
        open: "",
        before: "<|tool_call>call:{name}",
        arguments: ArgumentMarkup::BareKeys { quote: "<|\"|>" },
        after: "<tool_call|>",
        separator: "",
        close: "",
    },
    results: ResultMarkup::joined(
        "<|tool_response>response:{name}{value:<|\"|>",
        "<|\"|>}<tool_response|>",
    ),
    ids: IdForm::None,
    markers: &[
        "<|tool_call>",
        "<tool_call|>",
        "<|tool_response>",
        "<tool_response|>",
        "<|tool>",
        "<tool|>",
        "<|\"|>",
        "<|turn>",
        "<turn|>",
        "<|channel>",
        "<channel|>",
        "<|think|>",
        "<bos>",
        "<eos>",
    ],
};

const TEACHING: Teaching =
    Teaching { tools: ToolList::Declarations, values: Values::Quoted, ..Teaching::DEFAULT };
