//! One class a kind of message, on a common base that holds the envelope.

use pyo3::{
    PyClass,
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyString, PyTuple, PyType},
};
use serde_json::{Map, Value};

use super::{
    call::{PyToolCall, PyToolResult, tuple_of},
    convert::{message_from_dict, message_from_json, to_core},
    entity::entity,
    names::{member, parse},
};
use crate::{
    message::{
        Content, Envelope, Message, MessageError, MessageKind, Place, Role, ToolCall, ToolResult,
        Usage, order_by_calls,
    },
    python::convert::{object_to_python, to_json_object, to_python},
};

/// What every message carries besides its content.
#[pyclass(name = "MessageBase", module = "toolweave", frozen, subclass)]
#[derive(Debug)]
pub(crate) struct PyMessageBase {
    /// None where this version does not know the kind.
    kind: Option<MessageKind>,
    role: Role,
    #[pyo3(get)]
    id: Option<Py<PyString>>,
    #[pyo3(get)]
    from_agent: Option<Py<PyString>>,
    #[pyo3(get)]
    generation_id: Option<Py<PyString>>,
    #[pyo3(get)]
    run_id: Option<Py<PyString>>,
    #[pyo3(get)]
    chat_id: Option<Py<PyString>>,
    #[pyo3(get)]
    metadata: Py<PyDict>,
    #[pyo3(get)]
    extra: Py<PyDict>,
}

#[pymethods]
impl PyMessageBase {
    #[getter]
    fn role<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        member(py, self.role)
    }

    #[getter]
    fn kind<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.kind.map(|kind| member(py, kind)).transpose()
    }

    fn to_json(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(to_core(slf.as_any())?.to_json())
    }

    fn to_dict<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        to_python(slf.py(), &to_core(slf.as_any())?.to_json_value())
    }

    #[classmethod]
    fn from_json<'py>(
        cls: &Bound<'py, PyType>,
        text: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, message_from_json(text)?)
    }

    #[classmethod]
    fn from_dict<'py>(
        cls: &Bound<'py, PyType>,
        fields: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        of_class(cls, message_from_dict(fields)?)
    }
}

fn of_class<'py>(
    class: &Bound<'py, PyType>,
    message: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if message.is_instance(class)? {
        return Ok(message);
    }
    Err(MessageError::Unexpected {
        place: Place { index: None, path: "/kind".into() },
        expected: format!("the kind of a {}", class.name()?),
        actual: format!("the kind of a {}", message.get_type().name()?),
    }
    .into())
}

impl PyMessageBase {
    pub(super) fn from_core(
        py: Python<'_>,
        kind: Option<MessageKind>,
        envelope: &Envelope,
    ) -> PyResult<Self> {
        let text =
            |text: &Option<String>| text.as_ref().map(|text| PyString::new(py, text).unbind());
        Ok(Self {
            kind,
            role: envelope.role,
            id: text(&envelope.id),
            from_agent: text(&envelope.from_agent),
            generation_id: text(&envelope.generation_id),
            run_id: text(&envelope.run_id),
            chat_id: text(&envelope.chat_id),
            metadata: object_to_python(py, &envelope.metadata)?.unbind(),
            extra: object_to_python(py, &envelope.extra)?.unbind(),
        })
    }

    pub(super) fn to_core(&self, py: Python<'_>) -> PyResult<Envelope> {
        let text = |text: &Option<Py<PyString>>| {
            text.as_ref().map(|text| text.bind(py).to_str().map(str::to_owned)).transpose()
        };
        Ok(Envelope {
            role: self.role,
            id: text(&self.id)?,
            from_agent: text(&self.from_agent)?,
            generation_id: text(&self.generation_id)?,
            run_id: text(&self.run_id)?,
            chat_id: text(&self.chat_id)?,
            metadata: to_json_object(self.metadata.bind(py))?,
            extra: to_json_object(self.extra.bind(py))?,
        })
    }
}

/// Reads the keyword-only parameters that all kinds share.
fn envelope(
    class: &str,
    default: Role,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Envelope> {
    let mut envelope = Envelope::new(default);
    let Some(keywords) = keywords else {
        return Ok(envelope);
    };
    for (name, value) in keywords {
        let name = name.cast_into::<PyString>()?;
        let name = name.to_str()?;
        let slot = match name {
            "role" => {
                if !value.is_none() {
                    envelope.role = parse(&value, "role")?;
                }
                continue;
            }
            "metadata" => {
                envelope.metadata = object(&value, name)?;
                continue;
            }
            "extra" => {
                envelope.extra = object(&value, name)?;
                continue;
            }
            "id" => &mut envelope.id,
            "from_agent" => &mut envelope.from_agent,
            "generation_id" => &mut envelope.generation_id,
            "run_id" => &mut envelope.run_id,
            "chat_id" => &mut envelope.chat_id,
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "{class}() got an unexpected keyword argument '{name}'; beside its content it \
                     takes role, id, from_agent, generation_id, run_id, chat_id, metadata, extra"
                )));
            }
        };
        *slot = if value.is_none() {
            None
        } else if let Ok(text) = value.cast::<PyString>() {
            Some(text.to_str()?.to_owned())
        } else {
            let actual = value.get_type();
            return Err(PyTypeError::new_err(format!(
                "{name} must be a str or None, not {}",
                actual.name()?
            )));
        };
    }
    Ok(envelope)
}

fn object(value: &Bound<'_, PyAny>, name: &str) -> PyResult<Map<String, Value>> {
    if value.is_none() {
        return Ok(Map::new());
    }
    to_json_object(value).map_err(|err| {
        let py = value.py();
        PyErr::from_type(err.get_type(py), format!("{name}: {}", err.value(py)))
    })
}

/// The results of an aggregate, brought into the order of its calls.
fn in_call_order<'py>(
    calls: &Bound<'py, PyTuple>,
    results: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyTuple>> {
    let id = |item: Bound<'py, PyAny>, name| item.getattr(name)?.extract::<String>();
    let calls: Vec<_> = calls.iter().map(|call| id(call, "id")).collect::<PyResult<_>>()?;
    let mut keyed = Vec::with_capacity(results.len());
    for result in results {
        keyed.push((id(result.clone(), "tool_call_id")?, result));
    }
    let ordered = order_by_calls(calls, keyed, |(id, _)| id, &Place::default())?;
    PyTuple::new(results.py(), ordered.into_iter().map(|(_, result)| result))
}

/// A class for one kind of message.
pub(super) trait Kind: PyClass<BaseType = PyMessageBase> {
    /// Who speaks, if nobody says otherwise.
    const ROLE: Role;
    const KIND: Option<MessageKind>;

    fn content(&self, py: Python<'_>) -> PyResult<Content>;
}

/// A message from content and the envelope's keywords.
fn build<K: Kind>(
    py: Python<'_>,
    content: K,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<PyClassInitializer<K>> {
    let class = py.get_type::<K>();
    let envelope = envelope(class.name()?.to_str()?, K::ROLE, keywords)?;
    let base = PyMessageBase::from_core(py, K::KIND, &envelope)?;
    if K::KIND.is_none() || !envelope.extra.is_empty() {
        check_extra(&Message { envelope, content: content.content(py)? })?;
    }
    Ok(PyClassInitializer::from(base).add_subclass(content))
}

/// Refuses fields that would be read as something else once they were on the wire.
fn check_extra(message: &Message) -> PyResult<()> {
    let name = if matches!(message.content, Content::Unknown { .. }) { "fields" } else { "extra" };
    match Message::from_json_value(message.to_json_value()) {
        Ok(back) if back == *message => Ok(()),
        _ => Err(MessageError::Inexpressible {
            place: Place { index: None, path: format!("/{name}") },
            target: "the wire",
            reason: format!(
                "it holds names or a kind that messages have themselves; {name} is for others"
            ),
        }
        .into()),
    }
}

fn calls_to_core(py: Python<'_>, calls: &Py<PyTuple>) -> PyResult<Vec<ToolCall>> {
    calls.bind(py).iter().map(|call| call.cast::<PyToolCall>()?.get().to_core(py)).collect()
}

fn results_to_core(py: Python<'_>, results: &Py<PyTuple>) -> PyResult<Vec<ToolResult>> {
    let results = results.bind(py).iter();
    results.map(|result| result.cast::<PyToolResult>()?.get().to_core(py)).collect()
}

/// Text.
#[pyclass(name = "TextMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyTextMessage {
    pub(super) text: Py<PyString>,
}

entity!(PyTextMessage {
        fields: ["text", "role", "id", "from_agent", "generation_id", "run_id", "chat_id", "metadata", "extra"],
        shown: 1,
        silent: None,
        hashed: ["text", "role", "id"],
    }
    #[new]
    #[pyo3(signature = (text, **envelope))]
    #[pyo3(text_signature = "(text, *, role='user', id=None, from_agent=None, generation_id=None, run_id=None, chat_id=None, metadata=None, extra=None)")]
    fn new(
        py: Python<'_>,
        text: Py<PyString>,
        envelope: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        build(py, Self { text }, envelope)
    }
);

impl Kind for PyTextMessage {
    const ROLE: Role = Role::User;
    const KIND: Option<MessageKind> = Some(MessageKind::Text);

    fn content(&self, py: Python<'_>) -> PyResult<Content> {
        Ok(Content::Text(self.text.bind(py).to_str()?.to_owned()))
    }
}

/// What the model thought before it answered.
#[pyclass(name = "ReasoningMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyReasoningMessage {
    pub(super) text: Py<PyString>,
}

entity!(PyReasoningMessage {
        fields: ["text", "role", "id", "from_agent", "generation_id", "run_id", "chat_id", "metadata", "extra"],
        shown: 1,
        silent: None,
        hashed: ["text", "role", "id"],
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

    fn content(&self, py: Python<'_>) -> PyResult<Content> {
        Ok(Content::Reasoning(self.text.bind(py).to_str()?.to_owned()))
    }
}

/// Calls that the model made.
#[pyclass(name = "ToolCallMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolCallMessage {
    pub(super) tool_calls: Py<PyTuple>,
}

entity!(PyToolCallMessage {
        fields: ["tool_calls", "role", "id", "from_agent", "generation_id", "run_id", "chat_id", "metadata", "extra"],
        shown: 1,
        silent: None,
        hashed: ["tool_calls", "role", "id"],
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

    fn content(&self, py: Python<'_>) -> PyResult<Content> {
        Ok(Content::ToolCalls(calls_to_core(py, &self.tool_calls)?))
    }
}

/// Results of calls.
#[pyclass(name = "ToolResultMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolResultMessage {
    pub(super) tool_results: Py<PyTuple>,
}

entity!(PyToolResultMessage {
        fields: ["tool_results", "role", "id", "from_agent", "generation_id", "run_id", "chat_id", "metadata", "extra"],
        shown: 1,
        silent: None,
        hashed: ["tool_results", "role", "id"],
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

    fn content(&self, py: Python<'_>) -> PyResult<Content> {
        Ok(Content::ToolResults(results_to_core(py, &self.tool_results)?))
    }
}

/// Calls with their results, in the order of the calls.
#[pyclass(name = "ToolAggregateMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolAggregateMessage {
    pub(super) tool_calls: Py<PyTuple>,
    pub(super) tool_results: Py<PyTuple>,
}

entity!(PyToolAggregateMessage {
        fields: ["tool_calls", "tool_results", "role", "id", "from_agent", "generation_id", "run_id", "chat_id", "metadata", "extra"],
        shown: 2,
        silent: None,
        hashed: ["tool_calls", "tool_results", "role", "id"],
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

    fn content(&self, py: Python<'_>) -> PyResult<Content> {
        Ok(Content::Aggregate {
            calls: calls_to_core(py, &self.tool_calls)?,
            results: results_to_core(py, &self.tool_results)?,
        })
    }
}

/// What a model request used.
#[pyclass(name = "UsageMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyUsageMessage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cached_input_tokens: u64,
    pub(super) cost: Option<f64>,
}

entity!(PyUsageMessage {
        fields: ["input_tokens", "output_tokens", "cached_input_tokens", "cost", "role", "id", "from_agent", "generation_id", "run_id", "chat_id", "metadata", "extra"],
        shown: 4,
        silent: None,
        hashed: ["input_tokens", "output_tokens", "cached_input_tokens", "cost", "role", "id"],
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

    fn content(&self, _: Python<'_>) -> PyResult<Content> {
        Ok(Content::Usage(Usage {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cached_input_tokens: self.cached_input_tokens,
            cost: self.cost,
        }))
    }
}

/// A kind that this version does not know, kept as it came.
#[pyclass(name = "UnknownMessage", module = "toolweave", extends = PyMessageBase, frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyUnknownMessage {
    pub(super) kind: Py<PyString>,
    pub(super) fields: Py<PyDict>,
}

entity!(PyUnknownMessage {
        fields: ["kind", "fields", "role", "id", "from_agent", "generation_id", "run_id", "chat_id", "metadata", "extra"],
        shown: 2,
        silent: None,
        hashed: ["kind", "role", "id"],
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

    fn content(&self, py: Python<'_>) -> PyResult<Content> {
        Ok(Content::Unknown {
            kind: self.kind.bind(py).to_str()?.to_owned(),
            fields: to_json_object(self.fields.bind(py))?,
        })
    }
}
