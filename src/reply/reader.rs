//! Frames of a reply, from its text and its fragments.

use super::{
    fragment::{Fragment, FragmentProblem},
    native::{NativeCalls, Reporting},
};
use crate::parser::{Discard, Ending, FoundCall, Frame, Parser, Plain, Sink};

/// The options of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// True to parse text for calls.
    pub inline: bool,
    /// True if calls in text are recovered ones: the request had native tools.
    pub recovered: bool,
    /// True to report the arguments of native calls while they arrive. For inline calls, the option
    /// of the parser applies.
    pub deltas: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { inline: true, recovered: false, deltas: true }
    }
}

/// A reader of one reply.
///
/// A native call ends when another one begins, if its arguments are a JSON object by then, and
/// otherwise with the reply.
#[derive(Debug)]
pub struct Reader {
    parser: Parser,
    options: Options,
    native: NativeCalls,
    /// Number of calls, of both kinds.
    calls: usize,
    /// Index of the open inline call.
    inline: usize,
}

impl Reader {
    /// Create a reader for calls to the tools of this parser, which must not have any input.
    pub fn new(parser: Parser, options: Options) -> Self {
        Self { parser, options, native: NativeCalls::default(), calls: 0, inline: 0 }
    }

    /// Return the number of calls so far, of both kinds, valid or not.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Return an upper bound on the bytes that are buffered for incomplete calls.
    pub fn buffered(&self) -> usize {
        self.parser.buffered().max(self.native.bytes)
    }

    /// Read the next text and report the events that are now certain.
    pub fn text(&mut self, chunk: &str, sink: &mut impl Sink) {
        match self.plain_text(chunk) {
            None => {
                let (calls, open) = (&mut self.calls, &mut self.inline);
                let recovered = self.options.recovered;
                self.parser.push(chunk, &mut NumberedSink { calls, open, recovered, sink });
            }
            Some(Plain::Text) => sink.take(Frame::Text(chunk)),
            Some(Plain::Fragment { index }) => {
                sink.take(Frame::CallDelta { index, fragment: chunk });
            }
            Some(Plain::Nothing) => {}
        }
    }

    /// Read the next text if it is plain, and return its kind; see [`Parser::push_plain`].
    #[inline]
    pub fn plain_text(&mut self, chunk: &str) -> Option<Plain> {
        if !self.options.inline {
            return Some(if chunk.is_empty() { Plain::Nothing } else { Plain::Text });
        }
        match self.parser.push_plain(chunk)? {
            Plain::Fragment { .. } => Some(Plain::Fragment { index: self.inline }),
            plain => Some(plain),
        }
    }

    /// Report text that is held back, where more could have made it a call, as text.
    ///
    /// Do this before reasoning or anything else that is transported apart from the text.
    pub fn flush_text(&mut self, sink: &mut impl Sink) {
        if self.options.inline {
            let (calls, open) = (&mut self.calls, &mut self.inline);
            let recovered = self.options.recovered;
            self.parser.flush_text(&mut NumberedSink { calls, open, recovered, sink });
        }
    }

    /// Read the next fragment of a native call and report the events that are now certain.
    ///
    /// Return the defect of the fragment, if any, for the log. The fragment has been read all the
    /// same.
    pub fn fragment<'a>(
        &'a mut self,
        fragment: Fragment<'a>,
        sink: &mut impl Sink,
    ) -> Option<FragmentProblem<'a>> {
        let given = |text: Option<&'a str>| text.filter(|text| !text.is_empty());
        let fragment = Fragment {
            id: given(fragment.id),
            name: given(fragment.name),
            arguments: given(fragment.arguments),
            ..fragment
        };
        let known = self.native.find(&fragment);
        if known.is_none() && self.options.recovered {
            // So that it stands before the call.
            self.flush_text(sink);
        }
        let reporting = Reporting { parser: &self.parser, deltas: self.options.deltas };
        let at = if let Some(at) = known {
            at
        } else {
            if let Some(latest) = self.native.latest_open() {
                latest.end_if_complete(reporting, sink);
            }
            self.calls += 1;
            self.native.add(self.calls - 1)
        };
        self.native.bytes += fragment.arguments.map_or(0, str::len);
        let call = self.native.identify(at, &fragment);
        if !call.is_open() {
            let too_large = call.is_too_large();
            let reason = if too_large { Discard::TooLarge } else { Discard::LateFragment };
            if let Some(raw) = fragment.arguments {
                sink.take(Frame::Discarded { raw, reason });
            }
            return (!too_large)
                .then_some(FragmentProblem::Late { call: call.index, id: call.id() });
        }
        let other = fragment.name.filter(|name| !call.extend_name(name));
        if let Some(text) = fragment.arguments {
            call.push(text, reporting, sink);
        }
        let other = other?;
        Some(FragmentProblem::Renamed { call: call.index, id: call.id(), name: call.name(), other })
    }

    /// End the reply and report the rest of it. A truncated reply completes no open call.
    pub fn finish(&mut self, ending: Ending, sink: &mut impl Sink) {
        if self.options.inline {
            let (calls, open) = (&mut self.calls, &mut self.inline);
            let recovered = self.options.recovered;
            self.parser.finish(ending, &mut NumberedSink { calls, open, recovered, sink });
        }
        let reporting = Reporting { parser: &self.parser, deltas: self.options.deltas };
        for call in self.native.open() {
            call.end(ending, reporting, sink);
        }
    }
}

/// A sink that numbers inline calls among calls of both kinds.
///
/// The parser reads one call after the other, so the index of the open one is enough.
struct NumberedSink<'a, S> {
    calls: &'a mut usize,
    open: &'a mut usize,
    recovered: bool,
    sink: &'a mut S,
}

impl<S: Sink> Sink for NumberedSink<'_, S> {
    fn take(&mut self, frame: Frame<'_>) {
        let frame = match frame {
            Frame::CallStart { id, name, .. } => {
                *self.open = *self.calls;
                *self.calls += 1;
                Frame::CallStart { index: *self.open, id, name, recovered: self.recovered }
            }
            Frame::CallDelta { fragment, .. } => Frame::CallDelta { index: *self.open, fragment },
            Frame::CallEnd(found) => {
                Frame::CallEnd(FoundCall { index: *self.open, recovered: self.recovered, ..found })
            }
            other => other,
        };
        self.sink.take(frame);
    }
}
