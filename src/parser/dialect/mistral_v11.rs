//! Mistral Small 3.1 and later, Magistral, Devstral, Ministral 3.
//!
//! ```text
//! [TOOL_CALLS]GetWeather[ARGS]{"city": "Oslo"}
//! ```

use super::{Block, Dialect, Evidence};
use crate::parser::block::{Body, Headed, Header, Mark};

const MARKS: &[(&str, Mark)] =
    &[("[TOOL_CALLS]", Mark::Begin), ("[CALL_ID]", Mark::Id), ("[ARGS]", Mark::Arguments)];

const fn block(evidence: Evidence, open: &'static [&'static str], opened: bool) -> Block {
    let body = Body::Headed(Headed { marks: MARKS, header: Header::Name, opened });
    Block { evidence, open, close: &[], body }
}

pub(super) const DIALECT: Dialect = Dialect {
    name: "mistral_v11",
    forms: &[],
    blocks: &[
        block(Evidence::Marked, &["[TOOL_CALLS]"], true),
        block(Evidence::Stripped, &["{name}{"], false),
    ],
    response: None,
};
