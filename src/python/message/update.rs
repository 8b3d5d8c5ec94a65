//! Python classes for updates.

use pyo3::{prelude::*, types::PyString};

use super::names::parse;
use crate::{
    message::{FinishReason, ToolCallUpdate, UsageUpdate},
    python::{
        class::{data_class, record},
        convert::{optional_string, optional_text},
    },
    reply::Fragment,
};

data_class! {
    /// A piece of text.
    ///
    /// Attributes:
    ///     text: The text. If a whole chunk is text, this is the same string object as the chunk.
    "TextDelta", PyTextDelta(text) {
        text: Py<PyString>,
    }
}

data_class! {
    /// A piece of reasoning.
    ///
    /// Attributes:
    ///     text: The text.
    "ReasoningDelta", PyReasoningDelta(text) {
        text: Py<PyString>,
    }
}

data_class! {
    /// A fragment of a native call, one that the provider's API transports apart from the text.
    ///
    /// The fragments of a call have the same id or, where only the first one has an id, the same index.
    ///
    /// Attributes:
    ///     tool_call_id: The id, if the fragment has it.
    ///     index: The position among the calls of the reply, if the fragment has it.
    ///     function_name: The tool, or a part of its name.
    ///     function_args: A part of the JSON text of the arguments.
    "ToolCallUpdate", PyToolCallUpdate(
        tool_call_id=None, index=None, function_name=None, function_args=None
    ) {
        tool_call_id: Option<Py<PyString>>,
        /// The provider's number for the call within the reply.
        index: Option<usize>,
        function_name: Option<Py<PyString>>,
        /// The next piece of the text of the arguments.
        function_args: Option<Py<PyString>>,
    }
}

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

    pub(crate) fn from_core(py: Python<'_>, update: &ToolCallUpdate) -> Self {
        Self {
            tool_call_id: optional_string(py, update.tool_call_id.as_ref()),
            index: update.index,
            function_name: optional_string(py, update.function_name.as_ref()),
            function_args: optional_string(py, update.function_args.as_ref()),
        }
    }

    pub(super) fn to_core(&self, py: Python<'_>) -> PyResult<ToolCallUpdate> {
        Ok(ToolCallUpdate {
            tool_call_id: optional_text(py, self.tool_call_id.as_ref())?,
            index: self.index,
            function_name: optional_text(py, self.function_name.as_ref())?,
            function_args: optional_text(py, self.function_args.as_ref())?,
        })
    }
}

data_class! {
    /// Token usage of the request so far: cumulative, not since the last update.
    "UsageUpdate", PyUsageUpdate(input_tokens=0, output_tokens=0, cached_input_tokens=0) {
        /// Tokens of the prompt, cached ones included.
        input_tokens: u64,
        /// Tokens of the reply.
        output_tokens: u64,
        /// The part of `input_tokens` that came from the provider's cache.
        cached_input_tokens: u64,
    }
}

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
            ..UsageUpdate::default()
        }
    }
}

/// The end of the reply. It comes once, after everything except results.
///
/// Attributes:
///     reason: The finish reason; ``missing`` if the provider gave none.
#[pyclass(name = "FinishUpdate", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyFinishUpdate {
    pub(crate) reason: FinishReason,
}

record!(PyFinishUpdate { fields: [reason] }
    #[new]
    fn new(reason: &Bound<'_, PyAny>) -> PyResult<Self> {
        parse(reason, "reason").map(|reason| Self { reason })
    }
);
