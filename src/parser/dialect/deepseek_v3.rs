//! `DeepSeek` V3 and R1. A type, always `function`, stands where V3.1 has the name.
//!
//! ````text
//! <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>GetWeather
//! ```json
//! {"city": "Oslo"}
//! ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//! ````

use super::{Block, Dialect, Evidence};
use crate::parser::block::{Body, Headed, Header, Mark};

const MARKS: &[(&str, Mark)] = &[
    ("<｜tool▁call▁begin｜>", Mark::Begin),
    ("<｜tool▁sep｜>", Mark::Arguments),
    ("<｜tool▁call▁end｜>", Mark::End),
];

pub(super) const fn block(
    evidence: Evidence,
    open: &'static [&'static str],
    opened: bool,
) -> Block {
    let body = Body::Headed(Headed { marks: MARKS, header: Header::Typed, opened });
    Block { evidence, open, close: &["<｜tool▁calls▁end｜>"], body }
}

/// The blocks of V3 and of V3.1, whose calls are read under either name.
pub(super) const BLOCKS: [Block; 3] = [
    block(Evidence::Marked, &["<｜tool▁calls▁begin｜>"], false),
    block(Evidence::Marked, &["<｜tool▁call▁begin｜>"], true),
    Block {
        evidence: Evidence::Marked,
        open: &["<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>"],
        close: &[],
        body: Body::Stray,
    },
];

const WITH_STRIPPED: [Block; 4] =
    [BLOCKS[0], BLOCKS[1], BLOCKS[2], block(Evidence::Stripped, &["function"], false)];

pub(super) const DIALECT: Dialect =
    Dialect { name: "deepseek_v3", forms: &[], blocks: &WITH_STRIPPED, response: None };
