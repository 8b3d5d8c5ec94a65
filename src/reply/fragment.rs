//! Fragments of native calls, and their defects.

use crate::message::ToolCallUpdate;

/// A fragment of a native call, borrowed. Empty text counts as none.
///
/// The fragments of a call have the same id or, where only the first one has an id, the same index.
/// A fragment with neither continues the latest call, unless it has a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The call's id.
    pub id: Option<&'a str>,
    /// The provider's number for the call.
    pub index: Option<usize>,
    /// The tool's name, or the next piece of it. A repetition of the whole name is tolerated.
    pub name: Option<&'a str>,
    /// The next piece of the text of the arguments.
    pub arguments: Option<&'a str>,
}

impl<'a> From<&'a ToolCallUpdate> for Fragment<'a> {
    fn from(update: &'a ToolCallUpdate) -> Self {
        Self {
            id: update.tool_call_id.as_deref(),
            index: update.index,
            name: update.function_name.as_deref(),
            arguments: update.function_args.as_deref(),
        }
    }
}

/// A defect of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentProblem<'a> {
    /// The call of the fragment had ended; its arguments are discarded.
    Late {
        /// The call's position in the reply.
        call: usize,
        /// The call's id, if the provider gave one.
        id: Option<&'a str>,
    },
    /// The fragment names another tool after the arguments have begun; the first name stays.
    Renamed {
        /// The call's position in the reply.
        call: usize,
        /// The call's id, if the provider gave one.
        id: Option<&'a str>,
        /// The name that stays; empty if the arguments came before any name.
        name: &'a str,
        /// The name that is ignored.
        other: &'a str,
    },
}
