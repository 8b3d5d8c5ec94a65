//! A token before a JSON array: Mistral 7B v0.3, Nemo, Large 2.
//!
//! ```text
//! [TOOL_CALLS] [{"name": "GetWeather", "arguments": {"city": "Oslo"}, "id": "Ab3dE6gH9"}]
//! ```

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Evidence, IdForm, JsonList, ResultContent,
    ResultMarkup, Several, Teaching, ToolList, Writing,
};
use crate::parser::block::{Body, Envelopes};

const ENVELOPES: Envelopes = Envelopes { late_id: true, ..Envelopes::OPENAI };

pub(super) const DIALECT: Dialect = Dialect {
    name: "mistral",
    forms: &[],
    blocks: &[
        Block {
            evidence: Evidence::Marked,
            open: &["[TOOL_CALLS]"],
            close: &["[/TOOL_CALLS]"],
            body: Body::Envelopes(ENVELOPES),
        },
        Block {
            evidence: Evidence::Stripped,
            open: &["["],
            close: &[],
            body: Body::Envelopes(ENVELOPES),
        },
    ],
    response: None,
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "",
        open: "[TOOL_CALLS][",
        before: "{\"name\": \"{name}\", \"arguments\": ",
        arguments: ArgumentMarkup::Json,
        after: ", \"id\": \"{id}\"}",
        separator: ", ",
        close: "]",
    },
    results: ResultMarkup {
        open: "",
        before: "[TOOL_RESULTS]{\"content\": ",
        content: ResultContent::Json,
        after: ", \"call_id\": \"{id}\"}[/TOOL_RESULTS]",
        separator: "",
        close: "",
    },
    ids: IdForm::Nine,
    markers: &[
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

/// The list of tools in the prompts of all versions.
pub(super) const TOOLS: ToolList =
    ToolList::Json(JsonList::array("[AVAILABLE_TOOLS][", "][/AVAILABLE_TOOLS]"));

const TEACHING: Teaching =
    Teaching { tools: TOOLS, several: Several::OneList, ..Teaching::DEFAULT };
