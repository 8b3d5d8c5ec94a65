//! Python functions and class for [`crate::consolidate`].

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyList, PyString},
};

use super::{
    contract::extract_contracts,
    message::{Detail, extract, extract_messages, message_to_python, try_update},
    parser::{
        PyDiscarded, PyFabricatedResult, PyInvalidToolCall, PyToolCallDelta, PyToolCallStart,
        dialects_named,
    },
    prompt::tag,
};
use crate::{
    consolidate::{self, Consolidator, Form, Options},
    contract::FunctionContract,
    message::{Content, Message, Role, Update},
    parser::Dialect,
};

/// Write a history as natural text, with calls and results as tags.
#[pyfunction(name = "consolidate")]
#[pyo3(signature = (messages, *, tools=None, form="single", tag="tool_call", fenced=false, provenance=true))]
#[pyo3(
    text_signature = "(messages, *, tools=(), form='single', tag='tool_call', fenced=False, provenance=True)"
)]
pub(crate) fn consolidated<'py>(
    py: Python<'py>,
    messages: &Bound<'py, PyAny>,
    tools: Option<&Bound<'py, PyAny>>,
    form: &str,
    tag: &str,
    fenced: bool,
    provenance: bool,
) -> PyResult<Bound<'py, PyList>> {
    let options = options(form, tag, fenced)?;
    let messages = extract(messages, if provenance { Detail::Full } else { Detail::Request })?;
    let tools = contracts(tools)?;
    let written = py.detach(|| consolidate::consolidate(&messages, &tools, options))?;
    listed(py, &written)
}

/// Read the calls and results in the texts of a transcript.
#[pyfunction]
#[pyo3(signature = (transcript, tools=None, dialects=None))]
#[pyo3(text_signature = "(transcript, tools=(), dialects=('natural',))")]
pub(crate) fn parse_history<'py>(
    transcript: &Bound<'py, PyAny>,
    tools: Option<&Bound<'py, PyAny>>,
    dialects: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyList>> {
    let py = transcript.py();
    let tools = contracts(tools)?;
    let dialects = match dialects {
        Some(names) => dialects_named(names)?,
        None => vec![Dialect::NATURAL],
    };
    let messages = match transcript.cast::<PyString>() {
        Ok(text) => {
            vec![Message::new(Role::Assistant, Content::Text(text.to_str()?.to_owned()))]
        }
        Err(_) => extract_messages(transcript)?,
    };
    let read = py.detach(|| consolidate::parse_history(&messages, &tools, &dialects))?;
    listed(py, &read)
}

fn options(form: &str, tag: &str, fenced: bool) -> PyResult<Options> {
    let form = Form::from_wire(form).ok_or_else(|| {
        let expected = "form must be \"single\", \"turn\" or \"split\"";
        PyValueError::new_err(format!("{expected}, got {form:?}"))
    })?;
    Ok(Options { form, tag: self::tag(tag)?, fenced })
}

fn contracts(tools: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<FunctionContract>> {
    tools.map_or_else(|| Ok(Vec::new()), extract_contracts)
}

fn listed<'py>(py: Python<'py>, messages: &[Message]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for message in messages {
        list.append(message_to_python(py, message)?)?;
    }
    Ok(list)
}

/// An incremental version of `consolidate`, for messages and for replies while they stream.
#[pyclass(name = "Consolidator", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyConsolidator(Mutex<Consolidator>);

impl PyConsolidator {
    fn lock(&self) -> MutexGuard<'_, Consolidator> {
        // The core does not panic half-way; if it did, the text so far would still be valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyConsolidator {
    #[new]
    #[pyo3(signature = (*, tools=None, form="single", tag="tool_call", fenced=false))]
    #[pyo3(text_signature = "(*, tools=(), form='single', tag='tool_call', fenced=False)")]
    fn new(
        tools: Option<&Bound<'_, PyAny>>,
        form: &str,
        tag: &str,
        fenced: bool,
    ) -> PyResult<Self> {
        let options = options(form, tag, fenced)?;
        Ok(Self(Mutex::new(Consolidator::new(&contracts(tools)?, options))))
    }

    fn push(&self, message: &Bound<'_, PyAny>) -> PyResult<String> {
        match stream_item(message)? {
            Some(StreamItem::Update(update)) => Ok(self.lock().push_update(update)?),
            Some(StreamItem::CallId(id)) => Ok(self.lock().announce(&id)?),
            Some(StreamItem::Nothing) => Ok(String::new()),
            None => {
                let listed = match message.cast::<PyDict>() {
                    Ok(fields) => PyList::new(message.py(), [fields])?.into_any(),
                    Err(_) => message.clone(),
                };
                let messages = match extract_messages(&listed) {
                    Ok(messages) => messages,
                    Err(_) if is_executor_event(message)? => return Ok(String::new()),
                    Err(error) => return Err(error),
                };
                let [message] = messages.as_slice() else {
                    return Err(PyValueError::new_err(format!(
                        "push takes one message, got {}",
                        messages.len()
                    )));
                };
                Ok(self.lock().push(message)?)
            }
        }
    }

    fn finish(&self) -> String {
        self.lock().finish()
    }

    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let messages = self.lock().messages();
        listed(py, &messages)
    }
}

/// An item of a stream, as far as it is relevant here.
enum StreamItem {
    Update(Update),
    /// A call that may follow, complete or in a message.
    CallId(String),
    Nothing,
}

/// Convert what a model, a parser or an executor yields; return None for messages.
fn stream_item(piece: &Bound<'_, PyAny>) -> PyResult<Option<StreamItem>> {
    let call_id = |id: &Py<PyString>| {
        let id = id.bind(piece.py()).to_str()?.to_owned();
        Ok(Some(StreamItem::CallId(id)))
    };
    if let Ok(start) = piece.cast::<PyToolCallStart>() {
        return call_id(&start.get().id);
    }
    // Its arguments follow in the message with the error for the model.
    if let Ok(invalid) = piece.cast::<PyInvalidToolCall>() {
        return call_id(&invalid.get().id);
    }
    let is_nothing = piece.is_instance_of::<PyToolCallDelta>()
        || piece.is_instance_of::<PyDiscarded>()
        || piece.is_instance_of::<PyFabricatedResult>();
    if is_nothing {
        return Ok(Some(StreamItem::Nothing));
    }
    Ok(try_update(piece)?.map(StreamItem::Update))
}

/// Return true for an item of an agent or executor that is not part of the history.
fn is_executor_event(piece: &Bound<'_, PyAny>) -> PyResult<bool> {
    const EVENTS: [&str; 6] = [
        "ToolStarted",
        "ToolProgress",
        "ToolQuestion",
        "ToolApprovalRequested",
        "ToolApproval",
        "ToolDeferred",
    ];
    let py = piece.py();
    let events = py.import("toolweave.executor")?;
    for name in EVENTS {
        if piece.is_instance(&events.getattr(name)?)? {
            return Ok(true);
        }
    }
    piece.is_instance(&py.import("toolweave")?.getattr("AgentResult")?)
}
