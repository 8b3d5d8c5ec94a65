//! Limits for reading a `tools.xml`. Real files have a few dozen tools in as many kilobytes.

/// Maximum size of a file, in bytes.
pub(super) const MAX_BYTES: usize = 64 << 20;
/// Maximum size of the text of an element, or of an attribute, in bytes.
pub(super) const MAX_TEXT: usize = 1 << 20;
/// Maximum nesting depth of elements.
pub(super) const MAX_DEPTH: usize = 64;
/// Maximum number of elements, comments and instructions in a file.
pub(super) const MAX_NODES: usize = 1_000_000;
/// Maximum number of attributes of an element.
pub(super) const MAX_ATTRIBUTES: usize = 64;
/// Maximum number of arguments of a tool.
pub(super) const MAX_ARGUMENTS: usize = 256;
/// Maximum nesting depth of a `returnStruc`.
pub(super) const MAX_STRUCTURE_DEPTH: usize = 64;
/// Maximum number of types with declared parents.
pub(super) const MAX_DECLARED_TYPES: usize = 1_000;
/// Maximum number of parents that a type declares.
pub(super) const MAX_PARENTS: usize = 8;
/// Maximum number of ancestors of a type, including itself.
pub(super) const MAX_ANCESTORS: usize = 64;
/// Maximum number of diagnostics.
pub(super) const MAX_DIAGNOSTICS: usize = 1_000;
