//! Calls and results, read back from the text that [`consolidate`](super::consolidate) writes.
//!
//! This reads our own layout and nothing else: tags that stand on lines of their own, one pass
//! over the lines. Whatever is not laid out so is text. For what models write there is the
//! parser.

use std::collections::HashSet;

use serde_json::Value;

use super::{
    envelope::{Note, Notes, of_part},
    escape::{attribute_value, restore},
    json::read_object,
    layout::{ERROR, PENDING, RULE},
};
use crate::{
    contract::{FunctionContract, TOOL_CALL, TOOL_RESPONSE},
    message::{Content, Envelope, Message, Role, ToolCall, ToolResult},
};

/// The messages that `message` was consolidated from, as far as they can be told: texts, calls
/// and results in their order. Calls and results have the ids, durations, error codes and exact
/// spelling that the metadata keeps; without it the ids are `call_0`, `call_1`, ...
///
/// Calls in the `<Name>` form that no result follows are found for names in `tools` only. A
/// message that is no text, or that is the system's, comes back as it is.
pub fn parse_history(message: &Message, tools: &[FunctionContract]) -> Vec<Message> {
    match &message.content {
        Content::Text(text) if message.envelope.role != Role::System => {
            read(text, &message.envelope, tools)
        }
        _ => vec![message.clone()],
    }
}

/// The same for bare text, taken to be the assistant's.
pub fn parse_text(text: &str, tools: &[FunctionContract]) -> Vec<Message> {
    read(text, &Envelope::new(Role::Assistant), tools)
}

fn read(text: &str, whole: &Envelope, tools: &[FunctionContract]) -> Vec<Message> {
    let tools = tools.iter().map(|tool| tool.name.as_str()).collect();
    let mut scanner = Scanner {
        text,
        tools,
        pieces: Vec::new(),
        from: 0,
        after_block: false,
        calls_end: None,
        open: None,
    };
    scanner.run();
    let mut writer =
        Writer { whole, notes: Notes::new(&whole.metadata), made: 0, messages: Vec::new() };
    for piece in scanner.pieces {
        writer.piece(piece);
    }
    writer.messages
}

/// What the text consists of.
#[derive(Debug)]
enum Piece<'t> {
    Text(&'t str),
    Call {
        name: String,
        arguments: Value,
    },
    /// A result without its call.
    Result(Response<'t>),
    Pair {
        arguments: Value,
        response: Response<'t>,
    },
}

/// What stands in a response.
#[derive(Debug)]
struct Response<'t> {
    name: String,
    /// None where it is pending.
    body: Option<&'t str>,
    is_error: bool,
}

/// A block that has begun.
#[derive(Debug)]
struct Open<'t> {
    /// Where its opening line begins, and where what is inside does.
    at: usize,
    inside: usize,
    closing: String,
    kind: Kind<'t>,
}

#[derive(Debug)]
enum Kind<'t> {
    Call { name: String },
    Response { name: String, status: Option<&'t str> },
}

struct Scanner<'t> {
    text: &'t str,
    tools: HashSet<&'t str>,
    pieces: Vec<Piece<'t>>,
    /// Where the text begins that is in no piece yet.
    from: usize,
    after_block: bool,
    /// Where the last call ended.
    calls_end: Option<usize>,
    open: Option<Open<'t>>,
}

impl<'t> Scanner<'t> {
    fn run(&mut self) {
        let text = self.text;
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let next = at + line.len();
            let bare = line.strip_suffix('\n').unwrap_or(line);
            match self.open.take() {
                Some(open) if open.closing == bare => self.close(open, at, next),
                still => {
                    // An opening line inside a block means that the block was none.
                    self.open = self.opening(bare, at, next, still.as_ref()).or(still);
                }
            }
            at = next;
        }
        self.flush(text.len(), true, false);
    }

    fn opening(
        &self,
        line: &'t str,
        at: usize,
        inside: usize,
        still: Option<&Open<'t>>,
    ) -> Option<Open<'t>> {
        let tag = line.strip_prefix('<')?.strip_suffix('>')?;
        let attributes = |own| tag.strip_prefix(own)?.strip_prefix(' ');
        let (closing, kind) = if let Some(attributes) = attributes(TOOL_CALL) {
            let (name, None) = attributes_of(attributes)? else { return None };
            (TOOL_CALL, Kind::Call { name })
        } else if let Some(attributes) = attributes(TOOL_RESPONSE) {
            let (name, status) = attributes_of(attributes)?;
            (TOOL_RESPONSE, Kind::Response { name, status })
        } else if self.tools.contains(tag)
            // Results may hold the tags of tools that nobody knew of when they were written.
            && !matches!(still, Some(Open { kind: Kind::Response { .. }, .. }))
        {
            (tag, Kind::Call { name: tag.to_owned() })
        } else {
            return None;
        };
        Some(Open { at, inside, closing: format!("</{closing}>"), kind })
    }

    /// The closing line of `open` goes from `at` to `next`.
    fn close(&mut self, open: Open<'t>, at: usize, next: usize) {
        // The line break before the closing line belongs to it.
        let inside = self.text[open.inside..at].strip_suffix('\n');
        match open.kind {
            Kind::Call { name } => {
                let Some(arguments) = inside.and_then(arguments_of) else { return };
                self.flush(open.at, false, false);
                self.pieces.push(Piece::Call { name, arguments });
                self.calls_end = Some(next);
            }
            Kind::Response { name, status } => {
                let body = match status {
                    Some(PENDING) if inside.is_none() => None,
                    None | Some(ERROR) if inside.is_some() => inside,
                    _ => return,
                };
                self.call_by_name(&name, open.at);
                let response = Response { name, body, is_error: status == Some(ERROR) };
                self.respond(response, open.at);
            }
        }
        self.from = next;
        self.after_block = true;
    }

    /// Puts a response to the call that ends where it begins, if there is one.
    fn respond(&mut self, response: Response<'t>, at: usize) {
        let follows_call = self.calls_end.take() == Some(at);
        match self.pieces.pop() {
            Some(Piece::Call { name, arguments }) if follows_call && name == response.name => {
                self.pieces.push(Piece::Pair { arguments, response });
            }
            other => {
                self.pieces.extend(other);
                self.flush(at, false, true);
                self.pieces.push(Piece::Result(response));
            }
        }
    }

    /// The call in the form `<name>` that ends at `end`, right before the response of that name.
    /// Nothing else can stand there: text before a result without a call is set apart from it.
    fn call_by_name(&mut self, name: &str, end: usize) {
        let Some(gap) = self.text.get(self.from..end) else { return };
        let Some(before) = gap.strip_suffix(&format!("\n</{name}>\n")) else { return };
        let opening = format!("<{name}>\n");
        let begin = match before.rfind(&format!("\n{opening}")) {
            Some(line_break) => line_break + 1,
            None if before.starts_with(&opening) => 0,
            None => return,
        };
        if let Some(arguments) = arguments_of(&before[begin + opening.len()..]) {
            self.flush(self.from + begin, false, false);
            self.pieces.push(Piece::Call { name: name.to_owned(), arguments });
            self.calls_end = Some(end);
            self.from = end;
            self.after_block = true;
        }
    }

    /// Makes a piece of the text up to `end`, without what sets it apart from blocks.
    fn flush(&mut self, end: usize, is_last: bool, before_orphan: bool) {
        let mut gap = &self.text[self.from..end];
        self.from = end;
        if self.after_block {
            gap = gap.strip_prefix(RULE).unwrap_or(gap);
        }
        if before_orphan && (gap == RULE || gap.ends_with("\n---\n")) {
            gap = &gap[..gap.len() - RULE.len()];
        }
        if !is_last {
            // Text that ends with several line breaks, or is one, had them of its own.
            let stripped = gap.strip_suffix('\n');
            gap = stripped.filter(|text| !text.is_empty() && !text.ends_with('\n')).unwrap_or(gap);
        }
        if !gap.is_empty() {
            self.pieces.push(Piece::Text(gap));
            self.after_block = false;
        }
    }
}

/// `name="..."`, with a status or without.
fn attributes_of(attributes: &str) -> Option<(String, Option<&str>)> {
    let (name, rest) = attributes.strip_prefix("name=\"")?.split_once('"')?;
    let status = match rest {
        "" => None,
        _ => Some(rest.strip_prefix(" status=\"")?.strip_suffix('"')?),
    };
    Some((attribute_value(name)?, status))
}

/// Arguments, fenced or bare.
fn arguments_of(body: &str) -> Option<Value> {
    let bare = body.strip_prefix("```json\n").and_then(|body| body.strip_suffix("\n```"));
    read_object(bare.unwrap_or(body))
}

/// Puts pieces together to messages.
struct Writer<'m> {
    whole: &'m Envelope,
    notes: Notes<'m>,
    /// How many calls there are so far.
    made: usize,
    messages: Vec<Message>,
}

impl Writer<'_> {
    fn piece(&mut self, piece: Piece<'_>) {
        match piece {
            Piece::Text(text) => self.push(self.whole.role, Content::Text(restore(text))),
            Piece::Call { name, arguments } => {
                let note = self.notes.next(&name);
                let call = self.call(&note, name, arguments);
                match self.last() {
                    Some(Content::ToolCalls(calls)) => calls.push(call),
                    _ => self.push(Role::Assistant, Content::ToolCalls(vec![call])),
                }
            }
            Piece::Result(response) => {
                let note = self.notes.next(&response.name);
                let Some(result) = response.into_result(note) else { return };
                match self.last() {
                    Some(Content::ToolResults(results)) => results.push(result),
                    _ => self.push(Role::User, Content::ToolResults(vec![result])),
                }
            }
            Piece::Pair { arguments, response } => {
                let note = self.notes.next(&response.name);
                let call = self.call(&note, response.name.clone(), arguments);
                let result = response.into_result(note);
                if let Some(Content::Aggregate { calls, results }) = self.last() {
                    calls.push(call);
                    results.extend(result);
                } else {
                    let results = result.into_iter().collect();
                    let calls = vec![call];
                    self.push(Role::Assistant, Content::Aggregate { calls, results });
                }
            }
        }
    }

    fn last(&mut self) -> Option<&mut Content> {
        self.messages.last_mut().map(|message| &mut message.content)
    }

    fn call(&mut self, note: &Note<'_>, name: String, arguments: Value) -> ToolCall {
        let index = self.made;
        self.made += 1;
        let (id, raw, repairs) = (note.id.clone(), note.raw.clone(), note.repairs.clone());
        ToolCall { id, name, arguments, raw, index, repairs }
    }

    fn push(&mut self, role: Role, content: Content) {
        let envelope = of_part(self.whole, role);
        self.messages.push(Message { envelope, content });
    }
}

impl Response<'_> {
    fn into_result(self, note: Note<'_>) -> Option<ToolResult> {
        Some(ToolResult {
            result: note.result(&restore(self.body?)),
            tool_call_id: note.id,
            name: self.name,
            is_error: self.is_error,
            error_code: note.error_code,
            duration: note.duration,
        })
    }
}
