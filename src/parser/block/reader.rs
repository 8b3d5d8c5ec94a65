//! The readers of the bodies of blocks, one for each kind.

use super::{
    Body, Syntax, bare_keys, envelopes, harmony, headed, pairs, parameters, python, react,
    step::{Input, Step},
};
use crate::parser::dialect::Block;

/// The reader of a body.
#[derive(Clone, Debug)]
pub(super) enum Reader {
    Envelopes(envelopes::Reader),
    Headed(headed::Reader),
    Parameters(parameters::Reader),
    Pairs(pairs::Reader),
    Python(python::Reader),
    BareKeys(bare_keys::Reader),
    React(react::Reader),
    Harmony(harmony::Reader),
    Stray,
}

impl Reader {
    /// Create a reader for the position after the opener.
    pub(super) fn new(block: Block, max_depth: usize) -> Self {
        match block.body {
            Body::Envelopes(body) => {
                Self::Envelopes(envelopes::Reader::new(block, body, max_depth))
            }
            Body::Headed(body) => Self::Headed(headed::Reader::new(block, body, max_depth)),
            Body::Parameters(body) => {
                Self::Parameters(parameters::Reader::new(block, body, max_depth))
            }
            Body::Pairs(body) => Self::Pairs(pairs::Reader::new(block, body, max_depth)),
            Body::Python(body) => Self::Python(python::Reader::new(block, body, max_depth)),
            Body::BareKeys(body) => Self::BareKeys(bare_keys::Reader::new(block, body, max_depth)),
            Body::React(body) => Self::React(react::Reader::new(block, body, max_depth)),
            Body::Harmony(body) => Self::Harmony(harmony::Reader::new(body, max_depth)),
            Body::Stray => Self::Stray,
        }
    }

    /// Return true if a body of this form begins with `bytes`, which follow the opener and white
    /// space; `None` if more bytes are needed.
    pub(super) fn begins(block: Block, bytes: &[u8]) -> Option<bool> {
        match block.body {
            Body::Envelopes(body) => envelopes::Reader::begins(block, body, bytes),
            Body::Headed(body) => headed::Reader::begins(block, body, bytes),
            Body::Parameters(body) => parameters::Reader::begins(block, body, bytes),
            Body::Pairs(body) => pairs::Reader::begins(block, body, bytes),
            Body::Python(body) => python::Reader::begins(block, body, bytes),
            Body::BareKeys(body) => bare_keys::Reader::begins(block, body, bytes),
            Body::React(body) => react::Reader::begins(block, body, bytes),
            Body::Harmony(_) | Body::Stray => Some(true),
        }
    }

    /// Read from `*pos` on, up to the next step, and advance `*pos` past the bytes read.
    pub(super) fn read(&mut self, input: Input<'_>, pos: &mut usize) -> Step {
        match self {
            Self::Envelopes(reader) => reader.read(input, pos),
            Self::Headed(reader) => reader.read(input, pos),
            Self::Parameters(reader) => reader.read(input, pos),
            Self::Pairs(reader) => reader.read(input, pos),
            Self::Python(reader) => reader.read(input, pos),
            Self::BareKeys(reader) => reader.read(input, pos),
            Self::React(reader) => reader.read(input, pos),
            Self::Harmony(reader) => reader.read(input, pos),
            Self::Stray => Step::Damaged(*pos),
        }
    }

    /// Advance past `bytes`, which begin at `pos`, if all of them can be reported as payload.
    /// Otherwise return false and change nothing.
    pub(super) fn try_extend(&mut self, bytes: &[u8], pos: usize) -> bool {
        match self {
            Self::Envelopes(reader) => reader.try_extend(bytes, pos),
            Self::Headed(reader) => reader.try_extend(bytes, pos),
            Self::Parameters(reader) => reader.try_extend(bytes, pos),
            Self::Pairs(reader) => reader.try_extend(bytes, pos),
            Self::Python(reader) => reader.try_extend(bytes, pos),
            Self::BareKeys(reader) => reader.try_extend(bytes, pos),
            Self::React(reader) => reader.try_extend(bytes, pos),
            Self::Harmony(reader) => reader.try_extend(bytes, pos),
            Self::Stray => false,
        }
    }

    /// Return the start of what may be the end of the payload, or of an incomplete escape.
    pub(super) fn held(&self) -> Option<usize> {
        match self {
            Self::Envelopes(reader) => reader.held(),
            Self::Headed(reader) => reader.held(),
            Self::Parameters(reader) => reader.held(),
            Self::Pairs(reader) => reader.held(),
            Self::Python(reader) => reader.held(),
            Self::BareKeys(reader) => reader.held(),
            Self::React(reader) => reader.held(),
            Self::Harmony(reader) => reader.held(),
            Self::Stray => None,
        }
    }

    /// Return the syntax of the payload.
    pub(super) fn syntax(&self) -> Syntax {
        match self {
            Self::Envelopes(reader) => reader.syntax(),
            Self::Headed(reader) => reader.syntax(),
            Self::Parameters(reader) => reader.syntax(),
            Self::Pairs(reader) => reader.syntax(),
            Self::Python(reader) => reader.syntax(),
            Self::BareKeys(reader) => reader.syntax(),
            Self::React(reader) => reader.syntax(),
            Self::Harmony(_) | Self::Stray => Syntax::Json,
        }
    }

    /// Return true if a code fence was opened before the payload.
    pub(super) fn fenced(&self) -> bool {
        match self {
            Self::Headed(reader) => reader.fenced(),
            Self::Harmony(reader) => reader.fenced(),
            _ => false,
        }
    }

    /// Return true if the payload is JSON except for surrogate escapes without a partner.
    pub(super) fn lone_surrogates(&self) -> bool {
        match self {
            Self::Envelopes(reader) => reader.lone_surrogates(),
            Self::Headed(reader) => reader.lone_surrogates(),
            Self::Parameters(reader) => reader.lone_surrogates(),
            Self::Pairs(reader) => reader.lone_surrogates(),
            Self::Python(reader) => reader.lone_surrogates(),
            Self::BareKeys(reader) => reader.lone_surrogates(),
            Self::React(reader) => reader.lone_surrogates(),
            Self::Harmony(reader) => reader.lone_surrogates(),
            Self::Stray => false,
        }
    }
}
