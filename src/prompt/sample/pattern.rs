//! Sampling of strings that match a regular expression.
//!
//! Only common features are supported: literals, classes, groups, alternatives, repetition.
//! Lookaround is skipped, in the hope that the rest implies it; patterns with anything else are
//! rejected. The validator checks the results.

use std::{iter::Peekable, str::Chars};

/// Maximum nesting depth of groups.
const MAX_GROUPS: usize = 20;

/// A parsed regular expression.
#[derive(Debug)]
pub(super) struct Pattern(Vec<Vec<Item>>);

#[derive(Debug)]
struct Item {
    atom: Atom,
    least: usize,
    most: Option<usize>,
}

#[derive(Debug)]
enum Atom {
    Char(char),
    Class { ranges: Vec<(char, char)>, negated: bool },
    Group(Vec<Vec<Item>>),
    Nothing,
}

/// The characters of `\w`.
const WORD: [(char, char); 4] = [('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')];

/// The characters of `\s`, as far as they matter.
const SPACE: [(char, char); 3] = [(' ', ' '), ('\t', '\r'), ('\u{a0}', '\u{a0}')];

/// The characters to draw from a class, in order of preference.
const PREFERRED: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ123456789 0-_./";

impl Pattern {
    /// Parse a pattern; `None` if it uses unsupported features.
    pub(super) fn parse(pattern: &str) -> Option<Self> {
        let mut reader = Reader { chars: pattern.chars().peekable(), groups: 0 };
        let branches = reader.branches()?;
        reader.chars.next().is_none().then_some(Self(branches))
    }

    /// Draw a string that should match, of at most `limit` characters. Repetitions are repeated
    /// `more` times beyond their minimum; `branch` selects among alternatives, and `variant` among
    /// the characters of a class.
    pub(super) fn sample(
        &self,
        more: usize,
        branch: usize,
        variant: usize,
        limit: usize,
    ) -> Option<String> {
        let mut writer = Writer { text: String::new(), left: limit, more, branch, variant };
        writer.branches(&self.0)?;
        Some(writer.text)
    }
}

struct Writer {
    text: String,
    left: usize,
    more: usize,
    branch: usize,
    variant: usize,
}

impl Writer {
    fn branches(&mut self, branches: &[Vec<Item>]) -> Option<()> {
        for item in &branches[self.branch % branches.len()] {
            let count = item.least + self.more;
            let count = item.most.map_or(count, |most| count.min(most));
            for _ in 0..count {
                self.left = self.left.checked_sub(1)?;
                match &item.atom {
                    Atom::Char(ch) => self.text.push(*ch),
                    Atom::Class { ranges, negated } => {
                        let ch = from_class(ranges, *negated, self.variant)?;
                        self.text.push(ch);
                    }
                    Atom::Group(branches) => self.branches(branches)?,
                    Atom::Nothing => {}
                }
            }
        }
        Some(())
    }
}

fn from_class(ranges: &[(char, char)], negated: bool, variant: usize) -> Option<char> {
    let is_in =
        |ch: &char| ranges.iter().any(|(first, last)| (first..=last).contains(&ch)) != negated;
    let preferred: Vec<char> = PREFERRED.chars().filter(is_in).collect();
    match preferred.len() {
        0 if negated => None,
        0 => ranges.first().map(|(first, _)| *first),
        count => Some(preferred[variant % count]),
    }
}

struct Reader<'p> {
    chars: Peekable<Chars<'p>>,
    groups: usize,
}

impl Reader<'_> {
    fn branches(&mut self) -> Option<Vec<Vec<Item>>> {
        let mut branches = vec![Vec::new()];
        while let Some(next) = self.chars.peek() {
            match next {
                ')' => break,
                '|' => {
                    self.chars.next();
                    branches.push(Vec::new());
                }
                _ => {
                    let atom = self.atom()?;
                    let (least, most) = self.repetition()?;
                    branches.last_mut()?.push(Item { atom, least, most });
                }
            }
        }
        Some(branches)
    }

    fn atom(&mut self) -> Option<Atom> {
        Some(match self.chars.next()? {
            '^' | '$' => Atom::Nothing,
            '.' => Atom::Class { ranges: vec![('\n', '\n'), ('\r', '\r')], negated: true },
            '[' => self.class()?,
            '(' => self.group()?,
            '\\' => match self.chars.next()? {
                'b' | 'B' => Atom::Nothing,
                '1'..='9' | 'k' => return None,
                escape => self.escape(escape)?,
            },
            '*' | '+' | '?' => return None,
            ch => Atom::Char(ch),
        })
    }

    fn group(&mut self) -> Option<Atom> {
        self.groups += 1;
        if self.groups > MAX_GROUPS {
            return None;
        }
        let mut looks_around = false;
        if self.chars.peek() == Some(&'?') {
            self.chars.next();
            match self.chars.next()? {
                ':' => {}
                '=' | '!' => looks_around = true,
                'P' | '<' => {
                    if matches!(self.chars.peek(), Some('=' | '!')) {
                        looks_around = true;
                    }
                    // The name of the group.
                    while !looks_around && self.chars.next()? != '>' {}
                    if looks_around {
                        self.chars.next();
                    }
                }
                _ => return None,
            }
        }
        let branches = self.branches()?;
        self.groups -= 1;
        if self.chars.next() != Some(')') {
            return None;
        }
        Some(if looks_around { Atom::Nothing } else { Atom::Group(branches) })
    }

    fn class(&mut self) -> Option<Atom> {
        let negated = self.chars.next_if_eq(&'^').is_some();
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let first = match self.chars.next()? {
                ']' => break,
                '\\' => match self.chars.next()? {
                    'b' => '\u{8}',
                    escape => match self.escape(escape)? {
                        Atom::Char(ch) => ch,
                        Atom::Class { ranges: more, negated: false } => {
                            ranges.extend(more);
                            continue;
                        }
                        _ => return None,
                    },
                },
                '[' if self.chars.peek() == Some(&':') => return None,
                ch => ch,
            };
            ranges.push((first, self.range_end(first)?));
        }
        Some(Atom::Class { ranges, negated })
    }

    /// Parse the last character of a range that may begin with `first`.
    fn range_end(&mut self, first: char) -> Option<char> {
        let mut ahead = self.chars.clone();
        if ahead.next() != Some('-') || matches!(ahead.peek(), None | Some(']')) {
            return Some(first);
        }
        self.chars.next();
        match self.chars.next()? {
            '\\' => {
                let escape = self.chars.next()?;
                match self.escape(escape)? {
                    Atom::Char(last) => Some(last),
                    _ => None,
                }
            }
            last => Some(last),
        }
    }

    fn escape(&mut self, escape: char) -> Option<Atom> {
        let class = |ranges: &[(char, char)], negated| {
            Some(Atom::Class { ranges: ranges.to_vec(), negated })
        };
        match escape {
            'd' => class(&[('0', '9')], false),
            'D' => class(&[('0', '9')], true),
            'w' => class(&WORD, false),
            'W' => class(&WORD, true),
            's' => class(&SPACE, false),
            'S' => class(&SPACE, true),
            'n' => Some(Atom::Char('\n')),
            'r' => Some(Atom::Char('\r')),
            't' => Some(Atom::Char('\t')),
            'f' => Some(Atom::Char('\u{c}')),
            'v' => Some(Atom::Char('\u{b}')),
            '0' => Some(Atom::Char('\0')),
            'x' => self.code_point(2),
            'u' => self.code_point(4),
            'p' => self.property(),
            ch if ch.is_ascii_alphanumeric() => None,
            ch => Some(Atom::Char(ch)),
        }
    }

    fn code_point(&mut self, digits: usize) -> Option<Atom> {
        let digits: String = self.chars.by_ref().take(digits).collect();
        char::from_u32(u32::from_str_radix(&digits, 16).ok()?).map(Atom::Char)
    }

    /// Parse one of the few supported character properties.
    fn property(&mut self) -> Option<Atom> {
        if self.chars.next()? != '{' {
            return None;
        }
        let name: String = self.chars.by_ref().take_while(|ch| *ch != '}').collect();
        let ranges = match name.as_str() {
            "L" | "Letter" | "Alphabetic" => vec![('a', 'z'), ('A', 'Z')],
            "Ll" | "Lowercase_Letter" => vec![('a', 'z')],
            "Lu" | "Uppercase_Letter" => vec![('A', 'Z')],
            "N" | "Nd" | "digit" => vec![('0', '9')],
            _ => return None,
        };
        Some(Atom::Class { ranges, negated: false })
    }

    fn repetition(&mut self) -> Option<(usize, Option<usize>)> {
        let bounds = match self.chars.peek() {
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('?') => (0, Some(1)),
            Some('{') => return self.counted(),
            _ => return Some((1, Some(1))),
        };
        self.chars.next();
        self.chars.next_if_eq(&'?');
        Some(bounds)
    }

    fn counted(&mut self) -> Option<(usize, Option<usize>)> {
        self.chars.next();
        let inside: String = self.chars.by_ref().take_while(|ch| *ch != '}').collect();
        self.chars.next_if_eq(&'?');
        let (least, most) = match inside.split_once(',') {
            None => {
                let count = inside.parse().ok()?;
                return Some((count, Some(count)));
            }
            Some((least, most)) => (least.parse().ok()?, most),
        };
        Some((least, if most.is_empty() { None } else { Some(most.parse().ok()?) }))
    }
}
