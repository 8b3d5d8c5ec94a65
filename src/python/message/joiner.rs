//! Python classes for the joiner.

use std::{collections::HashMap, sync::Mutex};

use pyo3::{
    prelude::*,
    types::{PyString, PyTuple},
};

use super::{
    call::{PyToolCall, PyToolResult},
    convert::message_with_results,
    extract::Detail,
    names::parse,
    update::{PyFinishUpdate, PyReasoningDelta, PyTextDelta, PyToolCallUpdate, PyUsageUpdate},
};
use crate::{
    message::{Envelope, FinishReason, Joiner, Problem, Role, Update},
    python::{
        class::{data_class, record},
        convert::{string, tuple},
        error::wrong_type,
        lock,
    },
};

/// An accumulator that joins the updates of a reply and the results of its calls into messages.
///
/// Results may arrive before their call, late or twice, and any fragment of a call may have its id.
/// The messages are the same in all these cases, and however the reply was split into pieces. They
/// are in the order of the text; the position of a call is that of its first piece. Calls share a
/// message unless text or reasoning is between them. White space alone between two calls is moved
/// behind the later one, to the beginning of the next text.
///
/// The arguments become the envelope of every message. Safe to share between threads.
///
/// Args:
///     from_agent: The agent that wrote the reply.
///     generation_id: The id that all messages of the reply share.
///     run_id: The run in which the reply was written.
///     chat_id: The chat of the run.
#[pyclass(name = "Joiner", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyJoiner(Mutex<State>);

#[derive(Debug)]
struct State {
    joiner: Joiner,
    /// The first result of each call as it was pushed: the core does not have its `value`.
    results: HashMap<String, Py<PyToolResult>>,
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

    /// Add one update.
    ///
    /// Raises:
    ///     TypeError: The object is not an update.
    fn push(&self, update: &Bound<'_, PyAny>) -> PyResult<()> {
        let update_of_core = to_core(update)?;
        let mut state = lock(&self.0);
        if let (Update::ToolResult(core), Ok(result)) =
            (&update_of_core, update.cast::<PyToolResult>())
        {
            let id = core.tool_call_id.clone();
            state.results.entry(id).or_insert_with(|| result.clone().unbind());
        }
        state.joiner.push(update_of_core);
        Ok(())
    }

    /// Return the messages so far.
    ///
    /// You may push more updates afterwards, such as late results, and call this again.
    fn finish(&self, py: Python<'_>) -> PyResult<PyJoinedReply> {
        let (joined, results) = {
            let state = lock(&self.0);
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
        let messages = joined.messages.iter();
        let messages = messages.map(|message| message_with_results(py, message, &result));
        let problems = joined.problems.iter();
        let problems = problems.map(|problem| Ok(PyJoinProblem::from_core(py, problem)));
        Ok(PyJoinedReply {
            messages: tuple(py, messages)?.unbind(),
            finish_reason: joined.finish_reason,
            missing: PyTuple::new(py, joined.missing)?.unbind(),
            problems: tuple(py, problems)?.unbind(),
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
        Update::ToolCall(call.get().to_core(py, Detail::Full)?)
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
        None => Err(wrong_type(
            "expected a TextDelta, ReasoningDelta, ToolCallUpdate, ToolCall, ToolResult, \
             UsageUpdate or FinishUpdate",
            update,
        )),
    }
}

/// The messages that a `Joiner` has built from its updates.
#[pyclass(name = "JoinedReply", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyJoinedReply {
    /// The reply, in order; results without a call and then the usage come last.
    messages: Py<PyTuple>,
    /// The reason why the reply ended; `missing` if the provider gave none.
    finish_reason: FinishReason,
    /// The ids of the calls in `messages` that have no result yet, in order.
    missing: Py<PyTuple>,
    /// The problems in the stream of updates.
    problems: Py<PyTuple>,
}

record!(PyJoinedReply { fields: [messages, finish_reason, missing, problems] }
    #[new]
    fn new(
        messages: Py<PyTuple>,
        finish_reason: &Bound<'_, PyAny>,
        missing: Py<PyTuple>,
        problems: Py<PyTuple>,
    ) -> PyResult<Self> {
        let finish_reason = parse(finish_reason, "finish_reason")?;
        Ok(Self { messages, finish_reason, missing, problems })
    }
);

data_class! {
    /// A problem in a stream of updates.
    ///
    /// Kinds: ``invalid_arguments``, ``unclosed`` and ``unnamed`` (the native call was left out of the
    /// messages), ``renamed``, ``late_fragment``, ``duplicate_call``, ``duplicate_result``, ``no_call``
    /// (a result without a call), ``after_finish`` and ``second_finish``.
    ///
    /// Attributes:
    ///     kind: The kind of problem.
    ///     tool_call_id: The call concerned, if any.
    "JoinProblem", PyJoinProblem(kind, message, tool_call_id=None, name=None, text=None) {
        kind: Py<PyString>,
        /// A sentence that describes the problem.
        message: Py<PyString>,
        tool_call_id: Option<Py<PyString>>,
        /// The name of the tool.
        name: Option<Py<PyString>>,
        /// The text that was left out of the messages: arguments, a result or another name.
        text: Option<Py<PyString>>,
    }
}

impl PyJoinProblem {
    fn from_core(py: Python<'_>, problem: &Problem) -> Self {
        let text = |text: &str| string(py, text);
        Self {
            kind: PyString::intern(py, problem.kind()).unbind(),
            message: text(&problem.to_string()),
            tool_call_id: problem.tool_call_id().map(text),
            name: problem.name().map(text),
            text: problem.text().as_deref().map(text),
        }
    }
}
