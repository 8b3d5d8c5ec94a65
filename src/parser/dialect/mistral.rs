//! A token before a JSON array: Mistral 7B v0.3, Nemo, Large 2.
//!
//! ```text
//! [TOOL_CALLS] [{"name": "GetWeather", "arguments": {"city": "Oslo"}, "id": "Ab3dE6gH9"}]
//! ```

use super::{Block, Dialect, Evidence};
use crate::parser::block::{Body, Envelopes};

pub(super) const DIALECT: Dialect = Dialect {
    name: "mistral",
    forms: &[],
    blocks: &[
        Block {
            evidence: Evidence::Marked,
            open: &["[TOOL_CALLS]"],
            close: &["[/TOOL_CALLS]"],
            body: Body::Envelopes(Envelopes::OPENAI),
        },
        Block {
            evidence: Evidence::Stripped,
            open: &["["],
            close: &[],
            body: Body::Envelopes(Envelopes::OPENAI),
        },
    ],
    response: None,
};
