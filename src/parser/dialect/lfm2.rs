//! Python calls or JSON between special tokens: LFM2 and LFM2.5.
//!
//! ```text
//! <|tool_call_start|>[GetWeather(city="Oslo")]<|tool_call_end|>
//! ```

use super::{Block, Dialect, Evidence};
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
};
