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

use super::{Block, Dialect, Evidence};
use crate::parser::block::{Body, Pairs};

pub(super) const DIALECT: Dialect = Dialect {
    name: "glm45",
    forms: &[],
    blocks: &[Block {
        evidence: Evidence::Marked,
        open: &["<tool_call>"],
        close: &["</tool_call>"],
        body: Body::Pairs(Pairs { wrapped: false, suffixed: false }),
    }],
    response: Some("tool_response"),
};
