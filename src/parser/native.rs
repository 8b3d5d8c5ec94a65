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
        let tool = self.grammar.resolve(name);
        let payload = arguments.trim_matches([' ', '\t', '\r', '\n']);
        let mut json = Json::new(self.grammar.limits().max_depth);
        let outcome = match ending {
            Ending::Truncated => Outcome::Unclosed,
            Ending::Complete => outcome(payload, &mut json, self.grammar.limits()),
        };
        FoundCall {
            index,
            tool,
            name: tool.map_or(name, |tool| self.grammar.tool(tool)),
            written: name,
            raw: arguments,
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

    /// Return the tool's name as registered, if `name` resolves to a tool, else `name`.
    pub fn known_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.grammar.resolve(name).map_or(name, |tool| self.grammar.tool(tool))
    }

    /// Return the limits of the parser.
    pub fn limits(&self) -> &Limits {
        self.grammar.limits()
    }
}

fn outcome(payload: &str, json: &mut Json, limits: &Limits) -> Outcome {
    if payload.is_empty() {
        return Outcome::Empty;
    }
    if payload.len() > limits.max_argument_bytes {
        return Outcome::TooLarge(Excess::Bytes);
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
