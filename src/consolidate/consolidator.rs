//! A history as one text, message by message.

use super::{
    ConsolidateError,
    envelope::Gathered,
    layout::{Cursor, Layout},
    turns::{Entry, Pair, Turns},
};
use crate::{
    contract::{FunctionContract, Tag},
    message::{Message, Role, ToolResult},
};

/// Writes a history down while it grows.
///
/// What [`push`](Self::push) and [`finish`](Self::finish) return, joined, is the text of the
/// one message that [`consolidate`](super::consolidate) makes of the same messages. Calls are
/// written when their results are known, or when something else follows.
#[derive(Debug)]
pub struct Consolidator {
    layout: Layout,
    cursor: Cursor,
    turns: Turns,
    gathered: Gathered,
    text: String,
    speakers: Speakers,
    is_finished: bool,
}

/// Who said what is in the text.
#[derive(Debug, Default)]
struct Speakers {
    has_calls: bool,
    has_results: bool,
    texts: Texts,
}

/// Whose the texts are.
#[derive(Clone, Copy, Debug, Default)]
enum Texts {
    #[default]
    None,
    Of(Role),
    Mixed,
}

impl Speakers {
    fn add_text(&mut self, role: Role) {
        self.texts = match self.texts {
            Texts::None => Texts::Of(role),
            Texts::Of(known) if known == role => Texts::Of(role),
            Texts::Of(_) | Texts::Mixed => Texts::Mixed,
        };
    }

    /// The assistant, unless it has no part in it.
    fn role(&self) -> Role {
        match self.texts {
            Texts::Of(role) if !self.has_calls => role,
            Texts::None if self.has_results && !self.has_calls => Role::User,
            _ => Role::Assistant,
        }
    }
}

impl Consolidator {
    /// A consolidator for a model that knows `tools`.
    pub fn new(tools: &[FunctionContract], tag: Tag, fenced: bool) -> Self {
        Self {
            layout: Layout::new(tools, tag, fenced),
            cursor: Cursor::default(),
            turns: Turns::default(),
            gathered: Gathered::default(),
            text: String::new(),
            speakers: Speakers::default(),
            is_finished: false,
        }
    }

    /// Takes the next message and returns the text that is now certain. A message that is
    /// refused leaves everything as it was.
    pub fn push(&mut self, message: &Message) -> Result<String, ConsolidateError> {
        if self.is_finished {
            return Err(ConsolidateError::Finished { index: self.turns.taken() });
        }
        let entries = self.turns.push(message)?;
        Ok(self.write(entries))
    }

    /// Ends the history and returns the rest of the text: calls that are still pending. Nothing
    /// the second time.
    pub fn finish(&mut self) -> String {
        self.is_finished = true;
        let rest = self.turns.finish();
        self.write(rest)
    }

    /// The text so far as a message with the metadata of all that went into it; None if there
    /// is no text.
    pub fn message(&self) -> Option<Message> {
        let role = self.speakers.role();
        let text = (!self.text.is_empty()).then(|| self.text.clone())?;
        Some(self.gathered.clone().into_message(role, text))
    }

    fn write(&mut self, entries: impl IntoIterator<Item = Entry>) -> String {
        let mut written = String::new();
        for entry in entries {
            match entry {
                Entry::Text { envelope, text } => {
                    if !text.is_empty() {
                        self.speakers.add_text(envelope.role);
                        self.gathered.add(&envelope);
                    }
                    written.push_str(&self.cursor.text(&self.layout, &text));
                }
                Entry::Exchange { pairs, calls_by, answered_by } => {
                    self.gathered.add(&calls_by);
                    // An aggregate is one message, though it answers its own calls.
                    for envelope in answered_by.iter().filter(|envelope| **envelope != calls_by) {
                        self.gathered.add(envelope);
                    }
                    self.write_pairs(&pairs, &mut written);
                }
                Entry::Answers { envelope, results } => {
                    self.gathered.add(&envelope);
                    self.write_answers(&results, &mut written);
                }
            }
        }
        self.text.push_str(&written);
        written
    }

    fn write_pairs(&mut self, pairs: &[Pair], written: &mut String) {
        for (call, _) in pairs {
            self.layout.learn(&call.name);
        }
        for (call, result) in pairs {
            self.speakers.has_calls = true;
            let response = self.layout.response(&call.name, result.as_ref());
            let block = format!("{}\n{response}", self.layout.call(call));
            written.push_str(&self.cursor.block(&block, true, false));
            self.gathered.note(&call.name, Some(call), result.as_ref());
        }
    }

    fn write_answers(&mut self, results: &[ToolResult], written: &mut String) {
        for result in results {
            self.layout.learn(&result.name);
        }
        for result in results {
            self.speakers.has_results = true;
            let block = self.layout.response(&result.name, Some(result));
            written.push_str(&self.cursor.block(&block, true, true));
            self.gathered.note(&result.name, None, Some(result));
        }
    }
}
