//! Structured inputs for the fuzz targets.
//!
//! A fuzzer mutates bytes; a target needs replies, chunks, options and schemas. The conversions are
//! total, so that no mutation is wasted: every byte string is an [`Input`] and, by [`json`], a
//! schema and a value that may match it.

pub mod json;
mod pieces;
mod text;

pub use self::text::Input;
