//! Objects with bare keys: Gemma 4.
//!
//! ```text
//! <|tool_call>call:GetWeather{city:<|"|>Oslo<|"|>,days:3}<tool_call|>
//! ```
//!
//! The server's results stand between `<|tool_response>` and `<tool_response|>` in the same turn, so
//! that models write them as well.

use super::{Block, Dialect, Evidence};
use crate::parser::block::{BareKeys, Body};

pub(super) const DIALECT: Dialect = Dialect {
    name: "gemma4",
    forms: &[],
    blocks: &[
        Block {
            evidence: Evidence::Marked,
            open: &["<|tool_call>"],
            close: &["<tool_call|>"],
            body: Body::BareKeys(CALL),
        },
        Block {
            evidence: Evidence::Stripped,
            open: &["call:"],
            close: &[],
            body: Body::BareKeys(CALL),
        },
        Block {
            evidence: Evidence::Marked,
            open: &["<|tool_response>"],
            close: &["<tool_response|>"],
            body: Body::BareKeys(BareKeys { lead: "response:", result: true, ..CALL }),
        },
    ],
    response: None,
};

const CALL: BareKeys = BareKeys { lead: "call:", quote: "<|\"|>", result: false };
