//! Spans without calls: reasoning, and results that the model fabricated.

use memchr::{memchr, memchr2, memchr3};

use super::{
    frame::{Discard, Frame, Sink},
    grammar::Closer,
    literal::{Literal, LiteralMatch},
    machine::{Flow, Pass, State},
    reasoning::Reasoning,
    tag::{Match, TagMatch, Wanted},
    work,
};

/// A result that the model writes itself.
#[derive(Clone, Debug)]
pub(super) struct Response {
    closer: Closer,
    name: Option<String>,
    /// True if it exceeded the limit and has been reported.
    overflow: bool,
}

impl Response {
    pub(super) fn new(closer: Closer, name: Option<&str>) -> Self {
        Self { closer, name: name.map(str::to_owned), overflow: false }
    }
}

impl<'a, S: Sink> Pass<'a, S> {
    /// Open the reasoning with which the reply begins, if it does.
    pub(super) fn start(&mut self) -> Flow {
        let begin = self.machine.pos;
        let bytes = self.window.from(begin);
        let blank = bytes.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        work::count(blank + 1);
        let mut at = begin + blank;
        let texts = self.grammar.leading.iter().map(|(_, text)| text.as_str());
        let found = Literal::new(at).read(&texts, &bytes[blank..], &mut at);
        let open = self.ending.is_none() && blank <= self.grammar.limits().max_tag_bytes;
        let index = match found {
            LiteralMatch::More if open => {
                self.machine.state = State::Start;
                return Flow::NeedMore;
            }
            LiteralMatch::Whole(found) => {
                self.emit_text(begin + blank);
                self.machine.pos = at;
                self.discard(at, Discard::ReasoningTag);
                self.grammar.leading.get(found).map(|&(index, _)| index)
            }
            _ => self.grammar.initial,
        };
        self.machine.state = index.map_or(State::Text, State::Reasoning);
        Flow::Again
    }

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
        if let Some((_, close)) = self.seek_close(response.closer, stop) {
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
        } else if stop < end && self.machine.tag.is_none() && self.machine.literal.is_none() {
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
        let literal = self.machine.literal.map(|literal| literal.start);
        self.machine.tag.map(|tag| tag.start).or(literal).unwrap_or(self.machine.pos)
    }

    /// Return start and end of the next closing tag that begins before `stop`.
    fn seek_close(&mut self, closer: Closer, stop: usize) -> Option<(usize, usize)> {
        if let Closer::Reasoning(index) = closer
            && let Some(Reasoning::Texts { close, before, .. }) = self.grammar.reasoning.get(index)
        {
            return self.seek_text(close, before, stop);
        }
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

    /// Return start and end of the next of the texts that begins before `stop`; those of `before`
    /// are not included.
    fn seek_text(
        &mut self,
        close: &[Box<str>],
        before: &[&str],
        stop: usize,
    ) -> Option<(usize, usize)> {
        let texts = || close.iter().map(|text| &**text).chain(before.iter().copied());
        let leads = leads(texts());
        loop {
            if let Some(mut literal) = self.machine.literal.take() {
                let rest = self.window.from(self.machine.pos);
                work::count(1);
                match literal.read(&texts(), rest, &mut self.machine.pos) {
                    LiteralMatch::Whole(index) => {
                        let end = self.machine.pos;
                        let is_close = index < close.len();
                        return Some((literal.start, if is_close { end } else { literal.start }));
                    }
                    LiteralMatch::More if self.ending.is_none() => {
                        self.machine.literal = Some(literal);
                        return None;
                    }
                    _ => self.machine.pos = literal.start + 1,
                }
            }
            if self.machine.pos >= stop {
                return None;
            }
            let rest = &self.window.from(self.machine.pos)[..stop - self.machine.pos];
            let found = memchr3(leads[0], leads[1], leads[2], rest);
            work::count(found.map_or(rest.len(), |found| found + 1));
            let Some(found) = found else {
                self.machine.pos = stop;
                return None;
            };
            self.machine.pos += found;
            self.machine.literal = Some(Literal::new(self.machine.pos));
        }
    }
}

/// Return the first bytes of the texts, of which there are at most three.
fn leads<'t>(texts: impl Iterator<Item = &'t str>) -> [u8; 3] {
    let mut leads = [b'<'; 3];
    let mut count = 0;
    for byte in texts.filter_map(|text| text.bytes().next()) {
        if !leads[..count].contains(&byte) && count < leads.len() {
            leads[count..].fill(byte);
            count += 1;
        }
    }
    leads
}
