//! Calls whose header names the tool, before a JSON object.

use super::{
    Outcome,
    ahead::starts,
    marks::{Mark, Marks},
    object::Object,
    read::Read,
    step::{Input, Step},
};
use crate::parser::{
    dialect::{Block, Evidence, names::is_name_byte},
    grammar::Grammar,
    literal::{Literal, LiteralMatch},
};

/// The layout of such calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headed {
    /// The texts in and around a call, apart from those that close the block.
    pub marks: &'static [(&'static str, Mark)],
    /// The content of the header.
    pub header: Header,
    /// True if the text that opens the block opens its first call as well.
    pub opened: bool,
}

/// The content of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// The name.
    Name,
    /// An id that contains the name: `functions.NAME:0`.
    Id,
    /// A type and, after the mark, the name on a line of its own.
    Typed,
    /// The name before the mark. Both of them read the other's header as well.
    Untyped,
}

/// A reader of such calls.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    block: Block,
    body: Headed,
    marks: Marks,
    max_depth: usize,
    state: State,
    /// A mark that may have begun.
    literal: Option<Literal>,
    object: Object,
    /// True if a mark, or the opener of the block, has begun the open call.
    begun: bool,
    /// Steps that have been found but not returned, the last one first.
    next: Vec<Step>,
    /// The number of calls that have ended.
    ended: usize,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before a call or after the last; nothing but white space since `since`.
    Between { since: usize },
    /// In a part of a header.
    Header { part: Part, word: Word },
    /// In the payload, and up to the end of the call.
    Object,
}

/// A part of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The name, the id that contains it, or the type before it.
    First,
    /// The name, after a type.
    Name { typed: (usize, usize) },
    /// An id after the name.
    Id { name: (usize, usize) },
}

/// A word between white space.
#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// Start of the white space before it.
    since: Option<usize>,
    from: Option<usize>,
    to: Option<usize>,
}

impl Word {
    /// Return start and end, if the word is not empty, and ends at `at` at the latest.
    fn span(self, at: usize) -> Option<(usize, usize)> {
        self.from.map(|from| (from, self.to.unwrap_or(at)))
    }
}

impl Read for Reader {
    fn read(&mut self, input: Input<'_>, pos: &mut usize) -> Step {
        loop {
            if let Some(step) = self.next.pop() {
                return self.passed(step);
            }
            if let State::Object = self.state {
                let step = self.object.read(input, pos);
                return self.passed(step);
            }
            let step = match self.literal {
                Some(literal) => self.literal(literal, input, pos),
                None => self.step(input, pos),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn object(&self) -> Option<&Object> {
        Some(&self.object)
    }

    fn object_mut(&mut self) -> Option<&mut Object> {
        Some(&mut self.object)
    }
}

impl Reader {
    pub(super) fn new(block: Block, body: Headed, max_depth: usize) -> Self {
        let marks = Marks { inner: body.marks, close: block.close };
        let state = if body.opened {
            State::Header { part: Part::First, word: Word::default() }
        } else {
            State::Between { since: 0 }
        };
        Self {
            block,
            body,
            marks,
            max_depth,
            state,
            literal: None,
            begun: body.opened,
            object: Object::new(marks, false, max_depth, 0),
            next: Vec::new(),
            ended: 0,
        }
    }

    pub(super) fn begins(block: Block, body: Headed, bytes: &[u8]) -> Option<bool> {
        let lead = Marks { inner: body.marks, close: block.close }.lead();
        let begins =
            is_name_byte(*bytes.first()?) || !body.opened && lead == bytes.first().copied();
        match body.header {
            Header::Typed if block.evidence == Evidence::Marked => {
                Some(begins && begins_with_type(body, bytes)?)
            }
            Header::Untyped if block.evidence == Evidence::Marked => {
                Some(begins && !begins_with_type(body, bytes)?)
            }
            _ => Some(begins),
        }
    }

    /// Return `step`, and note the end of a call.
    fn passed(&mut self, step: Step) -> Step {
        if let Step::CallEnd { at, .. } = step {
            self.state = State::Between { since: at };
            self.begun = false;
            self.ended += 1;
        }
        step
    }

    fn literal(&mut self, mut literal: Literal, input: Input<'_>, pos: &mut usize) -> Option<Step> {
        match literal.read(&self.marks.texts(), input.from(*pos), pos) {
            LiteralMatch::More => {
                self.literal = Some(literal);
                Some(self.end_of_input(input))
            }
            LiteralMatch::Fail => {
                self.literal = None;
                Some(self.fail())
            }
            LiteralMatch::Whole(index) => {
                self.literal = None;
                let mark = self.marks.mark(index);
                match self.state {
                    State::Header { part, word } => {
                        let word = word.span(literal.start);
                        self.end_part(part, word, mark, (literal.start, *pos), input, pos)
                    }
                    _ => self.between(mark, *pos),
                }
            }
        }
    }

    /// Act on a mark between calls that ends at `at`.
    fn between(&mut self, mark: Mark, at: usize) -> Option<Step> {
        match mark {
            Mark::Begin => {
                self.begun = true;
                self.state = State::Header { part: Part::First, word: Word::default() };
                None
            }
            Mark::Close if self.ended > 0 => Some(Step::Close(at)),
            Mark::End if self.ended > 0 => {
                self.state = State::Between { since: at };
                Some(Step::Markup(at))
            }
            _ => Some(self.fail()),
        }
    }

    fn step(&mut self, input: Input<'_>, pos: &mut usize) -> Option<Step> {
        if let State::Between { since } = self.state
            && self.ended > 0
            && !self.marks.has_end()
        {
            // Nothing ends such a block.
            return Some(Step::Leave(since));
        }
        let Some(byte) = input.byte(*pos) else { return Some(self.end_of_input(input)) };
        let at = *pos;
        let limit = input.grammar.limits().max_tag_bytes;
        match self.state {
            _ if self.marks.lead() == Some(byte) => self.literal = Some(Literal::new(at)),
            State::Between { since } => {
                if byte.is_ascii_whitespace() && (self.ended == 0 || at - since < limit) {
                    *pos += 1;
                } else if self.begins_header(byte) {
                    self.state = State::Header { part: Part::First, word: Word::default() };
                } else {
                    return Some(self.fail());
                }
            }
            State::Header { part, mut word } => {
                if at - *word.since.get_or_insert(at) > limit {
                    return Some(self.fail());
                }
                let ends_line = byte == b'\n' && matches!(part, Part::Name { .. });
                if byte.is_ascii_whitespace() && !(ends_line && word.from.is_some()) {
                    word.to = word.to.or(word.from.map(|_| at));
                } else if is_name_byte(byte) && word.to.is_none() {
                    word.from.get_or_insert(at);
                } else {
                    let span = word.span(at);
                    return self.end_part(part, span, Mark::Arguments, (at, at), input, pos);
                }
                *pos += 1;
                self.state = State::Header { part, word };
            }
            State::Object => {}
        }
        None
    }

    /// Return true if a header may begin with this byte, without a mark before it.
    fn begins_header(&self, byte: u8) -> bool {
        let stripped = self.block.evidence == Evidence::Stripped;
        is_name_byte(byte)
            && (self.ended == 0
                || stripped
                    && self.block.open.iter().any(|open| open.as_bytes().first() == Some(&byte)))
    }

    /// Act on the end of a part of a header, at a mark or at a byte that is no part of a name.
    fn end_part(
        &mut self,
        part: Part,
        word: Option<(usize, usize)>,
        mark: Mark,
        (start, end): (usize, usize),
        input: Input<'_>,
        pos: &mut usize,
    ) -> Option<Step> {
        let byte = if end > start { None } else { input.byte(start) };
        let Some(name) = name_span(part, word) else { return Some(self.fail()) };
        let id = if let Part::Id { .. } = part { word } else { None };
        match mark {
            Mark::Id if part == Part::First => {
                self.enter(Part::Id { name });
                return None;
            }
            // A type may have been read, unless the payload follows.
            Mark::Arguments if end > start && part == Part::First && self.is_typed() => {
                self.enter(Part::Name { typed: name });
                return None;
            }
            Mark::Arguments
                if end > start
                    || matches!(byte, Some(b'{' | b'`' | b'\n'))
                    || matches!(part, Part::Name { .. }) && word.is_none() =>
            {
                self.object = Object::new(self.marks, !self.marks.has_end(), self.max_depth, end);
                self.state = State::Object;
            }
            // A call without arguments.
            Mark::End if self.begun && !matches!(part, Part::Id { .. }) => {
                self.next.push(Step::CallEnd { at: *pos, outcome: Outcome::Empty });
            }
            _ => return Some(self.fail()),
        }
        Some(self.named(name, id, input))
    }

    fn enter(&mut self, part: Part) {
        self.state = State::Header { part, word: Word::default() };
    }

    fn is_typed(&self) -> bool {
        matches!(self.body.header, Header::Typed | Header::Untyped)
    }

    /// Return the step for the name, and note that for the id.
    fn named(
        &mut self,
        (from, to): (usize, usize),
        id: Option<(usize, usize)>,
        input: Input<'_>,
    ) -> Step {
        let text = input.window.slice(from, to);
        let (range, has_id) = match self.body.header {
            Header::Id => name_in_id(text, input.grammar),
            Header::Typed if self.block.evidence == Evidence::Stripped => {
                let name = text.strip_prefix(TYPE).unwrap_or(text);
                (text.len() - name.len()..text.len(), false)
            }
            _ => (0..text.len(), false),
        };
        if let Some((from, to)) = id.or(has_id.then_some((from, to))) {
            self.next.push(Step::Id { from, to });
        }
        Step::Name { from: from + range.start, to: from + range.end }
    }

    /// Give up what is not a call.
    fn fail(&self) -> Step {
        match self.state {
            State::Between { since } if self.ended > 0 => Step::Leave(since),
            _ => Step::Fail,
        }
    }

    fn end_of_input(&self, input: Input<'_>) -> Step {
        match self.state {
            State::Between { since } if self.ended > 0 && input.ending.is_some() => {
                Step::Leave(since)
            }
            _ => Step::More,
        }
    }
}

/// The type of all calls.
const TYPE: &str = "function";

/// Return true if `bytes` begin with a header that has a type; `None` if more bytes are needed.
fn begins_with_type(body: Headed, bytes: &[u8]) -> Option<bool> {
    let text = |wanted| body.marks.iter().find(|(_, mark)| *mark == wanted).map(|(text, _)| *text);
    let mut rest = bytes;
    if !body.opened
        && let Some(begin) = text(Mark::Begin)
        && starts(rest, &[begin.as_bytes()])?
    {
        rest = rest[begin.len()..].trim_ascii_start();
    }
    if !starts(rest, &[TYPE.as_bytes()])? {
        return Some(false);
    }
    starts(rest[TYPE.len()..].trim_ascii_start(), &[text(Mark::Arguments)?.as_bytes()])
}

/// Return the name that is known at the end of a part of a header.
fn name_span(part: Part, word: Option<(usize, usize)>) -> Option<(usize, usize)> {
    match part {
        Part::First => word,
        Part::Name { typed } => Some(word.unwrap_or(typed)),
        Part::Id { name } => Some(name),
    }
}

/// Return the place of the name in an id such as `functions.NAME:0`, and true if it is such an id.
///
/// Damaged ids lack the prefix, the dot, the colon or the number.
fn name_in_id(text: &str, grammar: &Grammar) -> (std::ops::Range<usize>, bool) {
    const PREFIX: &str = "functions";
    let (name, number) = text.rsplit_once(':').unwrap_or((text, ""));
    let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let rest = name.strip_prefix(PREFIX);
    let dotted = rest.and_then(|rest| rest.strip_prefix('.'));
    let bare = dotted.unwrap_or(name);
    let cut = |name: &str| name.trim_end_matches(|ch: char| ch.is_ascii_digit()).len();
    let candidates =
        [Some(bare), Some(&bare[..cut(bare)]), rest, rest.map(|rest| &rest[..cut(rest)])];
    let known = candidates.into_iter().flatten().find(|name| grammar.resolve(name).is_some());
    let found = known.unwrap_or(bare);
    let start = found.as_ptr() as usize - text.as_ptr() as usize;
    (start..start + found.len(), numbered)
}
