//! JSON arrays in tags: Llama-Nemotron, Nemotron Nano 2, Jamba, Hunyuan A13B, Apertus.
//!
//! ```text
//! <TOOLCALL>[{"name": "GetWeather", "arguments": {"city": "Oslo"}}]</TOOLCALL>
//! ```

use super::{Block, Dialect, Evidence};
use crate::parser::block::{Body, Envelopes};

/// The form of Jamba and Hunyuan A13B, and of `MiniMax` M1.
pub(super) const CALLS: Block = tagged(&["<tool_calls>"], &["</tool_calls>"], Envelopes::OPENAI);

pub(super) const DIALECT: Dialect = Dialect {
    name: "nemotron",
    forms: &[],
    blocks: &[
        tagged(&["<TOOLCALL>"], &["</TOOLCALL>"], Envelopes::OPENAI),
        CALLS,
        // Apertus writes `{"GetWeather": {"city": "Oslo"}}`.
        tagged(
            &["<|tools_prefix|>"],
            &["<|tools_suffix|>"],
            Envelopes { keyed: true, ..Envelopes::OPENAI },
        ),
    ],
    response: None,
    writing: None,
    teaching: None,
};

const fn tagged(
    open: &'static [&'static str],
    close: &'static [&'static str],
    body: Envelopes,
) -> Block {
    Block { evidence: Evidence::Marked, open, close, body: Body::Envelopes(body) }
}
