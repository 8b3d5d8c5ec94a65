//! Other names for the tools whose own names calls in text cannot have.

use std::{
    collections::{HashMap, HashSet},
    mem::take,
};

use serde_json::Value;

use super::{
    error::ApiError,
    part::{Call, Notice, Part, ReplyWriter},
};
use crate::{contract::check_name, parser::is_tag};

/// Maximum length of the name that an alias is made of, in bytes: with a number at its end, `OpenAI`
/// accepts it.
const MAX_STEM: usize = 48;

/// The aliases of one request: names that the upstream and its model see in place of those of the
/// client.
///
/// Only names that a call in text cannot have are replaced: invalid ones, and those of tags that
/// mean something else.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Aliases {
    /// The client's names, by alias.
    own: HashMap<String, String>,
}

impl Aliases {
    /// Replace the names that need it. What is no string is left for others to report.
    pub(super) fn replace(names: Vec<&mut Value>) -> Self {
        let own: Vec<&str> = names.iter().filter_map(|name| name.as_str()).collect();
        if !own.iter().any(|name| needs_alias(name)) {
            return Self::default();
        }
        // Names that differ in case alone are not told apart in every reply.
        let mut taken: HashSet<String> = own.iter().map(|name| name.to_lowercase()).collect();
        let mut aliases: HashMap<String, String> = HashMap::new();
        // Each number is tried once for a stem, whatever the names are.
        let mut numbers: HashMap<String, usize> = HashMap::new();
        for name in own {
            if !needs_alias(name) || aliases.contains_key(name) {
                continue;
            }
            let stem = stem(name);
            let number = numbers.entry(stem.clone()).or_default();
            let alias = loop {
                let candidate = match *number {
                    0 => stem.clone(),
                    1 => format!("{stem}_"),
                    more => format!("{stem}_{more}"),
                };
                *number += 1;
                if !needs_alias(&candidate) && taken.insert(candidate.to_lowercase()) {
                    break candidate;
                }
            };
            aliases.insert(name.to_owned(), alias);
        }
        for name in names {
            if let Some(alias) = name.as_str().and_then(|name| aliases.get(name)) {
                *name = alias.as_str().into();
            }
        }
        Self { own: aliases.into_iter().map(|(name, alias)| (alias, name)).collect() }
    }

    /// Return true if every name is the client's own.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.own.is_empty()
    }

    /// Return the client's name for one of the upstream's.
    #[must_use]
    pub fn own<'n>(&'n self, name: &'n str) -> &'n str {
        self.own.get(name).map_or(name, String::as_str)
    }

    /// Return an error with the client's names.
    pub(super) fn in_error(&self, mut error: ApiError) -> ApiError {
        for (alias, own) in &self.own {
            let quoted = format!("{alias:?}");
            if error.message.contains(&quoted) {
                error.message = error.message.replace(&quoted, &format!("{own:?}"));
            }
        }
        error
    }

    /// Return a writer that writes the client's names.
    pub(super) fn writer(&mut self, writer: Box<dyn ReplyWriter>) -> Box<dyn ReplyWriter> {
        if self.is_empty() { writer } else { Box::new(OwnNames { aliases: take(self), writer }) }
    }

    /// Return a remark with the client's names.
    fn in_notice(&self, notice: &Notice) -> Notice {
        let mut notice = notice.clone();
        match &mut notice {
            Notice::InvalidToolCall { name, .. }
            | Notice::UnrepairedToolCall { name, .. }
            | Notice::OmittedToolCall { name }
            | Notice::FabricatedResult { name: Some(name) } => *name = self.own(name).to_owned(),
            Notice::MissingToolCall { .. } | Notice::FabricatedResult { name: None } => {}
        }
        notice
    }
}

/// Return true if calls in text cannot have this name. A tool without a name has no alias either.
fn needs_alias(name: &str) -> bool {
    !name.is_empty() && (check_name(name).is_err() || is_tag(name))
}

/// Return a name of letters, digits, `_` and `-` that resembles `name`.
fn stem(name: &str) -> String {
    let is_plain = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '_' | '-');
    name.chars().take(MAX_STEM).map(|ch| if is_plain(ch) { ch } else { '_' }).collect()
}

/// A writer of replies with the names of the client.
struct OwnNames {
    aliases: Aliases,
    writer: Box<dyn ReplyWriter>,
}

impl ReplyWriter for OwnNames {
    fn write(&mut self, part: Part<'_>, out: &mut Vec<u8>) {
        let Self { aliases, writer } = self;
        match part {
            Part::Call(call) => {
                let name = aliases.own(call.name);
                writer.write(Part::Call(Call { name, ..call }), out);
            }
            Part::CallStart { index, id, name } => {
                let name = aliases.own(name);
                writer.write(Part::CallStart { index, id, name }, out);
            }
            Part::Notice(notice) => writer.write(Part::Notice(&aliases.in_notice(notice)), out),
            other => writer.write(other, out),
        }
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        self.writer.fail(error, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(names: &[&str]) -> Vec<String> {
        let mut values: Vec<Value> = names.iter().map(|&name| name.into()).collect();
        let aliases = Aliases::replace(values.iter_mut().collect());
        let found: Vec<_> = values.iter().map(|value| value.as_str().unwrap().to_owned()).collect();
        let own: Vec<_> = found.iter().map(|name| aliases.own(name)).collect();
        assert_eq!(own, names);
        found
    }

    #[test]
    fn an_alias_resembles_the_name_and_is_unique() {
        let long = "x".repeat(300);
        for (names, expected) in [
            (
                vec!["get_weather", "Bash", "mcp__a__b-c"],
                vec!["get_weather", "Bash", "mcp__a__b-c"],
            ),
            (vec!["tool_call"], vec!["tool_call_"]),
            (vec!["TOOL_CALL", "tool_response"], vec!["TOOL_CALL_", "tool_response_"]),
            (
                vec!["tool_call", "tool_call", "Tool_Call_"],
                vec!["tool_call_2", "tool_call_2", "Tool_Call_"],
            ),
            (vec!["think", "function_calls"], vec!["think_", "function_calls_"]),
            (vec!["a b", "a<b", "a_b"], vec!["a_b_", "a_b_2", "a_b"]),
            (vec![&long], vec![&long[..MAX_STEM]]),
            (vec![""], vec![""]),
        ] {
            assert_eq!(replaced(&names), expected, "{names:?}");
        }
    }

    #[test]
    fn many_names_of_one_stem_take_time_in_proportion() {
        let names: Vec<String> = (0..50_000).map(|n| format!("{}{n}", "<".repeat(60))).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let found: HashSet<String> = replaced(&names).into_iter().collect();
        assert_eq!(found.len(), names.len());
    }

    #[test]
    fn errors_have_the_own_names() {
        let mut name = Value::from("tool_call");
        let aliases = Aliases::replace(vec![&mut name]);
        let error = aliases.in_error(ApiError::field("tools", "tool \"tool_call_\" is odd"));
        assert_eq!(error.message, "tools: tool \"tool_call\" is odd");
    }
}
