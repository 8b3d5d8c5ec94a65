//! Python classes for updates.

use pyo3::{prelude::*, types::PyString};

use super::names::{member, parse};
use crate::{
    message::{FinishReason, ToolCallUpdate, UsageUpdate},
    python::class::record,
    reply::Fragment,
};

/// A piece of text.
#[pyclass(name = "TextDelta", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyTextDelta {
    pub(crate) text: Py<PyString>,
}

record!(PyTextDelta { text }
    #[new]
    fn new(text: Py<PyString>) -> Self {
        Self { text }
    }
);

/// A piece of reasoning.
#[pyclass(name = "ReasoningDelta", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyReasoningDelta {
    pub(crate) text: Py<PyString>,
}

record!(PyReasoningDelta { text }
    #[new]
    fn new(text: Py<PyString>) -> Self {
        Self { text }
    }
);

/// A fragment of a native call.
#[pyclass(name = "ToolCallUpdate", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyToolCallUpdate {
    tool_call_id: Option<Py<PyString>>,
    index: Option<usize>,
    function_name: Option<Py<PyString>>,
    function_args: Option<Py<PyString>>,
}

record!(PyToolCallUpdate { tool_call_id, index, function_name, function_args }
    #[new]
    #[pyo3(signature = (tool_call_id=None, index=None, function_name=None, function_args=None))]
    fn new(
        tool_call_id: Option<Py<PyString>>,
        index: Option<usize>,
        function_name: Option<Py<PyString>>,
        function_args: Option<Py<PyString>>,
    ) -> Self {
        Self { tool_call_id, index, function_name, function_args }
    }
);

impl PyToolCallUpdate {
    /// Return the fragment, borrowing its texts.
    pub(crate) fn fragment<'a>(&'a self, py: Python<'a>) -> PyResult<Fragment<'a>> {
        let text = |text: &'a Option<Py<PyString>>| {
            text.as_ref().map(|text| text.bind(py).to_str()).transpose()
        };
        Ok(Fragment {
            id: text(&self.tool_call_id)?,
            index: self.index,
            name: text(&self.function_name)?,
            arguments: text(&self.function_args)?,
        })
    }

    /// Return the piece of the arguments in it.
    pub(crate) fn arguments<'py>(&self, py: Python<'py>) -> Option<&Bound<'py, PyString>> {
        self.function_args.as_ref().map(|text| text.bind(py))
    }

    pub(crate) fn from_core(py: Python<'_>, update: &ToolCallUpdate) -> Self {
        let text =
            |text: &Option<String>| text.as_ref().map(|text| PyString::new(py, text).unbind());
        Self {
            tool_call_id: text(&update.tool_call_id),
            index: update.index,
            function_name: text(&update.function_name),
            function_args: text(&update.function_args),
        }
    }

    pub(super) fn to_core(&self, py: Python<'_>) -> PyResult<ToolCallUpdate> {
        let text = |text: &Option<Py<PyString>>| {
            text.as_ref().map(|text| text.bind(py).to_str().map(str::to_owned)).transpose()
        };
        Ok(ToolCallUpdate {
            tool_call_id: text(&self.tool_call_id)?,
            index: self.index,
            function_name: text(&self.function_name)?,
            function_args: text(&self.function_args)?,
        })
    }
}

/// Token usage of the request so far: cumulative, not since the last update.
#[pyclass(name = "UsageUpdate", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
#[expect(clippy::struct_field_names, reason = "the names that users write")]
pub(crate) struct PyUsageUpdate {
    input_tokens: u64,
    output_tokens: u64,
    cached_input_tokens: u64,
}

record!(PyUsageUpdate { input_tokens, output_tokens, cached_input_tokens }
    #[new]
    #[pyo3(signature = (input_tokens=0, output_tokens=0, cached_input_tokens=0))]
    fn new(input_tokens: u64, output_tokens: u64, cached_input_tokens: u64) -> Self {
        Self { input_tokens, output_tokens, cached_input_tokens }
    }
);

impl PyUsageUpdate {
    pub(crate) fn from_core(usage: &UsageUpdate) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            cached_input_tokens: usage.cached_input_tokens,
        }
    }

    pub(super) fn to_core(&self) -> UsageUpdate {
        UsageUpdate {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            cached_input_tokens: self.cached_input_tokens,
        }
    }
}

/// The end of the reply.
#[pyclass(name = "FinishUpdate", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyFinishUpdate {
    pub(crate) reason: FinishReason,
}

record!(PyFinishUpdate { reason }
    #[new]
    fn new(reason: &Bound<'_, PyAny>) -> PyResult<Self> {
        parse(reason, "reason").map(|reason| Self { reason })
    }

    #[getter]
    fn reason<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        member(py, self.reason)
    }
);
