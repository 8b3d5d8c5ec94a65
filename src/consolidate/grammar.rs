//! The grammar by which texts of a transcript are parsed.

use std::collections::HashSet;

use super::escape::{attribute, attribute_value};
use crate::{
    calls::{CallOutcome, CallValidator, JsonValues, ReaderError, RepairMode, Tool},
    contract::{FunctionContract, MAX_NAME_BYTES, TOOL_CALL, TOOL_RESPONSE, check_name},
    message::{Role, ToolCall},
    parser::{Dialect, Dialects, FoundCall, InCode, Limits, Options, Parser, REASONING_TAGS},
    validator::Validator,
};

/// Limits for one call. The transcript is in memory already, so its length bounds the rest.
const LIMITS: Limits = Limits {
    max_depth: Limits::DEPTH_CEILING,
    max_argument_bytes: usize::MAX,
    max_repair_bytes: 1 << 20,
    max_tag_bytes: 512,
    max_calls: usize::MAX,
};

/// The longest tag that [`consolidate`](super::consolidate) writes for a valid tool name.
const MAX_OWN_TAG: usize = 6 * MAX_NAME_BYTES + 64;

/// The parsers and validators for the texts of a transcript.
pub(super) struct Grammar {
    /// The parser for the assistant's texts. It must not read anything itself.
    pub(super) replies: Parser,
    /// The parser for other texts, which contain no calls. It must not read anything itself.
    pub(super) answers: Parser,
    validator: CallValidator<Validator>,
    /// Tools that no tag can be named after.
    unnameable: HashSet<String>,
    accepts_any_name: bool,
}

impl Grammar {
    pub(super) fn new(
        tools: &[FunctionContract],
        dialects: &[Dialect],
    ) -> Result<Self, ReaderError> {
        let (nameable, unnameable): (Vec<_>, Vec<_>) =
            tools.iter().cloned().partition(|tool| !is_reserved(&tool.name));
        let names = nameable.iter().map(|tool| tool.name.as_str());
        let options = Options {
            dialects: Dialects::Named(dialects.to_vec()),
            deltas: false,
            limits: LIMITS,
            ..Options::default()
        };
        let answers = Options {
            dialects: Dialects::Named(dialects.iter().map(without_calls).collect()),
            reasoning_tags: Vec::new(),
            ..options.clone()
        };
        Ok(Self {
            replies: Parser::new(names, options)?,
            answers: Parser::new(Vec::<String>::new(), answers)?,
            validator: CallValidator::from_contracts(&nameable, RepairMode::Schema, LIMITS)?,
            unnameable: unnameable.into_iter().map(|tool| tool.name).collect(),
            accepts_any_name: tools.is_empty(),
        })
    }

    /// Return the call that a model made, if it is valid.
    pub(super) fn call(&self, found: &FoundCall<'_>) -> Option<ToolCall> {
        if found.tool.is_some() {
            return validated(&self.validator, found, found.name.to_owned());
        }
        let name = attribute_value(found.written)?;
        let is_known = self.accepts_any_name || self.unnameable.contains(&name);
        if is_known { unchecked(found, name) } else { None }
    }
}

/// Return true if a tag of this name has another meaning.
fn is_reserved(name: &str) -> bool {
    [TOOL_CALL, TOOL_RESPONSE].contains(&name) || REASONING_TAGS.contains(&name)
}

fn validated(
    validator: &CallValidator<Validator>,
    found: &FoundCall<'_>,
    name: String,
) -> Option<ToolCall> {
    match validator.validate(&JsonValues, found) {
        CallOutcome::Call { arguments, repairs } => {
            let (id, raw) = (String::new(), found.raw.to_owned());
            let (index, dialect) = (found.index, found.dialect.into());
            let recovered = found.recovered;
            Some(ToolCall { id, name, arguments, raw, index, repairs, dialect, recovered })
        }
        CallOutcome::Invalid { .. } => None,
    }
}

/// Return the call of a tool without a known schema.
pub(super) fn unchecked(found: &FoundCall<'_>, name: String) -> Option<ToolCall> {
    let tool = Tool { name: found.written.to_owned(), schema: None };
    let validator = CallValidator::new(vec![tool], RepairMode::Schema, LIMITS);
    validated(&validator, &FoundCall { tool: Some(0), ..found.clone() }, name)
}

/// Return a name as the parser reports it.
pub(super) fn as_written(name: &str) -> String {
    attribute(name).trim().to_owned()
}

/// Return a dialect that recognizes results only.
fn without_calls(dialect: &Dialect) -> Dialect {
    Dialect { forms: &[], blocks: &[], ..*dialect }
}

/// Create a parser for the blocks that `consolidate` writes for calls and results of these names.
/// Only these are live in its output, wherever they are.
pub(super) fn parser_of(names: &[&str], role: Role) -> Option<Parser> {
    let own = |name: &str| check_name(name).is_ok() && ![TOOL_CALL, TOOL_RESPONSE].contains(&name);
    let tools: HashSet<&str> = names.iter().copied().filter(|name| own(name)).collect();
    let longest = names.iter().map(|name| name.len()).max().unwrap_or_default();
    let limits = Limits {
        max_tag_bytes: (6 * longest + 64).clamp(LIMITS.max_tag_bytes, MAX_OWN_TAG),
        ..LIMITS
    };
    let forms = if role == Role::Assistant { Dialect::NATURAL.forms } else { &[] };
    let options = Options {
        dialects: Dialects::Named(vec![Dialect { forms, ..Dialect::NATURAL }]),
        deltas: false,
        reasoning_tags: Vec::new(),
        starts_in_reasoning: false,
        in_code: InCode::Call,
        limits,
    };
    Parser::new(tools, options).ok()
}
