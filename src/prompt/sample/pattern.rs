//! Sampling of strings that match a regular expression.
//!
//! Only common features are supported: literals, classes, groups, alternatives, repetition.
//! Lookaround is skipped, in the hope that the rest implies it; patterns with anything else are
//! rejected. The validator checks the results.

use std::{iter::Peekable, str::Chars};

/// Maximum nesting depth of groups.
const MAX_GROUPS: usize = 20;

/// Maximum length of a sample in bytes; longer strings are unsuitable as examples.
const MAX_BYTES: usize = 500;

/// The characters to draw from a class, in order of preference.
const PREFERRED: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ123456789 0-_./";

/// Draw a string that should match `pattern`; `None` if it uses unsupported features or the string
/// would be too long. Repetitions are repeated `more` times beyond their minimum; `branch` selects
/// among alternatives, and `variant` among the characters of a class.
pub(super) fn sample(pattern: &str, more: usize, branch: usize, variant: usize) -> Option<String> {
    let read = |variant| {
        let chars = pattern.chars().peekable();
        let mut reader = Reader { chars, groups: 0, more, branch, variant };
        let text = reader.branches()?;
        reader.chars.next().is_none().then_some(text)
    };
    let text = read(variant)?;
    // A pattern without variation may be open at its end.
    let is_varied = variant == 0 || read(0).as_ref() != Some(&text);
    Some(if is_varied { text } else { format!("{text}{}", variant + 1) })
}

/// A reader of a pattern, which writes the sample as it goes.
struct Reader<'p> {
    chars: Peekable<Chars<'p>>,
    groups: usize,
    more: usize,
    branch: usize,
    variant: usize,
}

/// A class of characters, as ranges.
struct Class {
    ranges: Vec<(char, char)>,
    negated: bool,
}

impl Class {
    fn of(ranges: &[(char, char)], negated: bool) -> Self {
        Self { ranges: ranges.to_vec(), negated }
    }

    fn draw(&self, variant: usize) -> Option<char> {
        let is_in = |ch: &char| {
            self.ranges.iter().any(|(first, last)| (first..=last).contains(&ch)) != self.negated
        };
        let preferred: Vec<char> = PREFERRED.chars().filter(is_in).collect();
        match preferred.len() {
            0 if self.negated => None,
            0 => self.ranges.first().map(|(first, _)| *first),
            count => Some(preferred[variant % count]),
        }
    }
}

impl Reader<'_> {
    fn branches(&mut self) -> Option<String> {
        let mut branches = vec![String::new()];
        while let Some(next) = self.chars.next_if(|next| *next != ')') {
            if next == '|' {
                branches.push(String::new());
                continue;
            }
            let atom = self.atom(next)?;
            let (least, most) = self.repetition()?;
            let count = least.saturating_add(self.more).min(most);
            let text = branches.last_mut()?;
            if atom.len().saturating_mul(count) > MAX_BYTES - text.len() {
                return None;
            }
            text.push_str(&atom.repeat(count));
        }
        let chosen = self.branch % branches.len();
        Some(branches.swap_remove(chosen))
    }

    fn atom(&mut self, first: char) -> Option<String> {
        let class = match first {
            '^' | '$' => return Some(String::new()),
            '(' => return self.group(),
            '\\' => match self.chars.next()? {
                'b' | 'B' => return Some(String::new()),
                escape => self.escape(escape)?,
            },
            '.' => Class::of(&[('\n', '\n'), ('\r', '\r')], true),
            '[' => self.class()?,
            '*' | '+' | '?' => return None,
            ch => Class::of(&[(ch, ch)], false),
        };
        class.draw(self.variant).map(String::from)
    }

    fn group(&mut self) -> Option<String> {
        self.groups += 1;
        if self.groups > MAX_GROUPS {
            return None;
        }
        let mut looks_around = false;
        if self.chars.next_if_eq(&'?').is_some() {
            self.chars.next_if_eq(&'P');
            let is_angled = self.chars.next_if_eq(&'<').is_some();
            looks_around = self.chars.next_if(|ch| matches!(ch, '=' | '!')).is_some();
            if is_angled && !looks_around {
                // The name of the group.
                self.chars.by_ref().find(|ch| *ch == '>')?;
            } else if !looks_around {
                self.chars.next_if_eq(&':')?;
            }
        }
        let text = self.branches()?;
        self.groups -= 1;
        self.chars.next_if_eq(&')')?;
        Some(if looks_around { String::new() } else { text })
    }

    fn class(&mut self) -> Option<Class> {
        let negated = self.chars.next_if_eq(&'^').is_some();
        let mut ranges: Vec<(char, char)> = Vec::new();
        loop {
            let first = match self.chars.next()? {
                ']' => return Some(Class { ranges, negated }),
                '[' if self.chars.peek() == Some(&':') => return None,
                ch => self.class_member(ch)?,
            };
            let mut ahead = self.chars.clone();
            if ahead.next() == Some('-') && !matches!(ahead.peek(), None | Some(']')) {
                self.chars.next();
                let last = self.chars.next()?;
                ranges.push((first.first()?.0, self.class_member(last)?.first()?.1));
            } else {
                ranges.extend(first);
            }
        }
    }

    /// Read a character of a class, or the class of an escape.
    fn class_member(&mut self, first: char) -> Option<Vec<(char, char)>> {
        if first != '\\' {
            return Some(vec![(first, first)]);
        }
        let escape = self.chars.next()?;
        let class = self.escape(escape)?;
        (!class.negated).then_some(class.ranges)
    }

    fn escape(&mut self, escape: char) -> Option<Class> {
        let ch = match escape {
            'd' | 'D' => return Some(Class::of(&[('0', '9')], escape == 'D')),
            'w' | 'W' => {
                let word = [('a', 'z'), ('A', 'Z'), ('0', '9'), ('_', '_')];
                return Some(Class::of(&word, escape == 'W'));
            }
            's' | 'S' => {
                let space = [(' ', ' '), ('\t', '\r'), ('\u{a0}', '\u{a0}')];
                return Some(Class::of(&space, escape == 'S'));
            }
            'p' => return self.property(),
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'x' => self.code_point(2)?,
            'u' => self.code_point(4)?,
            ch if ch.is_ascii_alphanumeric() => return None,
            ch => ch,
        };
        Some(Class::of(&[(ch, ch)], false))
    }

    fn code_point(&mut self, digits: usize) -> Option<char> {
        let digits: String = self.chars.by_ref().take(digits).collect();
        char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
    }

    /// Read one of the few supported character properties.
    fn property(&mut self) -> Option<Class> {
        self.chars.next_if_eq(&'{')?;
        let name: String = self.chars.by_ref().take_while(|ch| *ch != '}').collect();
        let ranges: &[_] = match name.as_str() {
            "L" | "Letter" | "Alphabetic" => &[('a', 'z'), ('A', 'Z')],
            "Ll" | "Lowercase_Letter" => &[('a', 'z')],
            "Lu" | "Uppercase_Letter" => &[('A', 'Z')],
            "N" | "Nd" | "digit" => &[('0', '9')],
            _ => return None,
        };
        Some(Class::of(ranges, false))
    }

    /// Read the least and the largest count of a repetition.
    fn repetition(&mut self) -> Option<(usize, usize)> {
        let bounds = match self.chars.next_if(|next| matches!(next, '*' | '+' | '?' | '{')) {
            None => return Some((1, 1)),
            Some('*') => (0, usize::MAX),
            Some('+') => (1, usize::MAX),
            Some('?') => (0, 1),
            Some(_) => {
                let inside: String = self.chars.by_ref().take_while(|ch| *ch != '}').collect();
                let (least, most) = inside.split_once(',').unwrap_or((&inside, &inside));
                let most = if most.is_empty() { usize::MAX } else { most.parse().ok()? };
                (least.parse().ok()?, most)
            }
        };
        self.chars.next_if_eq(&'?');
        Some(bounds)
    }
}
