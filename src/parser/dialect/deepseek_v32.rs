//! One tag for each argument, which says whether it is a string: DeepSeek V3.2, V4 and V4.1.
//!
//! ```text
//! <｜DSML｜function_calls>
//! <｜DSML｜invoke name="GetWeather">
//! <｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>
//! </｜DSML｜invoke>
//! </｜DSML｜function_calls>
//! ```
//!
//! V4 has another name for the block, V4.1 a blank in each tag, and the models mix them.

use super::{Block, Dialect, Evidence, anthropic_xml};
use crate::parser::block::{Body, CallTags, Parameters};

const CALLS: &[CallTags] = &[invoke!("｜DSML｜"), invoke!("｜DSML｜ ")];

const OPEN: &[&str] = &[
    "<｜DSML｜function_calls>",
    "<｜DSML｜tool_calls>",
    "<｜DSML｜ calls>",
    "<｜DSML｜toolcalls>",
    "<｜DSML｜ function_calls>",
    "<｜DSML｜ tool_calls>",
    "<｜DSML｜calls>",
];

const CLOSE: &[&str] = &[
    "</｜DSML｜function_calls>",
    "</｜DSML｜tool_calls>",
    "</｜DSML｜ calls>",
    "</｜DSML｜toolcalls>",
    "</｜DSML｜ function_calls>",
    "</｜DSML｜ tool_calls>",
    "</｜DSML｜calls>",
];

/// A call without a block around it.
const fn bare(open: &'static [&'static str]) -> Block {
    let body = Parameters { calls: CALLS, begun: true, ..Parameters::DEFAULT };
    Block { evidence: Evidence::Marked, open, close: CLOSE, body: Body::Parameters(body) }
}

pub(super) const DIALECT: Dialect = Dialect {
    name: "deepseek_v32",
    forms: &[],
    blocks: &[
        Block {
            evidence: Evidence::Marked,
            open: OPEN,
            close: CLOSE,
            body: Body::Parameters(Parameters { calls: CALLS, ..Parameters::DEFAULT }),
        },
        bare(&["<｜DSML｜invoke "]),
        bare(&["<｜DSML｜ invoke "]),
        // The token between the bars removed.
        Block {
            evidence: Evidence::Stripped,
            open: &["<function_calls>", "<tool_calls>", "<invoke name="],
            close: &["</function_calls>", "</tool_calls>"],
            body: Body::Parameters(Parameters {
                calls: &[anthropic_xml::INVOKE],
                registered: true,
                ..Parameters::DEFAULT
            }),
        },
    ],
    response: Some("function_results"),
};
