//! Reading of one reply: inline calls and native calls, under one numbering.
//!
//! A reply mixes two forms: text, in which the [`parser`](crate::parser) finds calls, and
//! [`Fragment`]s of native calls, which are assembled here. A [`Reader`] accepts both and reports
//! them alike, as [`Frame`](crate::parser::Frame)s of the parser. Every call has one start and one
//! end, and its index is its position among all calls of the reply.
//!
//! ```
//! use toolweave::{
//!     parser::{Ending, Frame, Parser},
//!     reply::{Fragment, Options, Reader},
//! };
//!
//! let parser = Parser::new(["Add"], Default::default())?;
//! let mut reader = Reader::new(parser, Options::default());
//! let mut calls = Vec::new();
//! let mut sink = |frame: Frame<'_>| {
//!     if let Frame::CallEnd(found) = frame {
//!         calls.push(format!("{} {} {}", found.index, found.name, found.payload));
//!     }
//! };
//! reader.text("Both ways: <Add>{\"a\": 1}</Add>", &mut sink);
//! let begin = Fragment { id: Some("x"), name: Some("Add"), ..Fragment::default() };
//! reader.fragment(begin, &mut sink);
//! reader.fragment(Fragment { arguments: Some("{\"a\": 2}"), ..begin }, &mut sink);
//! reader.finish(Ending::Complete, &mut sink);
//! assert_eq!(calls, ["0 Add {\"a\": 1}", "1 Add {\"a\": 2}"]);
//! # Ok::<(), toolweave::parser::GrammarError>(())
//! ```

mod escape;
mod fragment;
mod native;
mod reader;
#[cfg(test)]
mod recovery_tests;
#[cfg(test)]
mod tests;

pub use self::{
    fragment::{Fragment, FragmentProblem},
    reader::{Options, Reader},
};
