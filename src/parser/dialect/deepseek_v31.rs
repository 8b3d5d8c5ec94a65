//! `DeepSeek` V3.1.
//!
//! ```text
//! <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>GetWeather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//! ```

use super::{
    Block, Dialect, Evidence,
    deepseek_v3::{BLOCKS, block},
};

const WITH_STRIPPED: [Block; 4] =
    [BLOCKS[0], BLOCKS[1], BLOCKS[2], block(Evidence::Stripped, &["{name}{"], false)];

pub(super) const DIALECT: Dialect =
    Dialect { name: "deepseek_v31", forms: &[], blocks: &WITH_STRIPPED, response: None };
