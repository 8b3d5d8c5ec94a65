//! Pairs of tags without newlines: GLM 4.7 and 5, Ling 3, Laguna.
//!
//! ```text
//! <tool_call>GetWeather<arg_key>city</arg_key><arg_value>Oslo</arg_value></tool_call>
//! ```
//!
//! The form of [`glm45`](super::glm45), with newlines, is read as well.

use super::{Block, Dialect, Evidence};
use crate::parser::block::{Body, Pairs};

pub(super) const DIALECT: Dialect = Dialect {
    name: "glm47",
    forms: &[],
    blocks: &[Block {
        evidence: Evidence::Marked,
        open: &["<tool_call>"],
        close: &["</tool_call>"],
        body: Body::Pairs(Pairs { wrapped: false, suffixed: false }),
    }],
    response: Some("tool_response"),
};
