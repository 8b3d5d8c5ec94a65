//! The markup in which the calls and results of a history are written, as data.
//!
//! What stands around the arguments is a text in which `{name}` stands for the name of the tool and
//! `{id}` for the id of the call, in the form that the family knows. The module `markup` reads this.

/// The markup of the calls and results of a history, as the family's chat template writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    /// The calls, in the assistant's text.
    pub calls: CallMarkup,
    /// Their results, in the text of the next turn.
    pub results: ResultMarkup,
    /// The form of ids.
    pub ids: IdForm,
    /// The beginnings of all texts that have a meaning in a prompt of the family: tags and special
    /// tokens of calls, results and turns. Foreign text must not contain them.
    pub markers: &'static [&'static str],
}

/// The markup of calls. All that follow each other without text make one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallMarkup {
    /// The text between preceding text and a round.
    pub lead: &'static str,
    /// The text before a round.
    pub open: &'static str,
    /// The text before the arguments of a call.
    pub before: &'static str,
    /// The arguments.
    pub arguments: ArgumentMarkup,
    /// The text after the arguments of a call.
    pub after: &'static str,
    /// The text between two calls of a round.
    pub separator: &'static str,
    /// The text after a round.
    pub close: &'static str,
}

/// The markup of the arguments of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentMarkup {
    /// A JSON object.
    Json,
    /// A text for each argument.
    Members(MemberMarkup),
    /// The keyword arguments of a Python call.
    Python,
    /// An object with bare keys, sorted; its strings stand between these quotes and have no escapes.
    BareKeys {
        /// The text before and after a string.
        quote: &'static str,
    },
}

/// The markup of one argument, whose value is the text of a string, or JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberMarkup {
    /// The text before the value. `{key}` stands for the name of the argument, `{type}` for its
    /// JSON type, and `{string}` for `true` if it is a string, else `false`.
    pub before: &'static str,
    /// The text after the value.
    pub after: &'static str,
    /// True to write `true`, `false` and `null` as Python does.
    pub python: bool,
}

/// The markup of results. Those of one turn make one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultMarkup {
    /// The text before a round.
    pub open: &'static str,
    /// The text before the content of a result.
    pub before: &'static str,
    /// The content.
    pub content: ResultContent,
    /// The text after the content of a result.
    pub after: &'static str,
    /// The text between two results of a round.
    pub separator: &'static str,
    /// The text after a round.
    pub close: &'static str,
}

impl ResultMarkup {
    /// Return the markup of results that are texts, each on lines of its own.
    pub(super) const fn lines(before: &'static str, after: &'static str) -> Self {
        Self { separator: "\n", ..Self::joined(before, after) }
    }

    /// Return the markup of results that are texts and follow each other directly.
    pub(super) const fn joined(before: &'static str, after: &'static str) -> Self {
        let content = ResultContent::Text;
        Self { open: "", before, content, after, separator: "", close: "" }
    }
}

/// The content of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultContent {
    /// The text, with all markers neutralised.
    Text,
    /// A JSON string of the text.
    JsonString,
    /// The text if it is JSON, else a JSON string of it.
    Json,
}

/// The form of the ids of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdForm {
    /// Ids are not written; results belong to calls by their order.
    None,
    /// `functions.NAME:INDEX`, counted from 0 over the whole history.
    Counted,
    /// Nine characters of `a-zA-Z0-9`.
    Nine,
    /// The position of the call in its round, counted from 1.
    Position,
}
