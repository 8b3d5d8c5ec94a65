//! Forms of other dialects that the models of a dialect write as well.

use super::{Block, Dialect, anthropic_xml, deepseek_v3, deepseek_v31, nemotron, qwen3_coder};

impl Dialect {
    /// Return these forms. They count after the forms of all dialects, so that a call has the name of
    /// the dialect whose form it is, if that is read.
    pub(in crate::parser) fn also(&self) -> &'static [Block] {
        match self.name {
            "deepseek_v3" => &deepseek_v31::BLOCKS,
            "deepseek_v31" => &deepseek_v3::BLOCKS,
            "minimax_m2" => &[anthropic_xml::BARE, nemotron::CALLS],
            "seed_oss" => &[qwen3_coder::BARE],
            _ => &[],
        }
    }
}
