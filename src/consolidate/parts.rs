//! The messages of a consolidated history, with their roles and boundaries.

use super::{
    Form,
    dialect_layout::{DialectLayout, Frame, Kind, Round},
    envelope::{EnvelopeMerger, call_notes_mut},
    layout::{Cursor, End, Layout},
    responses::only_responses,
    rounds::{dialect_of, forget_places, moved},
    streamed_text::StreamedText,
};
use crate::message::{Content, Envelope, Message, Role, ToolCall, ToolResult};

/// The messages so far. The last one grows as long as its party continues, since many models
/// require alternating roles.
#[derive(Debug)]
pub(super) struct Parts {
    form: Form,
    layout: Layout,
    all: Vec<Part>,
    /// Envelopes of messages without text, until the next text of their party.
    pending_envelopes: Vec<Envelope>,
}

/// A message under construction.
#[derive(Debug)]
struct Part {
    /// `None` while it holds only results, which may join the next turn of either party.
    role: Option<Role>,
    cursor: Cursor,
    /// The text at the end, while it grows.
    streamed_text: Option<StreamedText>,
    /// The round of calls or results at the end, while it grows.
    round: Option<Round>,
    text: String,
    merger: EnvelopeMerger,
    /// True if it contains anything but results.
    has_content: bool,
    /// The system's text, which stays unchanged.
    instructions: Option<Envelope>,
}

impl Part {
    fn new(role: Option<Role>, instructions: Option<Envelope>) -> Self {
        Self {
            role,
            cursor: Cursor::default(),
            streamed_text: None,
            round: None,
            text: String::new(),
            merger: EnvelopeMerger::default(),
            has_content: false,
            instructions,
        }
    }

    /// Append a block, and note whether the line break before it belongs to the preceding text. If
    /// that text is a line break, or ends with several, no separator was added.
    fn block(&mut self, block: &str, ruled: bool, orphan: bool) {
        let line = self.text.strip_suffix('\n').filter(|_| self.cursor.follows_break());
        let is_own = line.is_some_and(|line| !line.is_empty() && !line.ends_with('\n'));
        self.merger.note_break(is_own);
        self.cursor.block(block, ruled, orphan, &mut self.text);
    }

    /// Begin a call or a result in a round, and return its position there.
    fn begin_in_round(&mut self, dialect: &DialectLayout, kind: Kind) -> usize {
        if let Some(round) = self.round.as_mut().filter(|round| round.kind == kind) {
            self.text.push_str(dialect.frame(kind).separator);
            round.count += 1;
            return round.count - 1;
        }
        self.close_round(Some(dialect));
        let Frame { lead, open, .. } = dialect.frame(kind);
        let from = self.text.len();
        self.text.push_str(match self.cursor.end {
            End::Nothing => "",
            End::Text { .. } => missing(lead, &self.text),
            End::Block => "\n",
        });
        self.text.push_str(open);
        self.cursor.end = End::Block;
        self.round = Some(Round { kind, from, first_note: self.merger.noted(), count: 1 });
        0
    }

    /// Close the round at the end, if there is one.
    fn close_round(&mut self, dialect: Option<&DialectLayout>) {
        if let (Some(round), Some(dialect)) = (self.round.take(), dialect) {
            self.text.push_str(dialect.frame(round.kind).close);
            self.merger.note_round(round.first_note, round.from, self.text.len());
        }
    }

    /// Add a call in a dialect.
    fn call_in(&mut self, dialect: &mut DialectLayout, call: &ToolCall) {
        let position = self.begin_in_round(dialect, Kind::Calls);
        let (written, note) = dialect.call(call, position);
        self.text.push_str(&written);
        self.merger.note(&call.id, &call.name, Some(call), None);
        self.merger.note_written(note);
    }

    /// Add the result of a call, given by its id and name, in a dialect.
    fn result_in(
        &mut self,
        dialect: &DialectLayout,
        call: (&str, &str),
        result: Option<&ToolResult>,
    ) {
        let position = self.begin_in_round(dialect, Kind::Results);
        let (written, note) = dialect.result(call, result, position);
        self.text.push_str(&written);
        self.merger.note(call.0, call.1, None, result);
        self.merger.note_written(note);
    }

    /// Add natural text, which is in the dialect unless it was written in another.
    fn natural_in(&mut self, dialect: &DialectLayout, envelope: &mut Envelope, text: &str) {
        let DialectLayout { markup, .. } = dialect;
        let is_foreign = turn_role(envelope.role) != Role::Assistant;
        let is_own =
            dialect_of(&envelope.metadata).is_some_and(|own| own.dialect() == markup.dialect());
        self.text.push_str(self.cursor.line_break());
        let from = self.text.len();
        let notes = call_notes_mut(&mut envelope.metadata);
        if !is_own {
            forget_places(notes);
        }
        self.text.push_str(&moved(text, notes, markup, from, is_foreign));
        self.cursor.end = End::Text { broken: text.ends_with('\n') };
    }

    fn into_message(mut self, layout: &Layout) -> Message {
        self.close_round(layout.dialect.as_ref());
        if let Some(dialect) = &layout.dialect {
            self.merger.note_dialect(dialect.markup.dialect());
        }
        match self.instructions {
            Some(envelope) => Message { envelope, content: Content::Text(self.text) },
            None => self.merger.into_message(self.role.unwrap_or(Role::User), self.text),
        }
    }
}

/// Return the role that models see: results and tools count as the user.
const fn turn_role(role: Role) -> Role {
    match role {
        Role::Assistant => Role::Assistant,
        Role::System | Role::User | Role::Tool => Role::User,
    }
}

impl Parts {
    pub(super) fn new(form: Form, layout: Layout) -> Self {
        Self { form, layout, all: Vec::new(), pending_envelopes: Vec::new() }
    }

    pub(super) const fn form(&self) -> Form {
        self.form
    }

    /// Return the current length, for [`since`](Self::since).
    pub(super) fn length(&self) -> (usize, usize) {
        (self.all.len(), self.all.last().map_or(0, |part| part.text.len()))
    }

    /// Return the text that was added since then, of all messages.
    pub(super) fn since(&self, (parts, bytes): (usize, usize)) -> String {
        let Some(last) = parts.checked_sub(1) else {
            return self.all.iter().map(|part| part.text.as_str()).collect();
        };
        let mut text = self.all[last].text[bytes..].to_owned();
        text.extend(self.all[parts..].iter().map(|part| part.text.as_str()));
        text
    }

    pub(super) fn messages(&self) -> Vec<Message> {
        let whole = |part: &Part| Part {
            cursor: part.cursor,
            streamed_text: None,
            round: part.round,
            text: part.text.clone(),
            merger: part.merger.clone(),
            instructions: part.instructions.clone(),
            ..*part
        };
        self.all
            .iter()
            .filter(|part| !part.text.is_empty())
            .map(whole)
            .map(|part| part.into_message(&self.layout))
            .collect()
    }

    pub(super) fn into_messages(self) -> Vec<Message> {
        let written = self.all.into_iter().filter(|part| !part.text.is_empty());
        written.map(|part| part.into_message(&self.layout)).collect()
    }

    /// Return the message that `role` continues, or a new one. Results without calls have no role.
    fn part(&mut self, role: Option<Role>) -> &mut Part {
        let is_open = self.all.last().is_some_and(|part| {
            part.instructions.is_none()
                && (part.role == role || part.role.is_none() || role.is_none())
        });
        if !is_open {
            self.close_round();
            self.all.push(Part::new(role, None));
        }
        let at = self.all.len() - 1;
        let part = &mut self.all[at];
        part.role = part.role.or(role);
        part
    }

    /// Return the message that `role` continues, as [`part`](Self::part) does, for anything but
    /// results.
    fn content_part(&mut self, role: Role) -> &mut Part {
        let pending_envelopes = std::mem::take(&mut self.pending_envelopes);
        let part = self.part(Some(role));
        part.has_content = true;
        for envelope in pending_envelopes {
            if turn_role(envelope.role) == role {
                part.merger.note_unwritten(envelope);
            }
        }
        part
    }

    /// Return the role of results without calls.
    fn results_role(&self) -> Option<Role> {
        (self.form != Form::Single).then_some(Role::User)
    }

    /// Close the round at the end, if there is one.
    pub(super) fn close_round(&mut self) {
        if let Some(part) = self.all.last_mut() {
            part.close_round(self.layout.dialect.as_ref());
        }
    }

    /// Add a system text.
    pub(super) fn add_instructions(&mut self, envelope: Envelope, text: String) {
        self.pending_envelopes.clear();
        self.close_round();
        let mut part = Part::new(Some(Role::System), Some(envelope));
        part.text = text;
        self.all.push(part);
    }

    /// Add a complete text of the assistant or the user.
    pub(super) fn add_text(&mut self, mut envelope: Envelope, text: &str) {
        let role = turn_role(envelope.role);
        let natural = envelope.natural;
        self.content_part(role);
        self.close_round();
        let Self { layout, all, .. } = self;
        let Some(part) = all.last_mut() else { return };
        let noted = part.merger.noted();
        if let Some(dialect) = layout.dialect.as_ref().filter(|_| natural) {
            part.natural_in(dialect, &mut envelope, text);
            return part.merger.add(envelope);
        }
        part.merger.add(envelope);
        if natural {
            if role == Role::Assistant {
                part.cursor.natural(text, &mut part.text);
            } else {
                part.cursor.natural(&only_responses(text, layout.names()), &mut part.text);
            }
            for name in part.merger.names_from(noted) {
                layout.learn(name);
            }
        } else {
            part.cursor.text(layout, text, &mut part.text);
        }
    }

    /// Add a piece of a text of the assistant, until [`pause`](Self::pause).
    pub(super) fn stream(&mut self, piece: &str) {
        if piece.is_empty() {
            return;
        }
        self.content_part(Role::Assistant);
        self.close_round();
        let Self { layout, all, .. } = self;
        let Some(part) = all.last_mut() else { return };
        let streamed_text = part
            .streamed_text
            .get_or_insert_with(|| StreamedText::begin(part.cursor, layout, &mut part.text));
        streamed_text.push(piece, layout, &mut part.text);
    }

    /// End the growing text, if any.
    pub(super) fn pause(&mut self) {
        if let Some(part) = self.all.last_mut()
            && let Some(streamed_text) = part.streamed_text.take()
        {
            part.cursor = streamed_text.end(&self.layout, &mut part.text);
        }
    }

    /// Record the envelope of a message that is not written.
    pub(super) fn note_unwritten(&mut self, envelope: Envelope) {
        let role = turn_role(envelope.role);
        for part in self.all.iter_mut().rev() {
            if part.role == Some(role) && part.instructions.is_none() {
                return part.merger.note_unwritten(envelope);
            }
            if part.has_content || part.instructions.is_some() {
                break;
            }
        }
        self.pending_envelopes.push(envelope);
    }

    /// Add the envelope of the message whose calls are written next.
    pub(super) fn begin_calls(&mut self, envelope: Envelope) {
        self.content_part(Role::Assistant).merger.add(envelope);
    }

    /// Write in the current message, in a dialect.
    fn in_dialect(&mut self, write: impl FnOnce(&mut Part, &mut DialectLayout)) {
        let Self { layout, all, .. } = self;
        if let (Some(part), Some(dialect)) = (all.last_mut(), &mut layout.dialect) {
            write(part, dialect);
        }
    }

    /// Add a call whose result is written elsewhere.
    pub(super) fn call(&mut self, call: &ToolCall) {
        self.layout.learn(&call.name);
        if self.layout.dialect.is_some() {
            self.content_part(Role::Assistant);
            return self.in_dialect(|part, dialect| part.call_in(dialect, call));
        }
        let block = self.layout.call(call);
        let part = self.content_part(Role::Assistant);
        part.block(&block, false, false);
        part.merger.note(&call.id, &call.name, Some(call), None);
    }

    /// Add a call and its result.
    pub(super) fn pair(&mut self, call: &ToolCall, result: Option<&ToolResult>) {
        self.layout.learn(&call.name);
        if self.layout.dialect.is_some() {
            self.content_part(Role::Assistant);
            return self.in_dialect(|part, dialect| {
                part.close_round(Some(dialect));
                part.call_in(dialect, call);
                part.result_in(dialect, (&call.id, &call.name), result);
            });
        }
        let block =
            format!("{}\n{}", self.layout.call(call), self.layout.response(&call.name, result));
        let part = self.content_part(Role::Assistant);
        part.block(&block, true, false);
        part.merger.note(&call.id, &call.name, Some(call), result);
    }

    /// Add the envelopes of the messages whose results are written next, and of their calls.
    pub(super) fn begin_results(&mut self, envelopes: impl IntoIterator<Item = Envelope>) {
        let role = if self.form == Form::Single { Role::Assistant } else { Role::User };
        let part = self.part(Some(role));
        for envelope in envelopes {
            if turn_role(envelope.role) == Role::Assistant && role == Role::User {
                part.merger.answer(envelope);
            } else {
                part.merger.add(envelope);
            }
        }
    }

    /// Add the result of a call that has been written.
    pub(super) fn answer(&mut self, call: &ToolCall, result: Option<&ToolResult>) {
        if self.layout.dialect.is_some() {
            self.part(Some(Role::User));
            return self.in_dialect(|part, dialect| {
                part.result_in(dialect, (&call.id, &call.name), result);
            });
        }
        let block = self.layout.response(&call.name, result);
        let part = self.part(Some(Role::User));
        part.block(&block, false, true);
        part.merger.note(&call.id, &call.name, None, result);
    }

    /// Add results whose calls are already answered, or unknown.
    pub(super) fn unmatched_results(&mut self, envelope: Option<Envelope>, results: &[ToolResult]) {
        if results.is_empty() {
            return;
        }
        for result in results {
            self.layout.learn(&result.name);
        }
        let ruled = self.form == Form::Single;
        let role = self.results_role();
        self.part(role).merger.add(envelope.unwrap_or_else(|| Envelope::new(Role::Tool)));
        for result in results {
            if self.layout.dialect.is_some() {
                let call = (&*result.tool_call_id, &*result.name);
                self.in_dialect(|part, dialect| part.result_in(dialect, call, Some(result)));
                continue;
            }
            let block = self.layout.response(&result.name, Some(result));
            let part = self.part(role);
            part.block(&block, ruled, true);
            part.merger.note(&result.tool_call_id, &result.name, None, Some(result));
        }
    }
}

/// Return the part of `lead`, which consists of line breaks, that a text does not end with.
fn missing<'l>(lead: &'l str, text: &str) -> &'l str {
    let breaks = text.len() - text.trim_end_matches('\n').len();
    &lead[breaks.min(lead.len())..]
}
