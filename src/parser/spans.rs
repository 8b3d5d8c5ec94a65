//! Spans without calls: reasoning, and results that the model fabricated.

use memchr::{memchr, memchr2};

use super::{
    frame::{Discard, Frame, Sink},
    grammar::Closer,
    machine::{Flow, Pass, State},
    tag::{Match, TagMatch, Wanted},
    work,
};

/// A result that the model writes itself.
#[derive(Clone, Debug)]
pub(super) struct Response {
    tag: &'static str,
    name: Option<String>,
    /// True if it exceeded the limit and has been reported.
    overflow: bool,
}

impl Response {
    pub(super) fn new(tag: &'static str, name: Option<&str>) -> Self {
        Self { tag, name: name.map(str::to_owned), overflow: false }
    }
}

impl<'a, S: Sink> Pass<'a, S> {
    pub(super) fn reasoning(&mut self, tag: usize) -> Flow {
        match self.seek_close(Closer::Reasoning(tag), self.window.end()) {
            Some((start, end)) => {
                self.emit_reasoning(start);
                self.machine.pos = end;
                self.discard(end, Discard::ReasoningTag);
                Flow::Again
            }
            None if self.ending.is_some() => {
                self.emit_reasoning(self.machine.pos);
                Flow::Again
            }
            None => {
                self.emit_reasoning(self.certain());
                self.machine.state = State::Reasoning(tag);
                Flow::NeedMore
            }
        }
    }

    fn emit_reasoning(&mut self, to: usize) {
        if to > self.machine.from {
            self.sink.take(Frame::Reasoning(self.window.slice(self.machine.from, to)));
            self.machine.from = to;
        }
    }

    pub(super) fn response(&mut self, mut response: Response) -> Flow {
        let limit = self.machine.from.saturating_add(self.grammar.limits().max_argument_bytes);
        let end = self.window.end();
        let stop =
            if response.overflow || limit >= end { end } else { self.window.boundary(limit) };
        if let Some((_, close)) = self.seek_close(Closer::Tag(response.tag), stop) {
            self.machine.pos = close;
            self.emit_response(&response, close);
            return Flow::Again;
        }
        if self.ending.is_some() && stop == end {
            self.emit_response(&response, end);
            return Flow::Again;
        }
        if response.overflow {
            self.emit_response(&response, self.certain());
        } else if stop < end && self.machine.tag.is_none() {
            self.emit_response(&response, stop);
            response.overflow = true;
            self.machine.state = State::Response(response);
            return Flow::Again;
        }
        self.machine.state = State::Response(response);
        Flow::NeedMore
    }

    /// Skip a result within a sentence, which is text. Its content may come from elsewhere, so
    /// nothing in it is a call, up to the closing tag or the end of the line.
    pub(super) fn quoted_response(&mut self, tag: &'static str) -> Flow {
        let wanted = self.wanted_close(Closer::Tag(tag));
        loop {
            if let Some(mut close) = self.machine.tag.take() {
                match close.scan(self.window, &mut self.machine.pos, wanted) {
                    Match::Close => break,
                    Match::More if self.ending.is_none() => {
                        self.machine.tag = Some(close);
                        self.emit_text(close.start);
                        self.machine.state = State::QuotedResponse(tag);
                        return Flow::NeedMore;
                    }
                    _ => self.machine.pos = close.start + 1,
                }
            }
            let rest = self.window.from(self.machine.pos);
            let found = memchr2(b'<', b'\n', rest);
            work::count(found.map_or(rest.len(), |found| found + 1));
            let at = self.machine.pos + found.unwrap_or(rest.len());
            self.machine.pos = at;
            match found.map(|found| rest[found]) {
                Some(b'<') => {
                    self.machine.tag = Some(TagMatch::new(at));
                    self.machine.pos += 1;
                }
                Some(_) => break,
                None if self.ending.is_some() => break,
                None => {
                    self.emit_text(at);
                    self.machine.state = State::QuotedResponse(tag);
                    return Flow::NeedMore;
                }
            }
        }
        self.emit_text(self.machine.pos);
        Flow::Again
    }

    fn wanted_close(&self, closer: Closer) -> Wanted<'a> {
        Wanted {
            open: None,
            close: Some(self.grammar.closer(closer)),
            limit: self.grammar.limits().max_tag_bytes,
        }
    }

    fn emit_response(&mut self, response: &Response, to: usize) {
        if response.overflow {
            self.discard(to, Discard::TooLarge);
        } else {
            let raw = self.window.slice(self.machine.from, to);
            self.sink.take(Frame::Fabricated { name: response.name.as_deref(), raw });
            self.machine.from = to;
        }
    }

    /// Return the end of the bytes that certainly belong to the open span.
    fn certain(&self) -> usize {
        self.machine.tag.map_or(self.machine.pos, |tag| tag.start)
    }

    /// Return start and end of the next closing tag that begins before `stop`.
    fn seek_close(&mut self, closer: Closer, stop: usize) -> Option<(usize, usize)> {
        let wanted = self.wanted_close(closer);
        loop {
            if let Some(mut tag) = self.machine.tag.take() {
                match tag.scan(self.window, &mut self.machine.pos, wanted) {
                    Match::Close => return Some((tag.start, self.machine.pos)),
                    Match::More if self.ending.is_none() => {
                        self.machine.tag = Some(tag);
                        return None;
                    }
                    _ => self.machine.pos = tag.start + 1,
                }
            }
            if self.machine.pos >= stop {
                return None;
            }
            let rest = &self.window.from(self.machine.pos)[..stop - self.machine.pos];
            let found = memchr(b'<', rest);
            work::count(found.map_or(rest.len(), |found| found + 1));
            match found {
                None => {
                    self.machine.pos = stop;
                    return None;
                }
                Some(found) => {
                    self.machine.tag = Some(TagMatch::new(self.machine.pos + found));
                    self.machine.pos += found + 1;
                }
            }
        }
    }
}
