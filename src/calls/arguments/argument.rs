//! The arguments of a call, one by one, and their JSON text.

use super::literal::push_string;

/// An argument of a call whose payload is not JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument<'t> {
    /// The name.
    pub name: &'t str,
    /// The value.
    pub value: ArgumentValue<'t>,
}

/// The value of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentValue<'t> {
    /// A string: the text itself, without escapes.
    Text(&'t str),
    /// The JSON text of another value.
    Json(String),
}

/// Return an object of arguments as JSON text.
pub(crate) fn object_json(arguments: &[Argument<'_>]) -> String {
    let length = |argument: &Argument<'_>| match &argument.value {
        ArgumentValue::Text(text) => text.len(),
        ArgumentValue::Json(json) => json.len(),
    };
    // Room for quotes, a colon and a comma, and for some escapes.
    let room = arguments.iter().map(|argument| argument.name.len() + length(argument) + 16).sum();
    let mut json = String::with_capacity(room);
    json.push('{');
    for (at, argument) in arguments.iter().enumerate() {
        if at > 0 {
            json.push_str(", ");
        }
        push_string(&mut json, argument.name);
        json.push_str(": ");
        match &argument.value {
            ArgumentValue::Text(text) => push_string(&mut json, text),
            ArgumentValue::Json(value) => json.push_str(value),
        }
    }
    json.push('}');
    json
}
