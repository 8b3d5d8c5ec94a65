//! Parsers of other crates, each behind a method that takes a chunk.
//!
//! All return what became certain in the same shape, which is cheap to build: an empty tuple, or
//! the text and a list of pieces of calls (index, name, arguments). The parsers are used as their
//! documentation says; what they await never waits, so that each chunk is polled once.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use dynamo_parsers::{
    ToolDefinition,
    jail::{Annotated, JailedStream},
};
use dynamo_parsers_v2::create_tool_parser_for_family;
use dynamo_protocols::types::{
    ChatChoiceStream, ChatCompletionMessageContent, ChatCompletionStreamResponseDelta,
    CreateChatCompletionStreamResponse, FinishReason, Role,
};
use futures::{FutureExt, Stream};
use pyo3::{
    exceptions::{PyRuntimeError, PyValueError},
    prelude::*,
    types::PyTuple,
};
use serde_json::{Value, json};

/// Piece of a call: its index, its name if that is new, and more of its arguments.
type Piece = (usize, Option<String>, String);

/// Return the events of a chunk to Python.
fn events(py: Python<'_>, text: String, pieces: Vec<Piece>) -> PyResult<Bound<'_, PyTuple>> {
    if text.is_empty() && pieces.is_empty() {
        return Ok(PyTuple::empty(py));
    }
    (text, pieces).into_pyobject(py)
}

/// Return the names and schemas of an object of schemas by name.
fn schemas(tools: &str) -> PyResult<Vec<(String, Value)>> {
    let tools: serde_json::Map<String, Value> = serde_json::from_str(tools).map_err(invalid)?;
    Ok(tools.into_iter().collect())
}

fn invalid(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn failed(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// `tool_parser::ToolParser`, fed with `parse_incremental`.
#[pyclass(unsendable)]
struct ToolParser {
    parser: Box<dyn tool_parser::ToolParser>,
    tools: Vec<openai_protocol::common::Tool>,
}

#[pymethods]
impl ToolParser {
    #[new]
    fn new(name: &str, tools: &str) -> PyResult<Self> {
        let parser = tool_parser::ParserFactory::new()
            .registry()
            .create_parser(name)
            .ok_or_else(|| invalid(format!("no parser {name:?}")))?;
        let tools = schemas(tools)?
            .into_iter()
            .map(|(name, parameters)| {
                let function = json!({"name": name, "parameters": parameters});
                serde_json::from_value(json!({"type": "function", "function": function}))
            })
            .collect::<Result<_, _>>()
            .map_err(invalid)?;
        Ok(Self { parser, tools })
    }

    fn push<'py>(&mut self, py: Python<'py>, chunk: &str) -> PyResult<Bound<'py, PyTuple>> {
        let result = self
            .parser
            .parse_incremental(chunk, &self.tools)
            .now_or_never()
            .ok_or_else(|| failed("the parser waits"))?
            .map_err(failed)?;
        let pieces = result.calls.into_iter().map(piece).collect();
        events(py, result.normal_text, pieces)
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let rest = self.parser.get_unstreamed_tool_args().unwrap_or_default();
        let text = self.parser.take_unstreamed_normal_text();
        events(py, text, rest.into_iter().map(piece).collect())
    }
}

fn piece(item: tool_parser::types::ToolCallItem) -> Piece {
    (item.tool_index, item.name, item.parameters)
}

/// `dynamo_parsers_v2::ToolParser`, fed with `push`.
#[pyclass(unsendable)]
struct DynamoV2 {
    parser: Box<dyn dynamo_parsers_v2::ToolParser>,
}

impl DynamoV2 {
    fn events<'py>(
        py: Python<'py>,
        result: dynamo_parsers_v2::ToolParseResult,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let pieces = result
            .calls
            .into_iter()
            .map(|call| (call.tool_index, call.name, call.arguments))
            .collect();
        events(py, result.normal_text, pieces)
    }
}

#[pymethods]
impl DynamoV2 {
    #[new]
    fn new(family: &str, tools: &str) -> PyResult<Self> {
        let tools: Vec<_> = schemas(tools)?
            .into_iter()
            .map(|(name, parameters)| dynamo_parsers_v2::Tool {
                name,
                description: None,
                parameters,
                strict: None,
            })
            .collect();
        Ok(Self { parser: create_tool_parser_for_family(family, &tools).map_err(invalid)? })
    }

    fn push<'py>(&mut self, py: Python<'py>, chunk: &str) -> PyResult<Bound<'py, PyTuple>> {
        Self::events(py, self.parser.push(chunk).map_err(failed)?)
    }

    fn push_tokens<'py>(
        &mut self,
        py: Python<'py>,
        tokens: Vec<u32>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        Self::events(py, self.parser.push_tokens(&tokens).map_err(failed)?)
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        Self::events(py, self.parser.finish().map_err(failed)?)
    }
}

type Response = Annotated<CreateChatCompletionStreamResponse>;

/// Responses that wait for the jail.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Response>,
    /// True if no more will come.
    ended: bool,
    /// True if the jail has taken all of them.
    taken: bool,
}

/// `dynamo_parsers::jail::JailedStream`: a stream of responses to a stream of responses.
///
/// Its only interface for a reply that streams; a chunk costs one response in and one out. For
/// harmony it starts a thread at the end of a call, and needs a runtime.
#[pyclass(unsendable)]
struct Dynamo {
    queue: Arc<Mutex<Queue>>,
    jailed: Pin<Box<dyn Stream<Item = Response> + Send>>,
    runtime: tokio::runtime::Runtime,
}

fn locked(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Dynamo {
    /// Take all responses that the jail has for the chunks so far.
    fn drain<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let mut found = Found::default();
        let Self { queue, jailed, runtime } = self;
        let mut poll = |context: &mut Context<'_>| {
            loop {
                match jailed.as_mut().poll_next(context) {
                    Poll::Ready(Some(response)) => found.add(response),
                    Poll::Ready(None) => return Poll::Ready(()),
                    Poll::Pending if locked(queue).taken => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                }
            }
        };
        let done = {
            let _entered = runtime.enter();
            poll(&mut Context::from_waker(Waker::noop()))
        };
        if done.is_pending() {
            runtime.block_on(poll_fn(poll));
        }
        events(py, found.text, found.pieces)
    }
}

/// Text and pieces of calls of several responses.
#[derive(Default)]
struct Found {
    text: String,
    pieces: Vec<Piece>,
}

impl Found {
    fn add(&mut self, response: Response) {
        for choice in response.data.into_iter().flat_map(|data| data.choices) {
            if let Some(ChatCompletionMessageContent::Text(more)) = choice.delta.content {
                if self.text.is_empty() {
                    self.text = more;
                } else {
                    self.text.push_str(&more);
                }
            }
            for call in choice.delta.tool_calls.into_iter().flatten() {
                let (name, arguments) =
                    call.function.map_or((None, None), |found| (found.name, found.arguments));
                self.pieces.push((call.index as usize, name, arguments.unwrap_or_default()));
            }
        }
    }
}

#[pymethods]
impl Dynamo {
    #[new]
    fn new(parser: &str, tools: &str) -> PyResult<Self> {
        let tools = schemas(tools)?
            .into_iter()
            .map(|(name, parameters)| ToolDefinition {
                name,
                parameters: Some(parameters),
                strict: None,
            })
            .collect();
        let jail = JailedStream::builder().tool_call_parser(parser).tool_definitions(tools).build();
        let queue = Arc::new(Mutex::new(Queue::default()));
        let source = Arc::clone(&queue);
        let responses = futures::stream::poll_fn(move |_| {
            let mut queue = locked(&source);
            match queue.waiting.pop_front() {
                Some(response) => Poll::Ready(Some(response)),
                None if queue.ended => Poll::Ready(None),
                None => {
                    queue.taken = true;
                    Poll::Pending
                }
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(failed)?;
        Ok(Self { queue, jailed: Box::pin(jail.apply(responses)), runtime })
    }

    fn push<'py>(&mut self, py: Python<'py>, chunk: &str) -> PyResult<Bound<'py, PyTuple>> {
        {
            let mut queue = locked(&self.queue);
            queue.waiting.push_back(response(Some(chunk)));
            queue.taken = false;
        }
        self.drain(py)
    }

    fn finish<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        {
            let mut queue = locked(&self.queue);
            queue.waiting.push_back(response(None));
            queue.taken = false;
            queue.ended = true;
        }
        self.drain(py)
    }
}

/// Return a response with a piece of the reply, or the last one.
fn response(content: Option<&str>) -> Response {
    #[allow(deprecated, reason = "the field is there")]
    let delta = ChatCompletionStreamResponseDelta {
        role: Some(Role::Assistant),
        content: content.map(|text| ChatCompletionMessageContent::Text(text.to_owned())),
        tool_calls: None,
        function_call: None,
        refusal: None,
        reasoning_content: None,
    };
    let finish_reason = content.is_none().then_some(FinishReason::Stop);
    let data = CreateChatCompletionStreamResponse {
        id: String::new(),
        choices: vec![ChatChoiceStream { index: 0, delta, finish_reason, logprobs: None }],
        created: 0,
        model: String::new(),
        system_fingerprint: None,
        object: String::new(),
        usage: None,
        service_tier: None,
    };
    Annotated { data: Some(data), id: None, event: None, comment: None, error: None }
}

#[pymodule(name = "toolweave_peers")]
mod peers {
    #[pymodule_export]
    use super::{Dynamo, DynamoV2, ToolParser};
}
