//! Python classes for the joiner.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyString, PyTuple},
};

use super::{
    call::{PyToolCall, PyToolResult},
    convert::message_with_results,
    names::member,
    update::{PyFinishUpdate, PyReasoningDelta, PyTextDelta, PyToolCallUpdate, PyUsageUpdate},
};
use crate::{
    message::{Envelope, FinishReason, Joiner, Problem, Role, Update},
    python::class::record,
};

/// An accumulator that joins the updates of a reply and the results of its calls into messages.
#[pyclass(name = "Joiner", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyJoiner(Mutex<State>);

#[derive(Debug)]
struct State {
    joiner: Joiner,
    /// The first result of each call as it was pushed: the core does not have its `value`.
    results: HashMap<String, Py<PyToolResult>>,
}

impl PyJoiner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyJoiner {
    #[new]
    #[pyo3(signature = (*, from_agent=None, generation_id=None, run_id=None, chat_id=None))]
    fn new(
        from_agent: Option<String>,
        generation_id: Option<String>,
        run_id: Option<String>,
        chat_id: Option<String>,
    ) -> Self {
        let envelope = Envelope {
            from_agent,
            generation_id,
            run_id,
            chat_id,
            ..Envelope::new(Role::Assistant)
        };
        let joiner = Joiner::with_envelope(envelope);
        Self(Mutex::new(State { joiner, results: HashMap::new() }))
    }

    fn push(&self, update: &Bound<'_, PyAny>) -> PyResult<()> {
        let update_of_core = to_core(update)?;
        let mut state = self.lock();
        if let (Update::ToolResult(core), Ok(result)) =
            (&update_of_core, update.cast::<PyToolResult>())
        {
            let id = core.tool_call_id.clone();
            state.results.entry(id).or_insert_with(|| result.clone().unbind());
        }
        state.joiner.push(update_of_core);
        Ok(())
    }

    fn finish(&self, py: Python<'_>) -> PyResult<PyJoinedReply> {
        let (joined, results) = {
            let state = self.lock();
            let results: HashMap<_, _> = state
                .results
                .iter()
                .map(|(id, result)| (id.clone(), result.clone_ref(py)))
                .collect();
            (state.joiner.finish(), results)
        };
        let result = |core: &crate::message::ToolResult| match results.get(&core.tool_call_id) {
            Some(result) => Ok(result.bind(py).clone()),
            None => Bound::new(py, PyToolResult::from_core(py, core)),
        };
        let messages: Vec<_> = joined
            .messages
            .iter()
            .map(|message| message_with_results(py, message, &result))
            .collect::<PyResult<_>>()?;
        let problems: Vec<_> =
            joined.problems.iter().map(|problem| PyJoinProblem::from_core(py, problem)).collect();
        Ok(PyJoinedReply {
            messages: PyTuple::new(py, messages)?.unbind(),
            finish_reason: joined.finish_reason,
            missing: PyTuple::new(py, joined.missing)?.unbind(),
            problems: PyTuple::new(py, problems)?.unbind(),
        })
    }
}

/// Convert an object to an update; return None for other objects.
pub(crate) fn try_update(update: &Bound<'_, PyAny>) -> PyResult<Option<Update>> {
    let py = update.py();
    Ok(Some(if let Ok(delta) = update.cast::<PyTextDelta>() {
        Update::Text(delta.get().text.bind(py).to_str()?.to_owned())
    } else if let Ok(fragment) = update.cast::<PyToolCallUpdate>() {
        Update::ToolCallUpdate(fragment.get().to_core(py)?)
    } else if let Ok(delta) = update.cast::<PyReasoningDelta>() {
        Update::Reasoning(delta.get().text.bind(py).to_str()?.to_owned())
    } else if let Ok(call) = update.cast::<PyToolCall>() {
        Update::ToolCall(call.get().to_core(py)?)
    } else if let Ok(result) = update.cast::<PyToolResult>() {
        Update::ToolResult(result.get().to_core(py)?)
    } else if let Ok(usage) = update.cast::<PyUsageUpdate>() {
        Update::Usage(usage.get().to_core())
    } else if let Ok(finish) = update.cast::<PyFinishUpdate>() {
        Update::Finish(finish.get().reason)
    } else {
        return Ok(None);
    }))
}

fn to_core(update: &Bound<'_, PyAny>) -> PyResult<Update> {
    match try_update(update)? {
        Some(update) => Ok(update),
        None => Err(PyTypeError::new_err(format!(
            "expected a TextDelta, ReasoningDelta, ToolCallUpdate, ToolCall, ToolResult, \
             UsageUpdate or FinishUpdate, got {}",
            update.get_type().name()?
        ))),
    }
}

/// The messages that a joiner has built.
#[pyclass(name = "JoinedReply", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyJoinedReply {
    #[pyo3(get)]
    messages: Py<PyTuple>,
    finish_reason: FinishReason,
    #[pyo3(get)]
    missing: Py<PyTuple>,
    #[pyo3(get)]
    problems: Py<PyTuple>,
}

record!(PyJoinedReply { messages, finish_reason, missing, problems }
    #[new]
    fn new(
        messages: Py<PyTuple>,
        finish_reason: &Bound<'_, PyAny>,
        missing: Py<PyTuple>,
        problems: Py<PyTuple>,
    ) -> PyResult<Self> {
        let finish_reason = super::names::parse(finish_reason, "finish_reason")?;
        Ok(Self { messages, finish_reason, missing, problems })
    }

    #[getter]
    fn finish_reason<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        member(py, self.finish_reason)
    }
);

/// A problem in a stream of updates.
#[pyclass(name = "JoinProblem", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyJoinProblem {
    kind: Py<PyString>,
    message: Py<PyString>,
    tool_call_id: Option<Py<PyString>>,
    name: Option<Py<PyString>>,
    text: Option<Py<PyString>>,
}

record!(PyJoinProblem { kind, message, tool_call_id, name, text }
    #[new]
    #[pyo3(signature = (kind, message, tool_call_id=None, name=None, text=None))]
    fn new(
        kind: Py<PyString>,
        message: Py<PyString>,
        tool_call_id: Option<Py<PyString>>,
        name: Option<Py<PyString>>,
        text: Option<Py<PyString>>,
    ) -> Self {
        Self { kind, message, tool_call_id, name, text }
    }
);

impl PyJoinProblem {
    fn from_core(py: Python<'_>, problem: &Problem) -> Self {
        let text = |text: &str| PyString::new(py, text).unbind();
        Self {
            kind: PyString::intern(py, problem.kind()).unbind(),
            message: text(&problem.to_string()),
            tool_call_id: problem.tool_call_id().map(text),
            name: problem.name().map(text),
            text: problem.text().as_deref().map(text),
        }
    }
}
