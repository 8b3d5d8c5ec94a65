//! Limits on what a reply may contain.

use thiserror::Error;

/// Bounds on what a parser accepts and buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum nesting depth of a call's arguments; the object itself is level 1. At most 128.
    pub max_depth: usize,
    /// The largest payload of one call, in bytes.
    pub max_argument_bytes: usize,
    /// The largest invalid payload that is repaired, in bytes.
    pub max_repair_bytes: usize,
    /// The longest tag, run of white space next to a payload, first line of a fence, and body that
    /// is not JSON, in bytes. At least 16.
    pub max_tag_bytes: usize,
    /// Maximum number of calls in a reply.
    pub max_calls: usize,
}

impl Limits {
    /// The largest value of `max_depth`.
    pub const DEPTH_CEILING: usize = 128;
    /// The smallest value of `max_tag_bytes`.
    pub const TAG_FLOOR: usize = 16;

    /// Check that the limits are in range.
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

/// A limit that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LimitError {
    /// `max_depth` is out of range.
    #[error("max_depth must be between 1 and 128, got {given}")]
    Depth {
        /// The value given.
        given: usize,
    },
    /// `max_tag_bytes` is too small.
    #[error("max_tag_bytes must be at least 16, got {given}")]
    Tag {
        /// The value given.
        given: usize,
    },
}
