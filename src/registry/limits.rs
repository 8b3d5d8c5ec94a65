//! How much of a `tools.xml` is read. Real ones have some dozens of tools in as many kilobytes.

/// Bytes of a file.
pub(super) const MAX_BYTES: usize = 64 << 20;
/// Bytes of the text of an element, or of an attribute.
pub(super) const MAX_TEXT: usize = 1 << 20;
/// Elements inside one another.
pub(super) const MAX_DEPTH: usize = 64;
/// Elements, comments and instructions of a file.
pub(super) const MAX_NODES: usize = 1_000_000;
/// Attributes of an element.
pub(super) const MAX_ATTRIBUTES: usize = 64;
/// Arguments of a tool.
pub(super) const MAX_ARGUMENTS: usize = 256;
/// Levels of a `returnStruc`.
pub(super) const MAX_STRUCTURE_DEPTH: usize = 64;
/// Types that declare parents of their own.
pub(super) const MAX_DECLARED_TYPES: usize = 1_000;
/// Parents that a type declares.
pub(super) const MAX_PARENTS: usize = 8;
/// Ancestors of a type, itself included.
pub(super) const MAX_ANCESTORS: usize = 64;
/// Diagnostics that are kept.
pub(super) const MAX_DIAGNOSTICS: usize = 1_000;
