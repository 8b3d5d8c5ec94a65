//! What a provider sends of a native call, and what may be odd about it.

use crate::message::ToolCallUpdate;

/// A fragment of a native call, borrowed. An empty text is none.
///
/// The fragments of a call are held together by its id or, where only the first one has it, by
/// the index. One with neither goes on with the latest call, unless it has a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fragment<'a> {
    /// The call's id.
    pub id: Option<&'a str>,
    /// The provider's number for the call.
    pub index: Option<usize>,
    /// The tool's name, or the next piece of it. A repetition of the whole is tolerated.
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

/// Something about a fragment that no provider should send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FragmentProblem<'a> {
    /// Its call had ended. The arguments, if there are any, are discarded.
    Late {
        /// The call's position in the reply.
        call: usize,
        /// The call's id, if the provider gave one.
        id: Option<&'a str>,
    },
    /// It names another tool after the arguments have begun. The first name stays.
    Renamed {
        /// The call's position in the reply.
        call: usize,
        /// The call's id, if the provider gave one.
        id: Option<&'a str>,
        /// The name that stays; empty where the arguments came before any.
        name: &'a str,
        /// The name that does not count.
        other: &'a str,
    },
}
