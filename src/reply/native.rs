//! Assembly of native calls from their fragments.

use std::collections::HashMap;

use super::{escape, fragment::Fragment};
use crate::parser::{CallId, Discard, Ending, Excess, Frame, Outcome, Parser, Sink};

/// The native calls of one reply, by id and by index.
#[derive(Debug, Default)]
pub(super) struct NativeCalls {
    calls: Vec<Call>,
    by_id: HashMap<String, usize>,
    by_index: HashMap<usize, usize>,
    /// Number of bytes of arguments, those of ended calls included.
    pub(super) bytes: usize,
}

impl NativeCalls {
    /// Return the call that a fragment continues, if any.
    pub(super) fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let by_index = fragment.index.and_then(|index| self.by_index.get(&index).copied());
        if let Some(id) = fragment.id {
            // With another id, the provider reuses the index for a new call.
            let unnamed = || by_index.filter(|&at| self.calls[at].is_continued_by(fragment));
            return self.by_id.get(id).copied().or_else(unnamed);
        }
        if fragment.index.is_some() {
            return by_index;
        }
        // The fragment continues the latest call, unless a name begins a new one.
        if fragment.name.is_some() { None } else { self.calls.len().checked_sub(1) }
    }

    /// Add a call with this index in the reply.
    pub(super) fn add(&mut self, index: usize) -> usize {
        self.calls.push(Call::new(index));
        self.calls.len() - 1
    }

    /// Return the latest call, if it is open.
    pub(super) fn latest_open(&mut self) -> Option<&mut Call> {
        self.calls.last_mut().filter(|call| call.is_open())
    }

    /// Return the call, after adding the id and index of this fragment to it.
    pub(super) fn identify(&mut self, at: usize, fragment: &Fragment<'_>) -> &mut Call {
        let call = &mut self.calls[at];
        if let Some(id) = fragment.id
            && !self.by_id.contains_key(id)
        {
            self.by_id.insert(id.to_owned(), at);
            // Once started, the call keeps the id that was reported.
            if call.state == CallState::Pending {
                call.id = Some(id.to_owned());
            }
        }
        if let Some(index) = fragment.index {
            self.by_index.insert(index, at);
        }
        call
    }

    /// Return the open calls, in the order in which they began.
    pub(super) fn open(&mut self) -> impl Iterator<Item = &mut Call> {
        self.calls.iter_mut().filter(|call| call.is_open())
    }
}

/// One native call.
#[derive(Debug)]
pub(super) struct Call {
    /// The position among the calls of the reply.
    pub(super) index: usize,
    id: Option<String>,
    name: String,
    /// All of the arguments, until the end.
    arguments: String,
    /// Length of the part that was reported in deltas.
    reported: usize,
    state: CallState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    /// Not reported yet: the name may be incomplete.
    Pending,
    Started,
    Finished,
    /// Ended by its size; further arguments are discarded.
    TooLarge,
}

/// The context for reporting calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reporting<'a> {
    pub(super) parser: &'a Parser,
    pub(super) deltas: bool,
}

impl Call {
    fn new(index: usize) -> Self {
        Self {
            index,
            id: None,
            name: String::new(),
            arguments: String::new(),
            reported: 0,
            state: CallState::Pending,
        }
    }

    /// Return true if a fragment with the same index but a new id continues this call. A name would
    /// begin another call.
    fn is_continued_by(&self, fragment: &Fragment<'_>) -> bool {
        let unnamed = fragment.name.is_none() && self.state == CallState::Started;
        self.id.is_none() && (self.state == CallState::Pending || unnamed)
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.state, CallState::Pending | CallState::Started)
    }

    pub(super) fn is_too_large(&self) -> bool {
        self.state == CallState::TooLarge
    }

    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Append a piece of the name, or accept a repetition of it. Return false if the name is final
    /// because the arguments have begun.
    pub(super) fn extend_name(&mut self, name: &str) -> bool {
        if name == self.name {
            return true;
        }
        if self.arguments.is_empty() {
            self.name.push_str(name);
        }
        self.arguments.is_empty()
    }

    /// Append arguments and report what is certain.
    pub(super) fn push(&mut self, text: &str, reporting: Reporting<'_>, sink: &mut impl Sink) {
        let limit = reporting.parser.limits().max_argument_bytes;
        let room = limit.saturating_sub(self.arguments.len());
        if text.len() > room {
            // Cut just past the limit, so that the result does not depend on the fragments.
            let ends = (room + 1..text.len()).find(|&end| text.is_char_boundary(end));
            let taken = ends.unwrap_or(text.len());
            self.arguments.push_str(&text[..taken]);
            self.end_as(CallState::TooLarge, Ending::Truncated, reporting, sink);
            if taken < text.len() {
                sink.take(Frame::Discarded { raw: &text[taken..], reason: Discard::TooLarge });
            }
            return;
        }
        self.arguments.push_str(text);
        // A call without a name is not reported yet.
        if !self.name.is_empty() {
            self.begin(reporting, sink);
            if reporting.deltas {
                let to = self.reported + escape::complete_prefix(&self.arguments[self.reported..]);
                self.report(reporting, to, sink);
            }
        }
    }

    /// End the call if its arguments are complete: no JSON object is a prefix of another.
    pub(super) fn end_if_complete(&mut self, reporting: Reporting<'_>, sink: &mut impl Sink) {
        let found =
            reporting.parser.native(self.index, &self.name, &self.arguments, Ending::Complete);
        if matches!(found.outcome, Outcome::Whole { .. }) {
            self.end(Ending::Complete, reporting, sink);
        }
    }

    /// End the call.
    pub(super) fn end(&mut self, ending: Ending, reporting: Reporting<'_>, sink: &mut impl Sink) {
        self.end_as(CallState::Finished, ending, reporting, sink);
    }

    fn end_as(
        &mut self,
        state: CallState,
        ending: Ending,
        reporting: Reporting<'_>,
        sink: &mut impl Sink,
    ) {
        self.begin(reporting, sink);
        self.report(reporting, self.arguments.len(), sink);
        self.state = state;
        let arguments = std::mem::take(&mut self.arguments);
        let mut found = reporting.parser.native(self.index, &self.name, &arguments, ending);
        if state == CallState::TooLarge {
            found.outcome = Outcome::TooLarge(Excess::Bytes);
        }
        sink.take(Frame::CallEnd(found));
    }

    fn begin(&mut self, reporting: Reporting<'_>, sink: &mut impl Sink) {
        if self.state == CallState::Pending {
            self.state = CallState::Started;
            let (index, id) = (self.index, self.id.as_deref().map(CallId::Provided));
            sink.take(Frame::CallStart {
                index,
                id,
                name: reporting.parser.known_name(&self.name),
                recovered: false,
            });
        }
    }

    /// Report the arguments up to `to`.
    fn report(&mut self, reporting: Reporting<'_>, to: usize, sink: &mut impl Sink) {
        if reporting.deltas && to > self.reported {
            let fragment = &self.arguments[self.reported..to];
            sink.take(Frame::CallDelta { index: self.index, fragment });
            self.reported = to;
        }
    }
}
