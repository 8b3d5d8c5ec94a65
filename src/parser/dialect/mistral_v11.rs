//! Mistral Small 3.1 and later, Magistral, Devstral, Ministral 3.
//!
//! ```text
//! [TOOL_CALLS]GetWeather[ARGS]{"city": "Oslo"}
//! ```

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Evidence, IdForm, ResultMarkup, Teaching, Writing,
    mistral,
};
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
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "",
        open: "",
        before: "[TOOL_CALLS]{name}[ARGS]",
        arguments: ArgumentMarkup::Json,
        after: "",
        separator: "",
        close: "",
    },
    results: ResultMarkup::joined("[TOOL_RESULTS]", "[/TOOL_RESULTS]"),
    ids: IdForm::None,
    markers: &[
        "[ARGS]",
        "[CALL_ID]",
        "[TOOL_CONTENT]",
        "[THINK]",
        "[/THINK]",
        "[TOOL_CALLS]",
        "[/TOOL_CALLS]",
        "[TOOL_RESULTS]",
        "[/TOOL_RESULTS]",
        "[AVAILABLE_TOOLS]",
        "[/AVAILABLE_TOOLS]",
        "[INST]",
        "[/INST]",
        "[SYSTEM_PROMPT]",
        "[/SYSTEM_PROMPT]",
        "<s>",
        "</s>",
    ],
};

const TEACHING: Teaching = Teaching { tools: mistral::TOOLS, ..Teaching::DEFAULT };
