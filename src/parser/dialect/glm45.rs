//! Pairs of tags on lines of their own: GLM 4.5 and 4.6.
//!
//! ```text
//! <tool_call>GetWeather
//! <arg_key>city</arg_key>
//! <arg_value>Oslo</arg_value>
//! </tool_call>
//! ```
//!
//! The form of [`glm47`](super::glm47), without newlines, is read as well.

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Evidence, IdForm, MemberMarkup, ResultMarkup,
    Teaching, Values, Writing,
};
use crate::parser::block::{Body, Envelopes, Pairs};

/// The blocks of all versions.
pub(super) const BLOCKS: [Block; 2] = [
    block(Body::Pairs(Pairs { wrapped: false, suffixed: false })),
    block(Body::Envelopes(Envelopes { nested: &["function", "tool"], ..Envelopes::OPENAI })),
];

const fn block(body: Body) -> Block {
    Block { evidence: Evidence::Marked, open: &["<tool_call>"], close: &["</tool_call>"], body }
}

pub(super) const DIALECT: Dialect = Dialect {
    name: "glm45",
    forms: &[],
    blocks: &BLOCKS,
    response: Some("tool_response"),
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "\n",
        open: "",
        before: "<tool_call>{name}\n",
        arguments: ArgumentMarkup::Members(MemberMarkup {
            before: "<arg_key>{key}</arg_key>\n<arg_value>",
            after: "</arg_value>\n",
            python: false,
        }),
        after: "</tool_call>",
        separator: "\n",
        close: "",
    },
    results: ResultMarkup::lines("<tool_response>\n", "\n</tool_response>"),
    ids: IdForm::None,
    markers: MARKERS,
};

/// The markers of all versions.
pub(super) const MARKERS: &[&str] = &[
    "<tool_call",
    "</tool_call",
    "<tool_response",
    "</tool_response",
    "<arg_key",
    "</arg_key",
    "<arg_value",
    "</arg_value",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|observation|>",
    "<|endoftext|>",
    "[gMASK]",
    "<sop>",
];

pub(super) const TEACHING: Teaching = Teaching { values: Values::Text, ..Teaching::DEFAULT };
