//! Calls that a provider's own protocol carries: found already, but not looked at.

use super::{
    Ending, Excess, FoundCall, Limits, Outcome, Parser,
    json::{Json, Scan},
};

impl Parser {
    /// Look at the arguments of such a call, by the rules for those of inline calls. The reply that
    /// is being read, if any, has no part in it.
    ///
    /// `arguments` is all of their text. A reply that was cut off in this call has no call in it,
    /// however whole the text looks.
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
        }
    }

    /// Return the tool's name as registered, if this is a name that a tool is called by.
    pub fn known_name<'a>(&'a self, name: &'a str) -> &'a str {
        self.grammar.resolve(name).map_or(name, |tool| self.grammar.tool(tool))
    }

    /// What a reply may cost.
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
            // No tag ends this payload, so it is a character like any other.
            Scan::Angle => pos += 1,
            Scan::End if pos == bytes.len() => {
                return Outcome::Whole { strict: json.strict(), implicit_close: false };
            }
            Scan::TooDeep => return Outcome::TooLarge(Excess::Depth),
            Scan::End | Scan::More | Scan::Broken => return Outcome::Broken,
        }
    }
}
