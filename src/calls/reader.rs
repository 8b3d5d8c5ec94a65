//! Events of a streamed reply, with arguments as `serde_json` values.

use std::collections::HashSet;

use serde_json::{Map, Value};
use thiserror::Error;

use super::{
    Argument, ArgumentValue, Backend, CallOutcome, CallValidator, Event, InvalidToolCall,
    RepairMode, Tool,
};
use crate::{
    contract::FunctionContract,
    message::ToolCall,
    parser::{self, CallId, Ending, FoundCall, Frame, GrammarError, Limits, Parser},
    validator::{SchemaError, Validator, Violation, excess},
};

/// The options of a reader.
#[derive(Clone, Debug)]
pub struct Options {
    /// The options of the parser.
    pub parser: parser::Options,
    /// The extent to which arguments are repaired.
    pub repair: RepairMode,
}

impl Default for Options {
    fn default() -> Self {
        Self { parser: parser::Options::default(), repair: RepairMode::Schema }
    }
}

/// Invalid contracts or options.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReaderError {
    /// Tools or options are invalid.
    #[error(transparent)]
    Grammar(#[from] GrammarError),
    /// The parameters of a tool are not a JSON Schema.
    #[error("parameters of tool {name:?}: {source}")]
    Schema {
        /// The tool.
        name: String,
        /// The error.
        source: SchemaError,
    },
}

/// Arguments as `serde_json` values.
#[derive(Clone, Copy, Debug)]
pub struct JsonValues;

impl Backend for JsonValues {
    type Value = Value;
    type Schema = Validator;

    fn parse(&self, json: &str) -> Result<Value, String> {
        within_limits(super::json::parse(json).map_err(|err| err.to_string())?)
    }

    fn object(&self, arguments: &[Argument<'_>]) -> Result<Value, String> {
        let mut object = Map::with_capacity(arguments.len());
        for Argument { name, value } in arguments {
            let value = match value {
                ArgumentValue::Text(text) => Value::from(*text),
                ArgumentValue::Json(json) => {
                    super::json::parse(json).map_err(|err| err.to_string())?
                }
            };
            object.insert((*name).to_owned(), value);
        }
        within_limits(Value::Object(object))
    }

    fn accepts(&self, schema: &Validator, value: &Value) -> bool {
        schema.is_valid(value)
    }

    fn violations(&self, schema: &Validator, value: &Value) -> Vec<Violation> {
        schema.violations(value)
    }
}

/// Check a value; tools without a schema need this as well.
fn within_limits(value: Value) -> Result<Value, String> {
    match excess(&value) {
        Some(violation) => Err(violation.message),
        None => Ok(value),
    }
}

impl CallValidator<Validator> {
    /// Create a validator of calls by these contracts.
    pub fn from_contracts(
        contracts: &[FunctionContract],
        repair: RepairMode,
        limits: Limits,
    ) -> Result<Self, ReaderError> {
        let tools = contracts.iter().map(tool).collect::<Result<_, _>>()?;
        Ok(Self::new(tools, repair, limits))
    }
}

/// A reader of a streamed reply: text, valid calls and invalid calls.
#[derive(Debug)]
pub struct Reader {
    parser: Parser,
    validator: CallValidator<Validator>,
    ids: Ids,
}

/// The ids of the calls of one reply.
///
/// A call has the id that the model wrote before its arguments, if no other call of the reply has
/// it; otherwise one derived from its index, so that the same reply has the same ids.
#[derive(Debug, Default)]
struct Ids {
    written: HashSet<String>,
    open: Option<(usize, String)>,
}

impl Ids {
    fn start(&mut self, index: usize, id: Option<CallId<&str>>) -> String {
        match id {
            Some(CallId::Provided(id)) => id.to_owned(),
            Some(CallId::Written(id)) if self.written.insert(id.to_owned()) => {
                self.open = Some((index, id.to_owned()));
                id.to_owned()
            }
            _ => format!("call_{index}"),
        }
    }

    fn end(&mut self, index: usize) -> String {
        match self.open.take() {
            Some((open, id)) if open == index => id,
            _ => format!("call_{index}"),
        }
    }
}

impl Reader {
    /// Create a reader for calls by these contracts.
    pub fn new(contracts: &[FunctionContract], options: Options) -> Result<Self, ReaderError> {
        let limits = options.parser.limits;
        let names = contracts.iter().map(|contract| contract.name.as_str());
        let parser = Parser::new(names, options.parser)?;
        Ok(Self {
            parser,
            validator: CallValidator::from_contracts(contracts, options.repair, limits)?,
            ids: Ids::default(),
        })
    }

    /// Read the next chunk and return the events that are now certain.
    pub fn push(&mut self, chunk: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let (validator, ids) = (&self.validator, &mut self.ids);
        self.parser.push(chunk, &mut |frame: Frame<'_>| events.push(event(validator, ids, frame)));
        events
    }

    /// Validate a call that the provider's own protocol carries; see [`Parser::native`].
    pub fn native(
        &self,
        index: usize,
        id: String,
        name: &str,
        arguments: &str,
        ending: Ending,
    ) -> Event {
        call_event(&self.validator, id, &self.parser.native(index, name, arguments, ending))
    }

    /// End the reply, return its remaining events and prepare for the next reply.
    pub fn finish(&mut self, ending: Ending) -> Vec<Event> {
        let mut events = Vec::new();
        let (validator, ids) = (&self.validator, &mut self.ids);
        let mut sink = |frame: Frame<'_>| events.push(event(validator, ids, frame));
        self.parser.finish(ending, &mut sink);
        self.ids = Ids::default();
        events
    }
}

fn tool(contract: &FunctionContract) -> Result<Tool<Validator>, ReaderError> {
    let name = contract.name.clone();
    let schema = match &contract.parameters {
        None => None,
        Some(schema) => match Validator::new(schema) {
            Ok(validator) => Some((schema.clone(), validator)),
            Err(source) => return Err(ReaderError::Schema { name, source }),
        },
    };
    Ok(Tool { name, schema })
}

fn event(validator: &CallValidator<Validator>, ids: &mut Ids, frame: Frame<'_>) -> Event {
    match frame {
        Frame::Text(text) => Event::Text(text.to_owned()),
        Frame::Reasoning(text) => Event::Reasoning(text.to_owned()),
        Frame::CallStart { index, id, name, .. } => {
            Event::ToolCallStart { index, id: ids.start(index, id), name: name.to_owned() }
        }
        Frame::CallDelta { index, fragment } => {
            Event::ToolCallDelta { index, fragment: fragment.to_owned() }
        }
        Frame::CallEnd(found) => call_event(validator, ids.end(found.index), &found),
        Frame::Discarded { raw, reason } => Event::Discarded { raw: raw.to_owned(), reason },
        Frame::Fabricated { name, raw } => {
            Event::FabricatedResult { name: name.map(str::to_owned), raw: raw.to_owned() }
        }
    }
}

fn call_event(validator: &CallValidator<Validator>, id: String, found: &FoundCall<'_>) -> Event {
    let FoundCall { index, dialect, recovered, .. } = *found;
    let (name, raw) = (found.name.to_owned(), found.raw.to_owned());
    match validator.validate(&JsonValues, found) {
        CallOutcome::Call { arguments, repairs } => {
            let dialect = dialect.into();
            let call = ToolCall { id, name, arguments, raw, index, repairs, dialect, recovered };
            Event::ToolCall(call)
        }
        CallOutcome::Invalid { kind, violations, arguments } => {
            Event::InvalidToolCall(InvalidToolCall {
                index,
                id,
                name,
                kind,
                raw,
                violations,
                arguments,
                dialect,
                recovered,
            })
        }
    }
}

/// Read a whole reply.
pub fn read(
    reply: &str,
    contracts: &[FunctionContract],
    options: Options,
) -> Result<Vec<Event>, ReaderError> {
    let mut reader = Reader::new(contracts, options)?;
    let mut events = reader.push(reply);
    events.extend(reader.finish(Ending::Complete));
    Ok(events)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::calls::arguments::object_json;

    /// Values that are text, and numbers and structures as JSON text.
    const JSON: [&str; 6] =
        ["null", "-0.50", "12345678901234567890", "[]", "{\"a\": [1]}", "\"x\""];

    proptest! {
        #![proptest_config(crate::effort::cases(256))]

        #[test]
        fn an_object_of_arguments_is_the_value_of_its_json_text(
            given in prop::collection::vec(("(?s)[ab\"\\\\~/\u{1F600}\n]{0,2}", "(?s).{0,8}", 0..12usize), 0..6),
        ) {
            let arguments: Vec<_> = given
                .iter()
                .map(|(name, text, at)| Argument {
                    name,
                    value: match JSON.get(*at) {
                        Some(json) => ArgumentValue::Json((*json).to_owned()),
                        None => ArgumentValue::Text(text),
                    },
                })
                .collect();
            let object = JsonValues.object(&arguments);
            // As text, since the order of the members counts.
            let written = |value: Result<serde_json::Value, String>| value.map(|value| value.to_string());
            prop_assert_eq!(written(object), written(JsonValues.parse(&object_json(&arguments))));
        }
    }
}
