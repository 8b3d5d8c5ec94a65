//! What the fuzz targets make of the bytes that they are given.
//!
//! A fuzzer changes bytes; a target needs replies, cuts, options, schemas. The readings here are
//! total, so that no change is wasted: every byte string is an [`Input`] and, by [`json`], a
//! schema and a value that may fit it.

pub mod json;
mod pieces;
mod text;

pub use self::text::Input;
