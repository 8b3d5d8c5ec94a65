//! `DeepSeek` V3.1.
//!
//! ```text
//! <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>GetWeather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//! ```

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, IdForm, ResultMarkup, Several, Teaching, ToolList,
    Writing, deepseek_v3,
};
use crate::parser::block::Header;

const ALL: [Block; 4] = deepseek_v3::blocks(Header::Untyped, &["{name}{"]);

/// The marked blocks, which V3 writes as well.
pub(super) const BLOCKS: [Block; 2] = [ALL[0], ALL[1]];

pub(super) const DIALECT: Dialect = Dialect {
    name: "deepseek_v31",
    forms: &[],
    blocks: &ALL,
    response: None,
    writing: Some(&WRITING),
    teaching: Some(&TEACHING),
};

const WRITING: Writing = Writing {
    calls: CallMarkup {
        lead: "",
        open: "<｜tool▁calls▁begin｜>",
        before: "<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>",
        arguments: ArgumentMarkup::Json,
        after: "<｜tool▁call▁end｜>",
        separator: "",
        close: "<｜tool▁calls▁end｜>",
    },
    results: ResultMarkup::joined("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
    ids: IdForm::None,
    markers: deepseek_v3::MARKERS,
};

const TEACHING: Teaching =
    Teaching { tools: ToolList::Headings, several: Several::OneBlock, ..Teaching::DEFAULT };
