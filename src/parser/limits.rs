//! What a reply may cost.

use thiserror::Error;

/// Bounds on what a parser accepts and remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How deep the arguments of a call may be nested; the object itself is level 1.
    /// At most 128.
    pub max_depth: usize,
    /// The largest payload of one call, in bytes.
    pub max_argument_bytes: usize,
    /// The largest payload that is mended when it is broken, in bytes.
    pub max_repair_bytes: usize,
    /// The longest tag, the longest run of white space beside a payload, the longest first line
    /// of a fence and the longest body that is no JSON, in bytes. At least 16.
    pub max_tag_bytes: usize,
    /// Number of calls that a reply may make.
    pub max_calls: usize,
}

impl Limits {
    /// The deepest nesting that can be allowed.
    pub const DEPTH_CEILING: usize = 128;
    /// The shortest tag limit that can be set.
    pub const TAG_FLOOR: usize = 16;

    /// Return true if these bounds can be kept.
    pub fn check(&self) -> Result<(), LimitError> {
        if !(1..=Self::DEPTH_CEILING).contains(&self.max_depth) {
            return Err(LimitError::Depth { given: self.max_depth });
        }
        if self.max_tag_bytes < Self::TAG_FLOOR {
            return Err(LimitError::Tag { given: self.max_tag_bytes });
        }
        Ok(())
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_depth: Self::DEPTH_CEILING,
            max_argument_bytes: 1 << 20,
            max_repair_bytes: 1 << 20,
            max_tag_bytes: 512,
            max_calls: 1000,
        }
    }
}

/// A bound that cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LimitError {
    /// The depth is out of range.
    #[error("max_depth must be between 1 and 128, not {given}")]
    Depth {
        /// What was asked for.
        given: usize,
    },
    /// Tags would not fit.
    #[error("max_tag_bytes must be at least 16, not {given}")]
    Tag {
        /// What was asked for.
        given: usize,
    },
}
