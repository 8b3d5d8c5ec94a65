//! Message classes, one for each kind.

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

use super::{
    base::{Kind, PyMessageBase, build, object},
    call::{PyToolCall, PyToolResult, tuple_of},
    extract::Detail,
};
use crate::{
    message::{Content, MessageKind, Place, Role, ToolCall, ToolResult, Usage, order_by_calls},
    python::{
        class::record,
        convert::{object_to_python, to_json_object, tuple},
    },
};

/// A message with text.
///
/// Attributes:
///     kind: ``text``.
///     text: The text.
///     natural: True if `consolidate` passes the text on unchanged, with the calls and results in
///         it (of a user's text, only the results). If false, nothing in it is read as a call. Set
///         by `consolidate` and by programs, for text that they trust; never by clients of a
///         server.
#[pyclass(name = "TextMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyTextMessage {
    pub(super) text: Py<PyString>,
    pub(super) natural: bool,
}

record!(PyTextMessage {
        fields: [text, role, id, from_agent, generation_id, run_id, chat_id, metadata, extra, natural],
        shown: 1,
        hashed: [text, role, id],
    }
    #[new]
    #[pyo3(signature = (text, *, natural=false, **envelope))]
    #[pyo3(text_signature = "(text, *, role='user', id=None, from_agent=None, generation_id=None, run_id=None, chat_id=None, metadata=None, extra=None, natural=False)")]
    fn new(
        py: Python<'_>,
        text: Py<PyString>,
        natural: bool,
        envelope: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        build(py, Self { text, natural }, envelope)
    }
);

impl Kind for PyTextMessage {
    const ROLE: Role = Role::User;
    const KIND: Option<MessageKind> = Some(MessageKind::Text);

    fn content(&self, py: Python<'_>, _: Detail<'_>) -> PyResult<Content> {
        Ok(Content::Text(self.text.bind(py).to_str()?.to_owned()))
    }
}

/// A message with reasoning that precedes an answer.
///
/// Attributes:
///     kind: ``reasoning``.
///     text: The text.
#[pyclass(name = "ReasoningMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyReasoningMessage {
    pub(super) text: Py<PyString>,
}

record!(PyReasoningMessage {
        fields: [text, role, id, from_agent, generation_id, run_id, chat_id, metadata, extra],
        shown: 1,
        hashed: [text, role, id],
    }
    #[new]
    #[pyo3(signature = (text, **envelope))]
    #[pyo3(text_signature = "(text, *, role='assistant', id=None, from_agent=None, generation_id=None, run_id=None, chat_id=None, metadata=None, extra=None)")]
    fn new(
        py: Python<'_>,
        text: Py<PyString>,
        envelope: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        build(py, Self { text }, envelope)
    }
);

impl Kind for PyReasoningMessage {
    const ROLE: Role = Role::Assistant;
    const KIND: Option<MessageKind> = Some(MessageKind::Reasoning);

    fn content(&self, py: Python<'_>, _: Detail<'_>) -> PyResult<Content> {
        Ok(Content::Reasoning(self.text.bind(py).to_str()?.to_owned()))
    }
}

/// A message with calls by the model.
///
/// Attributes:
///     kind: ``tools_call``.
///     tool_calls: The calls, in the order of the text.
#[pyclass(name = "ToolCallMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolCallMessage {
    pub(super) tool_calls: Py<PyTuple>,
}

record!(PyToolCallMessage {
        fields: [tool_calls, role, id, from_agent, generation_id, run_id, chat_id, metadata, extra],
        shown: 1,
        hashed: [tool_calls, role, id],
    }
    #[new]
    #[pyo3(signature = (tool_calls, **envelope))]
    #[pyo3(text_signature = "(tool_calls, *, role='assistant', id=None, from_agent=None, generation_id=None, run_id=None, chat_id=None, metadata=None, extra=None)")]
    fn new(
        py: Python<'_>,
        tool_calls: &Bound<'_, PyAny>,
        envelope: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let tool_calls = tuple_of::<PyToolCall>(tool_calls, "tool_calls")?.unbind();
        build(py, Self { tool_calls }, envelope)
    }
);

impl Kind for PyToolCallMessage {
    const ROLE: Role = Role::Assistant;
    const KIND: Option<MessageKind> = Some(MessageKind::ToolsCall);

    fn content(&self, py: Python<'_>, detail: Detail<'_>) -> PyResult<Content> {
        Ok(Content::ToolCalls(calls_to_core(py, &self.tool_calls, detail)?))
    }
}

/// A message with results of calls.
///
/// Attributes:
///     kind: ``tool_result``.
///     tool_results: The results.
#[pyclass(name = "ToolResultMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolResultMessage {
    pub(super) tool_results: Py<PyTuple>,
}

record!(PyToolResultMessage {
        fields: [tool_results, role, id, from_agent, generation_id, run_id, chat_id, metadata, extra],
        shown: 1,
        hashed: [tool_results, role, id],
    }
    #[new]
    #[pyo3(signature = (tool_results, **envelope))]
    #[pyo3(text_signature = "(tool_results, *, role='tool', id=None, from_agent=None, generation_id=None, run_id=None, chat_id=None, metadata=None, extra=None)")]
    fn new(
        py: Python<'_>,
        tool_results: &Bound<'_, PyAny>,
        envelope: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let tool_results = tuple_of::<PyToolResult>(tool_results, "tool_results")?.unbind();
        build(py, Self { tool_results }, envelope)
    }
);

impl Kind for PyToolResultMessage {
    const ROLE: Role = Role::Tool;
    const KIND: Option<MessageKind> = Some(MessageKind::ToolResult);

    fn content(&self, py: Python<'_>, _: Detail<'_>) -> PyResult<Content> {
        Ok(Content::ToolResults(results_to_core(py, &self.tool_results)?))
    }
}

/// A message with calls and their results. A call without a result is pending.
///
/// Attributes:
///     kind: ``tools_aggregate``.
///     tool_calls: The calls, in the order of the text.
///     tool_results: Their results, in the same order.
///
/// Raises:
///     MessageError: A result belongs to none of the calls, or an id repeats.
#[pyclass(name = "ToolAggregateMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolAggregateMessage {
    pub(super) tool_calls: Py<PyTuple>,
    /// The results, in the order of the calls, matched by id.
    pub(super) tool_results: Py<PyTuple>,
}

record!(PyToolAggregateMessage {
        fields: [tool_calls, tool_results, role, id, from_agent, generation_id, run_id, chat_id, metadata, extra],
        shown: 2,
        hashed: [tool_calls, tool_results, role, id],
    }
    #[new]
    #[pyo3(signature = (tool_calls, tool_results, **envelope))]
    #[pyo3(text_signature = "(tool_calls, tool_results, *, role='assistant', id=None, from_agent=None, generation_id=None, run_id=None, chat_id=None, metadata=None, extra=None)")]
    fn new(
        py: Python<'_>,
        tool_calls: &Bound<'_, PyAny>,
        tool_results: &Bound<'_, PyAny>,
        envelope: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let tool_calls = tuple_of::<PyToolCall>(tool_calls, "tool_calls")?;
        let tool_results = tuple_of::<PyToolResult>(tool_results, "tool_results")?;
        let tool_results = in_call_order(&tool_calls, &tool_results)?.unbind();
        build(py, Self { tool_calls: tool_calls.unbind(), tool_results }, envelope)
    }
);

impl Kind for PyToolAggregateMessage {
    const ROLE: Role = Role::Assistant;
    const KIND: Option<MessageKind> = Some(MessageKind::ToolsAggregate);

    fn content(&self, py: Python<'_>, detail: Detail<'_>) -> PyResult<Content> {
        Ok(Content::Aggregate {
            calls: calls_to_core(py, &self.tool_calls, detail)?,
            results: results_to_core(py, &self.tool_results)?,
        })
    }
}

/// A message with the token usage of a model request.
///
/// Attributes:
///     kind: ``usage``.
#[pyclass(name = "UsageMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyUsageMessage {
    /// Tokens of the prompt, cached ones included.
    pub(super) input_tokens: u64,
    /// Tokens of the reply.
    pub(super) output_tokens: u64,
    /// The part of `input_tokens` that came from the provider's cache.
    pub(super) cached_input_tokens: u64,
    /// The cost, in the currency of the caller's price table.
    pub(super) cost: Option<f64>,
}

record!(PyUsageMessage {
        fields: [input_tokens, output_tokens, cached_input_tokens, cost, role, id, from_agent, generation_id, run_id, chat_id, metadata, extra],
        shown: 4,
        hashed: [input_tokens, output_tokens, cached_input_tokens, cost, role, id],
    }
    #[new]
    #[pyo3(signature = (input_tokens=0, output_tokens=0, cached_input_tokens=0, cost=None, **envelope))]
    #[pyo3(text_signature = "(input_tokens=0, output_tokens=0, cached_input_tokens=0, cost=None, *, role='assistant', id=None, from_agent=None, generation_id=None, run_id=None, chat_id=None, metadata=None, extra=None)")]
    fn new(
        py: Python<'_>,
        input_tokens: u64,
        output_tokens: u64,
        cached_input_tokens: u64,
        cost: Option<f64>,
        envelope: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        if let Some(cost) = cost.filter(|cost| !cost.is_finite()) {
            return Err(PyValueError::new_err(format!("cost is {cost}; expected an amount")));
        }
        build(py, Self { input_tokens, output_tokens, cached_input_tokens, cost }, envelope)
    }
);

impl Kind for PyUsageMessage {
    const ROLE: Role = Role::Assistant;
    const KIND: Option<MessageKind> = Some(MessageKind::Usage);

    fn content(&self, _: Python<'_>, _: Detail<'_>) -> PyResult<Content> {
        Ok(Content::Usage(Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cached_input_tokens: self.cached_input_tokens,
            cost: self.cost,
        }))
    }
}

/// A message of a kind that this version does not know, kept unchanged.
#[pyclass(name = "UnknownMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyUnknownMessage {
    /// The name of the kind on the wire.
    pub(super) kind: Py<PyString>,
    /// All fields that are not part of the envelope.
    pub(super) fields: Py<PyDict>,
}

record!(PyUnknownMessage {
        fields: [kind, fields, role, id, from_agent, generation_id, run_id, chat_id, metadata, extra],
        shown: 2,
        hashed: [kind, role, id],
    }
    #[new]
    #[pyo3(signature = (kind, fields=None, **envelope))]
    #[pyo3(text_signature = "(kind, fields=None, *, role='user', id=None, from_agent=None, generation_id=None, run_id=None, chat_id=None, metadata=None, extra=None)")]
    fn new(
        py: Python<'_>,
        kind: Py<PyString>,
        fields: Option<&Bound<'_, PyAny>>,
        envelope: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let fields = fields.map(|fields| object(fields, "fields")).transpose()?;
        let fields = object_to_python(py, &fields.unwrap_or_default())?.unbind();
        build(py, Self { kind, fields }, envelope)
    }
);

impl Kind for PyUnknownMessage {
    const ROLE: Role = Role::User;
    const KIND: Option<MessageKind> = None;

    fn content(&self, py: Python<'_>, _: Detail<'_>) -> PyResult<Content> {
        Ok(Content::Unknown {
            kind: self.kind.bind(py).to_str()?.to_owned(),
            fields: to_json_object(self.fields.bind(py))?,
        })
    }
}

fn calls_to_core(
    py: Python<'_>,
    calls: &Py<PyTuple>,
    detail: Detail<'_>,
) -> PyResult<Vec<ToolCall>> {
    let calls = calls.bind(py).iter();
    calls.map(|call| call.cast::<PyToolCall>()?.get().to_core(py, detail)).collect()
}

fn results_to_core(py: Python<'_>, results: &Py<PyTuple>) -> PyResult<Vec<ToolResult>> {
    let results = results.bind(py).iter();
    results.map(|result| result.cast::<PyToolResult>()?.get().to_core(py)).collect()
}

/// Return the results of an aggregate in the order of its calls.
fn in_call_order<'py>(
    calls: &Bound<'py, PyTuple>,
    results: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = results.py();
    let ids: Vec<_> = calls
        .iter_borrowed()
        .map(|call| call.cast::<PyToolCall>()?.get().id.to_str(py))
        .collect::<PyResult<_>>()?;
    let keyed: Vec<_> = results
        .iter_borrowed()
        .enumerate()
        .map(|(position, result)| {
            Ok((result.cast::<PyToolResult>()?.get().tool_call_id.to_str(py)?, position))
        })
        .collect::<PyResult<_>>()?;
    let ordered = order_by_calls(ids, keyed, |(id, _)| id, &Place::default())?;
    if ordered.iter().map(|&(_, position)| position).is_sorted() {
        return Ok(results.clone());
    }
    tuple(py, ordered.into_iter().map(|(_, position)| results.get_borrowed_item(position)))
}
