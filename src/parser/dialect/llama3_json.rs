//! Bare JSON, with or without a token before it: Llama 3.1 to 3.3.
//!
//! ```text
//! <|python_tag|>{"name": "GetWeather", "parameters": {"city": "Oslo"}}
//! ```
//!
//! Several calls are separated by semicolons.

use super::{Block, Dialect, Evidence};
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
};
