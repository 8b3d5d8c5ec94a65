//! Inline tool calls for language models.
//!
//! Models write tool calls inside their text. This crate finds them while the reply streams,
//! validates and repairs their arguments, and writes the structured history as text again. It also
//! reads registries of tools and chooses among them. Apart from [`endpoint`] it performs no I/O:
//! functions take and return plain data, and nothing blocks.
//!
//! # Modules
//!
//! A module uses only those above it; `tests/core/layering.rs` checks this.
//!
//! | layer | module | content |
//! | --- | --- | --- |
//! | 0: plain data | [`message`] | messages, calls and results; their JSON; the formats of providers |
//! | | [`contract`] | the name, description, parameters and result of a tool |
//! | | [`lifecycle`] | the events of a chat, and the state that they produce |
//! | 1: pure functions | [`validator`] | JSON Schema: compile once, validate many; violations are data |
//! | | [`meter`] | the size of JSON text, counted before it is parsed |
//! | | [`repair`] | repair of invalid JSON, coercion to the declared types |
//! | | [`parser`] | incremental parsing of calls in a streamed reply |
//! | | [`calls`] | validation and repair of calls; the events of a reply |
//! | | [`markup`] | calls and results in the markup of a dialect |
//! | | [`prompt`] | contracts with example calls for the system prompt, in any dialect |
//! | | [`consolidate`] | the structured history as natural text, and back |
//! | | [`reply`] | one reply with inline and native calls |
//! | | [`registry`] | the tools of a `tools.xml`: reading, checking, lookup, writing |
//! | | [`selection`] | selection of a tool by scores from a model |
//! | | [`search`] | an index of texts by their words |
//! | 2: native I/O | [`endpoint`] | requests to models over HTTP, from the socket to events |
//! | 3: servers | [`proxy`] | tool calls for any model, for clients in any language |
//! | 4: bindings | `python` | the Python module `toolweave._core` |
//!
//! # Cookbook
//!
//! ## Parse a reply while it streams
//!
//! A [`calls::Reader`] reports what is certain after each chunk: text for the reader, and calls that
//! can be run or cannot.
//!
//! ```
//! use serde_json::json;
//! use toolweave::calls::{Event, Options, Reader};
//! use toolweave::contract::FunctionContract;
//! use toolweave::parser::Ending;
//!
//! let weather = FunctionContract::new("GetWeather")?.with_parameters(json!({
//!     "type": "object",
//!     "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
//!     "required": ["city"],
//! }))?;
//! let mut reader = Reader::new(&[weather], Options::default())?;
//! let (mut text, mut calls) = (String::new(), Vec::new());
//! for chunk in ["Let me see. <GetW", "eather>{\"city\": \"Oslo\", days: \"3\"", "}</GetWeather>"] {
//!     for event in reader.push(chunk) {
//!         match event {
//!             Event::Text(delta) => text.push_str(&delta),
//!             Event::ToolCall(call) => calls.push(call),
//!             Event::InvalidToolCall(call) => panic!("{:?}", call.violations),
//!             _ => {}
//!         }
//!     }
//! }
//! assert!(reader.finish(Ending::Complete).is_empty());
//! assert_eq!(text, "Let me see. ");
//! assert_eq!(calls[0].arguments, json!({"city": "Oslo", "days": 3}));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! ## Validate and repair a value
//!
//! Repair has two steps: of the text, if it is not JSON, and of the types, if the value is invalid.
//! Both do only what is unambiguous, and record it.
//!
//! ```
//! use serde_json::{Value, json};
//! use toolweave::repair::{coerce, repair_json};
//! use toolweave::validator::Validator;
//!
//! let schema = json!({"properties": {"days": {"type": "integer", "maximum": 14}}});
//! let validator = Validator::new(&schema)?;
//! let repaired = repair_json("{days: '4',}").ok_or("ambiguous text")?;
//! let value: Value = serde_json::from_str(&repaired.text)?;
//! let accepts = |value: &Value| validator.is_valid(value);
//! let coerced = coerce(&value, &schema, &accepts).ok_or("ambiguous types")?;
//! assert_eq!(coerced.value, json!({"days": 4}));
//!
//! let violations = validator.violations(&json!({"days": 20}));
//! assert_eq!(violations[0].message, "/days: 20 is not at most 14");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! ## Write a history as text
//!
//! A model that writes calls as text must also read them as text. The conversion loses nothing.
//!
//! ```
//! use toolweave::consolidate::{Options, consolidate, parse_history};
//! use toolweave::message::{Content, Message};
//! use toolweave::parser::Dialect;
//!
//! let message = Message::from_json(
//!     r#"{
//!         "kind": "tools_aggregate", "role": "assistant",
//!         "toolCalls": [{"toolCallId": "1", "name": "Add", "arguments": {"a": 1, "b": 2}}],
//!         "toolResults": [{"toolCallId": "1", "result": "3"}]
//!     }"#,
//! )?;
//! let text = consolidate(&[message.clone()], &[], Options::default())?;
//! let Content::Text(natural) = &text[0].content else { unreachable!() };
//! assert!(natural.starts_with("<tool_call name=\"Add\">"));
//! assert!(natural.ends_with("<tool_response name=\"Add\">\n3\n</tool_response>"));
//!
//! let read = parse_history(&text, &[], &[Dialect::NATURAL])?;
//! assert_eq!(read[0].content, message.content);
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! ## Choose a tool of a `tools.xml`
//!
//! The registry knows which tools apply to a type. You ask a model about each; the ranking decides.
//!
//! ```
//! use toolweave::registry::{Registry, structure};
//! use toolweave::selection::{Policy, Ranking, ReplyReader};
//!
//! let registry = Registry::read(
//!     br#"<Tools><Recipe>
//!         <Tool name="search"><method>builtin</method></Tool>
//!         <Tool name="substitute">
//!             <handler>kitchen.Substitute</handler>
//!             <prompt>Does {request.query} ask for a substitute?</prompt>
//!             <returnStruc>{"score": "integer between 0 and 100", "item": "what to replace"}</returnStruc>
//!         </Tool>
//!     </Recipe></Tools>"#,
//! )?;
//! let tools = registry.tools_for("Recipe", None);
//! let mut ranking = Ranking::new(tools.iter().map(|tool| &*tool.name), Policy::default())?;
//! let schema = structure::reply_schema(tools[1].return_struc.as_ref());
//! let reply = ReplyReader::new(&schema)?.read(r#"{"score": 95, "item": "butter"}"#);
//! assert!(ranking.offer([(1, reply.score.ok())])?);
//! assert_eq!(ranking.finish().winner, Some(1));
//! assert_eq!(reply.parameters["item"], "butter");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

// How many cases the property tests of all layers try.
#[cfg(test)]
mod effort;

// The CPU time of a test.
#[cfg(test)]
mod cpu_time;

// Layer 0: plain data.

// Messages and tool calls, which all other modules use.
pub mod message;

// The name, description, parameters and result of a tool.
pub mod contract;

// The events of a chat, and the state that they produce.
pub mod lifecycle;

// Layer 1: pure functions of text and data.

// JSON Schema validation: compile once, validate many; violations are data.
pub mod validator;

// The size of JSON text, counted before it is parsed.
pub mod meter;

// Repair of invalid JSON, and coercion of values to the declared types.
pub mod repair;

// Incremental parsing of tool calls in a streamed reply.
pub mod parser;

// Validation and repair of calls.
pub mod calls;

// Calls and results in the markup of a dialect.
pub mod markup;

// Contracts with example calls, for the system prompt.
pub mod prompt;

// The structured history as natural text, and back.
pub mod consolidate;

// Reading of one reply: inline calls and native calls.
pub mod reply;

// The tools of a `tools.xml`: reading, checking, lookup, writing.
pub mod registry;

// Selection of a tool by scores from a model.
pub mod selection;

// An index of texts by their words.
pub mod search;

// Layer 2: native I/O.

// Requests to models over HTTP, from the socket to events.
#[cfg(feature = "endpoint")]
pub mod endpoint;

// Layer 3: servers.

// Tool calls for any model, for clients in any language.
#[cfg(feature = "proxy")]
pub mod proxy;

// Layer 4: the Python bindings.

#[cfg(feature = "python")]
mod python;
