//! Validation and repair of calls.
//!
//! The [`parser`](crate::parser) finds calls, the [`validator`](crate::validator) validates values
//! and [`repair`](crate::repair) repairs them. [`CallValidator`] combines these, for any
//! representation of values ([`Backend`]); [`Reader`] applies it to a streamed reply.
//!
//! ```
//! use serde_json::json;
//! use toolweave::{calls::{Event, Options, read}, contract::FunctionContract};
//!
//! let mut add = FunctionContract::new("Add")?;
//! add.parameters = Some(json!({
//!     "type": "object",
//!     "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
//!     "required": ["a", "b"],
//! }));
//! let events = read("<Add>{'a': 15, 'b': \"27\",}</Add>", &[add], Options::default())?;
//! let Some(Event::ToolCall(call)) = events.last() else { panic!("{events:?}") };
//! assert_eq!(call.arguments, json!({"a": 15, "b": 27}));
//! assert!(!call.repairs.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arguments;
mod backend;
mod event;
mod json;
mod reader;
mod validator;

#[cfg(feature = "python")]
pub(crate) use self::arguments::object_json;
pub use self::{
    arguments::{Argument, ArgumentValue},
    backend::Backend,
    event::{Event, InvalidKind, InvalidToolCall, RepairMode},
    reader::{JsonValues, Options, Reader, ReaderError, read},
    validator::{CallOutcome, CallValidator, Tool},
};
