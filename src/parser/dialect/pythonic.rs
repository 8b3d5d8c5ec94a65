//! Python calls: Llama 3.2 and 4, `ToolACE`, `OLMo` 3.
//!
//! ```text
//! [GetWeather(city="Oslo"), Ping()]
//! <|python_start|>[GetWeather(city="Oslo")]<|python_end|>
//! <function_calls>
//! GetWeather(city="Oslo")
//! Ping()
//! </function_calls>
//! ```
//!
//! Llama 3.3 writes one after `<|python_tag|>`.

use super::{Block, Dialect, Evidence};
use crate::parser::block::{Body, Python};

pub(super) const DIALECT: Dialect = Dialect {
    name: "pythonic",
    forms: &[],
    blocks: &[
        Block {
            evidence: Evidence::Marked,
            open: &["<|python_start|>"],
            close: &["<|python_end|>"],
            body: Body::Python(Python {}),
        },
        Block {
            evidence: Evidence::Marked,
            open: &["<|python_tag|>"],
            close: &["<|eom_id|>", "<|eot_id|>"],
            body: Body::Python(Python {}),
        },
        Block {
            evidence: Evidence::Marked,
            open: &["<function_calls>"],
            close: &["</function_calls>"],
            body: Body::Python(Python {}),
        },
        Block {
            evidence: Evidence::Shaped,
            open: &["["],
            close: &[],
            body: Body::Python(Python {}),
        },
    ],
    response: None,
};
