//! Calls that have begun and not ended, and how much of each the client has.

use std::collections::BTreeMap;

use crate::parser::CallId;

/// The calls of a reply that have begun and not ended, by index.
#[derive(Debug, Default)]
pub(super) struct OpenCalls(BTreeMap<usize, OpenCall>);

/// A call that has begun and not ended.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) id: Option<CallId<String>>,
    pub(super) name: String,
    pub(super) recovered: bool,
    pub(super) passing: Passing,
}

/// The way in which the arguments of a call are sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Passing {
    /// At the end, validated.
    Whole,
    /// To be decided once the arguments have begun; with what there is of them.
    Undecided(String),
    /// As they are written.
    Streamed {
        /// The position among the calls that the client gets.
        position: usize,
        /// The id that the client knows.
        id: String,
    },
}

/// Maximum length of arguments that have not begun, in bytes: of white space.
const MAX_UNDECIDED: usize = 64;

impl OpenCalls {
    pub(super) fn insert(&mut self, index: usize, call: OpenCall) {
        self.0.insert(index, call);
    }

    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut OpenCall> {
        self.0.get_mut(&index)
    }

    pub(super) fn remove(&mut self, index: usize) -> Option<OpenCall> {
        self.0.remove(&index)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Return true if a call of this tool is streamed that was found in the other way: natively, or
    /// in the text.
    pub(super) fn streams_counterpart(&self, name: &str, recovered: bool) -> bool {
        self.0.values().any(|call| {
            matches!(call.passing, Passing::Streamed { .. })
                && call.name == name
                && call.recovered != recovered
        })
    }
}

impl OpenCall {
    /// Append a fragment to arguments that have not begun. Return all of it once it has begun as
    /// JSON; anything else is passed on whole.
    pub(super) fn begun(&mut self, fragment: &str) -> Option<String> {
        let Passing::Undecided(text) = &mut self.passing else { return None };
        text.push_str(fragment);
        let begun = begins_as_json(text);
        let text = std::mem::take(text);
        match begun {
            None if text.len() <= MAX_UNDECIDED => {
                self.passing = Passing::Undecided(text);
                None
            }
            None | Some(false) => {
                self.passing = Passing::Whole;
                None
            }
            Some(true) => Some(text),
        }
    }
}

/// Return true if a text begins as a JSON object; `None` if that is not certain yet.
fn begins_as_json(text: &str) -> Option<bool> {
    let mut significant = text.chars().filter(|ch| !ch.is_ascii_whitespace());
    Some(significant.next()? == '{' && matches!(significant.next()?, '"' | '}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_streamed_once_they_have_begun_as_json() {
        let undecided = |text: &str| Passing::Undecided(text.to_owned());
        for (fragments, begun, passing) in [
            (&["{", " \""][..], Some("{ \""), undecided("")),
            (&["\n", "{}"], Some("\n{}"), undecided("")),
            (&["", " ", "{"], None, undecided(" {")),
            (&["{ci"], None, Passing::Whole),
            (&["city=1"], None, Passing::Whole),
            (&[" ".repeat(MAX_UNDECIDED + 1).as_str()], None, Passing::Whole),
        ] {
            let passing_at_first = undecided("");
            let mut call = OpenCall {
                id: None,
                name: "t".to_owned(),
                recovered: false,
                passing: passing_at_first,
            };
            let found = fragments.iter().find_map(|fragment| call.begun(fragment));
            assert_eq!(found.as_deref(), begun, "{fragments:?}");
            assert_eq!(call.passing, passing, "{fragments:?}");
        }
    }
}
