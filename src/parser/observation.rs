//! Results that a model writes itself on lines of their own.

use memchr::memchr;

use super::{
    block::React,
    frame::{Discard, Frame, Sink},
    machine::{Flow, Pass, State},
    work,
};

/// A result that begins with `Observation:`, up to the next line that begins something else.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    /// Start of the current line, as long as it may begin something else.
    line: Option<usize>,
    /// True if it exceeded the limit and has been reported.
    overflow: bool,
}

impl Observation {
    pub(super) fn new() -> Self {
        Self { line: None, overflow: false }
    }
}

impl<S: Sink> Pass<'_, S> {
    pub(super) fn observation(&mut self, mut observation: Observation) -> Flow {
        loop {
            if let Some(start) = observation.line {
                let bytes = self.window.from(start);
                work::count(React::LONGEST_HEAD.min(bytes.len()));
                match React::begins_entry(bytes) {
                    Some(true) => {
                        self.emit_observation(&mut observation, start);
                        self.machine.pos = start;
                        self.machine.beginning = true;
                        self.machine.markdown.newline();
                        return Flow::Again;
                    }
                    None if self.ending.is_none() => {
                        return self.wait_observation(observation, start);
                    }
                    _ => observation.line = None,
                }
            }
            let rest = self.window.from(self.machine.pos);
            let found = memchr(b'\n', rest);
            work::count(found.map_or(rest.len(), |found| found + 1));
            match found {
                Some(found) => {
                    self.machine.pos += found + 1;
                    observation.line = Some(self.machine.pos);
                }
                None if self.ending.is_some() => {
                    let end = self.window.end();
                    self.emit_observation(&mut observation, end);
                    self.machine.pos = end;
                    return Flow::Again;
                }
                None => {
                    self.machine.pos = self.window.end();
                    return self.wait_observation(observation, self.machine.pos);
                }
            }
        }
    }

    fn wait_observation(&mut self, mut observation: Observation, certain: usize) -> Flow {
        let limit = self.grammar.limits().max_argument_bytes;
        if observation.overflow || certain - self.machine.from > limit {
            self.emit_observation(&mut observation, certain);
        }
        self.machine.state = State::Observation(observation);
        Flow::NeedMore
    }

    /// Report the result up to `to`, as far as the limit allows.
    fn emit_observation(&mut self, observation: &mut Observation, to: usize) {
        let from = self.machine.from;
        let limit = from.saturating_add(self.grammar.limits().max_argument_bytes);
        if !observation.overflow && to > from {
            let stop = if to > limit { self.window.boundary(limit) } else { to };
            observation.overflow = stop < to;
            self.sink.take(Frame::Fabricated { name: None, raw: self.window.slice(from, stop) });
            self.machine.from = stop;
        }
        self.discard(to, Discard::TooLarge);
    }
}
