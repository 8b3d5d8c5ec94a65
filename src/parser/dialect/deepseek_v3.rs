//! `DeepSeek` V3 and R1. A type, always `function`, stands where V3.1 has the name.
//!
//! ````text
//! <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>GetWeather
//! ```json
//! {"city": "Oslo"}
//! ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//! ````

use super::{
    ArgumentMarkup, Block, CallMarkup, Dialect, Evidence, IdForm, ResultMarkup, Several, Teaching,
    Writing,
};
use crate::parser::block::{Body, Boundary, Headed, Header, Mark};

const MARKS: &[(&str, Mark)] = &[
    ("<｜tool▁call▁begin｜>", Mark::Begin),
    ("<｜tool▁sep｜>", Mark::Arguments),
    ("<｜tool▁call▁end｜>", Mark::End),
];

const fn block(
    evidence: Evidence,
    open: &'static [&'static str],
    header: Header,
    opened: bool,
) -> Block {
    let body = Body::Headed(Headed { marks: MARKS, header, opened });
    Block { evidence, open, close: &["<｜tool▁calls▁end｜>"], body }
}

/// The marked and the stripped blocks with this kind of header.
pub(super) const fn blocks(header: Header, stripped: &'static [&'static str]) -> [Block; 4] {
    [
        block(Evidence::Marked, &["<｜tool▁calls▁begin｜>"], header, false),
        block(Evidence::Marked, &["<｜tool▁call▁begin｜>"], header, true),
        Block {
            evidence: Evidence::Marked,
            open: &["<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"],
            close: &[],
            body: Body::Boundary(Boundary { next: &[] }),
        },
        block(Evidence::Stripped, stripped, header, false),
    ]
}

const ALL: [Block; 4] = blocks(Header::Typed, &["function"]);

/// The marked blocks, which V3.1 writes as well.
pub(super) const BLOCKS: [Block; 2] = [ALL[0], ALL[1]];

pub(super) const DIALECT: Dialect = Dialect {
    name: "deepseek_v3",
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
        before: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n",
        arguments: ArgumentMarkup::Json,
        after: "\n```<｜tool▁call▁end｜>",
        separator: "\n",
        close: "<｜tool▁calls▁end｜>",
    },
    results: ResultMarkup {
        open: "<｜tool▁outputs▁begin｜>",
        close: "<｜tool▁outputs▁end｜>",
        ..ResultMarkup::lines("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>")
    },
    ids: IdForm::None,
    markers: MARKERS,
};

/// The markers of both versions.
pub(super) const MARKERS: &[&str] = &[
    "<｜tool▁calls▁",
    "<｜tool▁call▁",
    "<｜tool▁sep｜>",
    "<｜tool▁outputs▁",
    "<｜tool▁output▁",
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<｜User｜>",
    "<｜Assistant｜>",
];

const TEACHING: Teaching = Teaching { several: Several::OneBlock, ..Teaching::DEFAULT };
