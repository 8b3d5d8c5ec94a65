//! Tool calls and their results.

use std::{borrow::Cow, collections::HashMap};

use serde_json::Value;

use super::{
    error::{MessageError, Place},
    names::wire_names,
};

/// A request of the model to run a tool.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolCall {
    /// The id, unique within the reply, to which the result refers.
    #[cfg_attr(test, schemars(rename = "toolCallId"))]
    pub id: String,
    /// The name of the tool, as in its contract.
    pub name: String,
    /// The arguments: a JSON object, with numbers as the model wrote them.
    #[cfg_attr(test, schemars(with = "serde_json::Map<String, Value>"))]
    pub arguments: Value,
    /// The text that made the call: the complete span in the reply, including tags and fences, or
    /// the text of a native call's arguments. Empty for a call that no model wrote.
    #[cfg_attr(test, schemars(default))]
    pub raw: String,
    /// The position among the calls of the reply.
    pub index: usize,
    /// The repairs of the call, in order.
    #[cfg_attr(test, schemars(default))]
    pub repairs: Vec<Repair>,
    /// The dialect in which the call is written: `natural`, `native` for a call that the provider's
    /// API transports apart from the text, or another one that models write. Absent on the wire if
    /// it is `natural`.
    #[cfg_attr(test, schemars(default))]
    pub dialect: Cow<'static, str>,
    /// True for a call that was found in the text of a reply to a request with native tools. Absent
    /// on the wire if it is false.
    #[cfg_attr(test, schemars(default))]
    pub recovered: bool,
}

/// The dialect of calls that name no other.
pub const NATURAL: Cow<'static, str> = Cow::Borrowed("natural");

/// The dialect of calls that the provider's API transports apart from the text.
pub const NATIVE: Cow<'static, str> = Cow::Borrowed("native");

/// A change that made a call valid.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct Repair {
    /// The location, as a JSON Pointer into the arguments; empty for the call as a whole.
    pub path: String,
    /// The kind of change.
    #[cfg_attr(test, schemars(with = "String"))]
    pub kind: RepairKind,
    /// The original: the text for a change of syntax, the value for a change of type.
    #[cfg_attr(test, schemars(default))]
    pub before: Value,
    /// The replacement.
    #[cfg_attr(test, schemars(default))]
    pub after: Value,
}

wire_names! {
    /// The kind of a repair.
    RepairKind {
        /// The closing tag was missing; the call ends where its JSON or fence ends.
        ImplicitClose = "implicit_close",
        /// The name differed in case.
        NameCase = "name_case",
        /// A comma before a closing bracket.
        TrailingComma = "trailing_comma",
        /// A comma was missing between two members.
        MissingComma = "missing_comma",
        /// A `//`, `#` or `/* */` comment.
        Comment = "comment",
        /// A string in single, curly or back quotes.
        Quotes = "quotes",
        /// A quote inside a string that was not escaped.
        InnerQuote = "inner_quote",
        /// A key without quotes.
        BareKey = "bare_key",
        /// `True`, `False`, `None` and the like.
        Literal = "literal",
        /// A number in a format that JSON does not allow (`.5`, `+1`, `1_000`).
        Number = "number",
        /// A raw control character inside a string.
        ControlCharacter = "control_character",
        /// An escape that JSON does not have.
        Escape = "escape",
        /// A surrogate escape without its partner, now U+FFFD.
        LoneSurrogate = "lone_surrogate",
        /// A string or bracket without an end.
        MissingCloser = "missing_closer",
        /// A bracket that closes nothing, or the wrong one.
        WrongCloser = "wrong_closer",
        /// Text around the JSON: a label, a stray fence, prose.
        Debris = "debris",
        /// A value of another type, converted to the declared one.
        Type = "type",
        /// An enum value that differed in case.
        EnumCase = "enum_case",
        /// A scalar where a list is declared.
        WrapInArray = "wrap_in_array",
        /// JSON text where a structure is declared.
        JsonText = "json_text",
        /// A `null` for an optional member that does not allow it, removed.
        NullMember = "null_member",
        /// Another model was asked for the intended arguments.
        Fallback = "fallback",
    }
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename_all = "camelCase"))]
pub struct ToolResult {
    /// The id of the call.
    pub tool_call_id: String,
    /// The name of the tool. May be omitted on the wire if the call is known.
    #[cfg_attr(test, schemars(default))]
    pub name: String,
    /// The text that the model reads.
    pub result: String,
    /// True if the call failed.
    pub is_error: bool,
    /// The reason why the call failed, if it did.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub error_code: Option<ErrorCode>,
    /// Duration of the tool's execution, in seconds.
    pub duration: Option<f64>,
}

wire_names! {
    /// The reason why a call has no regular result.
    ErrorCode {
        /// No tool of that name.
        UnknownTool = "unknown_tool",
        /// The arguments are not JSON or do not fit the schema.
        InvalidArguments = "invalid_arguments",
        /// The tool raised an exception.
        ToolError = "tool_error",
        /// The tool timed out.
        Timeout = "timeout",
        /// The tool cancelled itself.
        Cancelled = "cancelled",
        /// The run ended while the tool was running.
        Interrupted = "interrupted",
        /// The approval was denied.
        Denied = "denied",
        /// A rate limit was exceeded.
        RateLimited = "rate_limited",
        /// The arguments or the result exceeded a size limit.
        TooLarge = "too_large",
        /// The reply exceeded the limit on calls.
        TooMany = "too_many",
    }
}

/// Sort the results of an aggregate in the order of its calls. Each result must belong to a call,
/// and no call may have two.
pub(crate) fn order_by_calls<'c, T>(
    calls: impl IntoIterator<Item = &'c str>,
    results: Vec<T>,
    id: impl Fn(&T) -> &str,
    place: &Place,
) -> Result<Vec<T>, MessageError> {
    let calls = calls.into_iter();
    let mut position_of = HashMap::with_capacity(calls.size_hint().0);
    let mut in_order = 0;
    for (position, call) in calls.enumerate() {
        in_order += usize::from(results.get(position).is_some_and(|result| id(result) == call));
        if position_of.insert(call, position).is_some() {
            let place = place.member("toolCalls").item(position);
            return Err(MessageError::RepeatedId { place, id: call.to_owned() });
        }
    }
    if in_order == results.len() {
        return Ok(results);
    }
    let mut slots: Vec<Option<T>> = position_of.iter().map(|_| None).collect();
    for (position, result) in results.into_iter().enumerate() {
        let id = id(&result);
        let place = || place.member("toolResults").item(position);
        match position_of.get(id).map(|&position| &mut slots[position]) {
            None => return Err(MessageError::NoCall { place: place(), id: id.to_owned() }),
            Some(Some(_)) => {
                return Err(MessageError::RepeatedId { place: place(), id: id.to_owned() });
            }
            Some(slot) => *slot = Some(result),
        }
    }
    Ok(slots.into_iter().flatten().collect())
}
