//! A history as messages of those who speak: calls are the assistant's, results the user's.

use super::{
    ConsolidateError, Options,
    envelope::Gathered,
    layout::{Cursor, Layout},
    turns::{Entry, Turns},
};
use crate::{
    contract::FunctionContract,
    message::{Content, Message, Role},
};

/// One message in the making. Neighbours with the same role become one, since many models want
/// the roles to alternate.
#[derive(Debug)]
struct Part {
    role: Role,
    cursor: Cursor,
    text: String,
    gathered: Gathered,
}

/// The messages of [`Form::Split`](super::Form::Split).
pub(super) fn split(
    messages: &[Message],
    tools: &[FunctionContract],
    options: Options,
) -> Result<Vec<Message>, ConsolidateError> {
    let mut layout = Layout::new(tools, options.tag, options.fenced);
    let mut parts = Parts::default();
    let mut turns = Turns::default();
    for message in messages {
        for entry in turns.push(message)? {
            write(entry, &mut layout, &mut parts);
        }
    }
    if let Some(rest) = turns.finish() {
        write(rest, &mut layout, &mut parts);
    }
    parts.close();
    Ok(parts.done)
}

/// The messages so far, and the one that can still grow.
#[derive(Debug, Default)]
struct Parts {
    growing: Option<Part>,
    done: Vec<Message>,
}

impl Parts {
    fn of(&mut self, role: Role) -> &mut Part {
        if self.growing.as_ref().is_some_and(|part| part.role != role) {
            self.close();
        }
        self.growing.get_or_insert_with(|| Part {
            role,
            cursor: Cursor::default(),
            text: String::new(),
            gathered: Gathered::default(),
        })
    }

    fn close(&mut self) {
        if let Some(Part { role, text, gathered, .. }) = self.growing.take() {
            self.done.push(gathered.into_message(role, text));
        }
    }
}

fn write(entry: Entry, layout: &mut Layout, parts: &mut Parts) {
    match entry {
        Entry::Text { text, .. } if text.is_empty() => {}
        // Instructions are the caller's own words, examples of calls among them.
        Entry::Text { envelope, text } if envelope.role == Role::System => {
            parts.close();
            parts.done.push(Message { envelope, content: Content::Text(text) });
        }
        Entry::Text { envelope, text } => {
            let role = if envelope.role == Role::Tool { Role::User } else { envelope.role };
            let part = parts.of(role);
            part.gathered.add(&envelope);
            let written = part.cursor.text(layout, &text);
            part.text.push_str(&written);
        }
        Entry::Exchange { pairs, .. } if pairs.is_empty() => {}
        Entry::Exchange { pairs, calls_by, answered_by } => {
            for (call, _) in &pairs {
                layout.learn(&call.name);
            }
            let part = parts.of(Role::Assistant);
            part.gathered.add(&calls_by);
            for (call, _) in &pairs {
                part.block(&layout.call(call));
                part.gathered.note(&call.name, Some(call), None);
            }
            let part = parts.of(Role::User);
            for envelope in &answered_by {
                part.gathered.add(envelope);
            }
            for (call, result) in &pairs {
                part.block(&layout.response(&call.name, result.as_ref()));
                part.gathered.note(&call.name, Some(call), result.as_ref());
            }
        }
        Entry::Answers { envelope, results } => {
            for result in &results {
                layout.learn(&result.name);
            }
            let part = parts.of(Role::User);
            part.gathered.add(&envelope);
            for result in &results {
                part.block(&layout.response(&result.name, Some(result)));
                part.gathered.note(&result.name, None, Some(result));
            }
        }
    }
}

impl Part {
    fn block(&mut self, block: &str) {
        let set_apart = self.role == Role::User;
        let written = self.cursor.block(block, false, set_apart);
        self.text.push_str(&written);
    }
}
