//! The request for a valid call, after a reply with an invalid one.

use std::fmt::Write as _;

use crate::{calls::InvalidKind, proxy::part::Notice, validator::Violation};

/// A call that cannot be run.
#[derive(Clone, Debug)]
pub(super) struct InvalidCall {
    pub(super) name: String,
    pub(super) kind: InvalidKind,
    pub(super) raw: String,
    pub(super) violations: Vec<Violation>,
}

/// The turns that ask for a correction: the reply of the model, and the answer to it.
#[derive(Clone, Debug)]
pub(super) struct Correction {
    pub(super) reply: String,
    pub(super) answer: String,
}

/// Maximum number of violations that are named for one call.
const MAX_VIOLATIONS: usize = 8;

impl InvalidCall {
    /// Return true if the model can write a valid call in its place. A call that was cut off or
    /// that exceeds a limit would only be cut off again.
    pub(super) fn is_correctable(&self) -> bool {
        use InvalidKind::{InvalidJson, Refused, SchemaViolation, UnknownTool};
        matches!(self.kind, UnknownTool | InvalidJson | SchemaViolation | Refused)
    }

    /// Return the remark for clients, with the errors of the call.
    pub(super) fn notice(&self) -> Notice {
        let errors = self.violations.iter().take(MAX_VIOLATIONS);
        let message = errors.map(|violation| violation.message.as_str()).collect::<Vec<_>>();
        Notice::InvalidToolCall {
            name: self.name.clone(),
            kind: self.kind,
            message: message.join("; "),
        }
    }
}

/// Return the text that asks for valid calls in place of these.
pub(super) fn answer(invalid: &[InvalidCall]) -> String {
    let mut text = String::new();
    for call in invalid {
        let _ = writeln!(text, "The call of `{}` was not run, because it is invalid:", call.name);
        for violation in call.violations.iter().take(MAX_VIOLATIONS) {
            let _ = writeln!(text, "- {}", violation.message);
        }
        text.push('\n');
    }
    let these = if invalid.len() == 1 { "the corrected call" } else { "the corrected calls" };
    text + &format!("Write {these} now, and nothing else. Do not repeat calls that are valid.")
}

/// Return the text that asks for a call, after a reply without one.
pub(super) fn call_is_missing(tools: &[&str]) -> String {
    match tools {
        [only] => format!("Your reply must be a call of `{only}`. Write the call now."),
        _ => "Your reply must be a call of one of the tools. Write the call now.".to_owned(),
    }
}
