//! A reader of Rust source that finds the modules it uses.

/// Return the words and punctuation of a source, without comments, strings and characters.
pub(super) fn tokens(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if first == '"' {
            string(rest)
        } else if first == '\'' {
            character(rest)
        } else if let Some(length) = raw_string(rest) {
            length
        } else {
            let length = match rest.find(|ch: char| !(ch.is_alphanumeric() || ch == '_')) {
                None => rest.len(),
                Some(0) if rest.starts_with("::") => 2,
                Some(0) => first.len_utf8(),
                Some(length) => length,
            };
            if !first.is_whitespace() {
                found.push(&rest[..length]);
            }
            length
        };
        rest = &rest[length..];
    }
    found
}

/// Return the length of the block comment at the start of a text, nested comments included.
fn block_comment(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let step = &text.as_bytes()[at..];
        if step.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if step.starts_with(b"*/") {
            depth -= 1;
            at += 2;
        } else {
            at += 1;
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Return the length of the string at the start of a text.
fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, ch) in text.char_indices().skip(1) {
        match ch {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Return the length of the raw string at the start of a text, if there is one.
fn raw_string(text: &str) -> Option<usize> {
    let body = ["r", "br", "cr"].iter().find_map(|prefix| text.strip_prefix(prefix))?;
    let quoted = body.trim_start_matches('#');
    let hashes = &body[..body.len() - quoted.len()];
    let close = format!("\"{hashes}");
    let inside = quoted.strip_prefix('"')?;
    let end = inside.find(&close).map_or(inside.len(), |at| at + close.len());
    Some(text.len() - inside.len() + end)
}

/// Return the length of the character at the start of a text, or of a lifetime's apostrophe.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    let escaped = chars.next().is_some_and(|(_, ch)| ch == '\\');
    if escaped {
        chars.next();
        return chars.find(|(_, ch)| *ch == '\'').map_or(text.len(), |(at, _)| at + 1);
    }
    match chars.next() {
        Some((at, '\'')) => at + 1,
        _ => 1,
    }
}

/// A path in a source, with its position.
#[derive(Debug, PartialEq)]
pub(super) struct Reference<'s> {
    /// The enclosing modules in the file itself, outermost first.
    pub(super) within: Vec<&'s str>,
    /// The path as written; a `use` of several names has one for each.
    pub(super) path: Vec<&'s str>,
    /// The name that a `use` binds.
    pub(super) binds: Option<&'s str>,
}

/// The declarations and references of a source.
#[derive(Debug, Default)]
pub(super) struct Outline<'s> {
    /// All `mod`s with their enclosing modules, with or without a body.
    pub(super) modules: Vec<Vec<&'s str>>,
    pub(super) references: Vec<Reference<'s>>,
}

pub(super) fn outline<'s>(tokens: &[&'s str]) -> Outline<'s> {
    let mut reader = Reader { tokens, at: 0, out: Outline::default() };
    // The open modules, each with its number of enclosing braces.
    let mut open: Vec<(&str, usize)> = Vec::new();
    let mut braces = 0_usize;
    while let Some(token) = reader.next() {
        match token {
            "{" => braces += 1,
            "}" => {
                braces = braces.saturating_sub(1);
                open.pop_if(|(_, outside)| *outside == braces);
            }
            // Not the `use<'a>` of a bound.
            "use" if reader.peek() != "<" => {
                let within: Vec<_> = open.iter().map(|(name, _)| *name).collect();
                reader.path(&within, &[], true);
            }
            "mod" => {
                let Some(name) = reader.next() else { break };
                let mut module: Vec<_> = open.iter().map(|(name, _)| *name).collect();
                module.push(name);
                reader.out.modules.push(module);
                if reader.peek() == "{" {
                    open.push((name, braces));
                }
            }
            word if is_word(word) && reader.peek() == "::" => {
                reader.at -= 1;
                let within: Vec<_> = open.iter().map(|(name, _)| *name).collect();
                reader.path(&within, &[], false);
            }
            _ => {}
        }
    }
    reader.out
}

fn is_word(token: &str) -> bool {
    token.starts_with(|ch: char| ch.is_alphabetic() || ch == '_')
}

struct Reader<'t, 's> {
    tokens: &'t [&'s str],
    at: usize,
    out: Outline<'s>,
}

impl<'s> Reader<'_, 's> {
    fn peek(&self) -> &'s str {
        self.tokens.get(self.at).copied().unwrap_or_default()
    }

    fn next(&mut self) -> Option<&'s str> {
        let token = self.tokens.get(self.at).copied();
        self.at += 1;
        token
    }

    /// Read `a::b::{c, d as e, f::*}`, starting from `prefix`.
    fn path(&mut self, within: &[&'s str], prefix: &[&'s str], in_use: bool) {
        let mut path = prefix.to_vec();
        loop {
            let token = self.peek();
            if is_word(token) || token == "*" {
                path.push(token);
                self.at += 1;
            } else if token == "{" && in_use {
                self.at += 1;
                while !matches!(self.peek(), "}" | "") {
                    let before = self.at;
                    self.path(within, &path, in_use);
                    if self.peek() == "," || self.at == before {
                        self.at += 1;
                    }
                }
                self.at += 1;
                return;
            } else {
                // `a::<T>`: the rest is not a path.
                break;
            }
            if self.peek() != "::" {
                break;
            }
            self.at += 1;
        }
        if path.last() == Some(&"self") && path.len() > 1 {
            path.pop();
        }
        let mut binds = path.last().copied().filter(|_| in_use);
        if in_use && self.peek() == "as" {
            self.at += 1;
            binds = self.next();
        }
        self.out.references.push(Reference { within: within.to_vec(), path, binds });
    }
}
