//! Native calls, which the provider's API transports apart from the text.

use super::{
    Ending, Excess, FoundCall, Limits, Outcome, Parser, Syntax,
    json::{Json, Scan},
};

/// The dialect of calls that are not written as text.
const NATIVE: &str = "native";

impl Parser {
    /// Scan the arguments of a native call, by the rules for inline calls. The open reply, if any,
    /// is not affected.
    ///
    /// `arguments` is their whole text. A truncated reply has no complete call, even if the text
    /// looks complete.
    pub fn native<'a>(
        &'a self,
        index: usize,
        name: &'a str,
        arguments: &'a str,
        ending: Ending,
    ) -> FoundCall<'a> {
        let (name, tags) = self.without_tags(name);
        let tool = self.grammar.resolve(name);
        let limits = self.grammar.limits();
        let mut found = FoundCall::of_text(arguments, limits, ending);
        if matches!(found.payload, "" | "{}") && tags.starts_with("<arg_key>") {
            let payload = tags.trim_end().trim_end_matches("</tool_call>");
            found.payload = payload;
            found.syntax = Syntax::Pairs;
            found.outcome = match ending {
                Ending::Truncated => Outcome::Unclosed,
                Ending::Complete if payload.len() > limits.max_argument_bytes => {
                    Outcome::TooLarge(Excess::Bytes)
                }
                Ending::Complete => Outcome::Whole { strict: true, implicit_close: false },
            };
        }
        let name_of = |tool| self.grammar.tool(tool);
        FoundCall { index, tool, name: tool.map_or(name, name_of), written: name, ..found }
    }

    /// Return the tool's name as registered, if `name` resolves to a tool, else `name`.
    pub fn known_name<'a>(&'a self, name: &'a str) -> &'a str {
        let (name, _) = self.without_tags(name);
        self.grammar.resolve(name).map_or(name, |tool| self.grammar.tool(tool))
    }

    /// Split the name of a tool from tags of GLM that a server has taken for a part of it.
    fn without_tags<'n>(&self, name: &'n str) -> (&'n str, &'n str) {
        const TAGS: [&str; 3] = ["<arg_key>", "</arg_value>", "</tool_call>"];
        let split = name.find('<').map(|at| name.split_at(at));
        let is_tagged = |&(name, tags): &(&str, &str)| {
            TAGS.iter().any(|tag| tags.starts_with(tag))
                && self.grammar.resolve(name.trim_end()).is_some()
        };
        match split.filter(is_tagged) {
            Some((name, tags)) => (name.trim_end(), tags),
            None => (name, ""),
        }
    }

    /// Return the limits of the parser.
    pub fn limits(&self) -> &Limits {
        self.grammar.limits()
    }
}

impl<'a> FoundCall<'a> {
    /// Scan a text that is one JSON value, by the rules for the arguments of native calls.
    pub fn of_text(text: &'a str, limits: &Limits, ending: Ending) -> Self {
        let payload = text.trim_matches([' ', '\t', '\r', '\n']);
        let mut json = Json::new(limits.max_depth);
        let outcome = match ending {
            Ending::Truncated => Outcome::Unclosed,
            Ending::Complete if payload.len() > limits.max_argument_bytes => {
                Outcome::TooLarge(Excess::Bytes)
            }
            Ending::Complete => outcome(payload, &mut json),
        };
        Self {
            index: 0,
            tool: None,
            name: "",
            written: "",
            raw: text,
            payload,
            fenced: false,
            outcome,
            lone_surrogates: json.lone_surrogates(),
            id: None,
            dialect: NATIVE,
            syntax: Syntax::Json,
            recovered: false,
        }
    }
}

fn outcome(payload: &str, json: &mut Json) -> Outcome {
    if payload.is_empty() {
        return Outcome::Empty;
    }
    if !payload.starts_with('{') {
        return Outcome::Broken;
    }
    let bytes = payload.as_bytes();
    let mut pos = 0;
    loop {
        match json.scan(&bytes[pos..], &mut pos) {
            // No tag ends this payload, so `<` is an ordinary character.
            Scan::Angle => pos += 1,
            Scan::End if pos == bytes.len() => {
                return Outcome::Whole { strict: json.strict(), implicit_close: false };
            }
            Scan::TooDeep => return Outcome::TooLarge(Excess::Depth),
            Scan::End | Scan::More | Scan::Broken => return Outcome::Broken,
        }
    }
}
