//! The value of JSON that is still being written.
//!
//! A [`PartialReader`] is given a text in chunks and reports, as [`Edit`]s, what is certain about the
//! value that [`repair_json`](super::repair_json()) and [`coerce`](super::coerce()) will make of the
//! whole. A value that is built from the edits only grows: objects and arrays get more members and
//! items, the open string gets longer, and nothing else changes. Numbers, literals and keys appear
//! when they are complete. What is not certain appears at the end, when the whole text is read.
//!
//! ```
//! use std::sync::Arc;
//!
//! use serde_json::json;
//! use toolweave::repair::{PartialReader, PartialSchema, PartialValue};
//!
//! let schema = PartialSchema::new(json!({"properties": {"days": {"type": "integer"}}}));
//! let mut reader = PartialReader::new(Arc::new(schema), 128, 1 << 20);
//! let mut partial = PartialValue::default();
//! reader.push("Here it is:\n{city: 'Os", &mut |edit| partial.apply(edit));
//! assert_eq!(partial.value(), Some(&json!({"city": "Os"})));
//! reader.push("lo', days: \"4\", ", &mut |edit| partial.apply(edit));
//! assert_eq!(partial.value(), Some(&json!({"city": "Oslo"})));
//! // The quote after the 4 could be part of the string until the next key.
//! reader.push("unit: ", &mut |edit| partial.apply(edit));
//! assert_eq!(partial.value(), Some(&json!({"city": "Oslo", "days": 4})));
//! ```

mod ending;
mod escape;
mod place;
mod reader;
mod schema;
mod state;
#[cfg(test)]
mod tests;
mod value;

pub use self::{
    reader::PartialReader,
    schema::PartialSchema,
    value::{Container, Edit, PartialValue, Step},
};
