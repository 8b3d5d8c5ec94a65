//! Python class for [`crate::repair::PartialReader`].

mod live;

use std::sync::Arc;

use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::PyValueError,
    prelude::*,
    types::{PyString, PyTuple},
};

use self::live::Live;
use super::{
    convert::to_json,
    message::PyRepair,
    parser::{PyLimits, PythonValues, ending, repair_mode},
    validator::{Compiled, validation_error},
};
use crate::{
    calls::{CallOutcome, CallValidator, RepairMode},
    message::Repair,
    parser::Limits,
    repair::{PartialReader, PartialSchema},
    validator::{Resources, Violation},
};

/// A JSON value that is still being written, such as the structured reply of a model.
///
/// `value` only grows: objects and lists get more members and items, the open string gets longer,
/// and nothing else changes. Numbers, literals and keys appear when they are complete, values that
/// the schema may still change when that is certain, and what depends on the whole text with
/// `finish`. Text is read as arguments of calls are: with text or a fence around the value, with
/// single quotes, comments, trailing commas and so on. Any split of the text into chunks gives the
/// same values, in time linear in its length. Use a stream from one thread at a time.
///
/// Args:
///     schema: The JSON Schema of the value; any value if not given.
///     repair: The extent of repair, as for `Parser`.
///     limits: Bounds on depth and size; `Limits()` if not given.
///
/// Raises:
///     SchemaError: The schema is invalid, or has an unknown reference; nothing is fetched.
///     ValueError: An option has an invalid value.
///
/// Example:
///     >>> stream = JsonStream({"properties": {"days": {"type": "integer"}}})
///     >>> stream.push('{"city": "Os')
///     True
///     >>> stream.value, stream.open_path
///     ({'city': 'Os'}, ('city',))
///     >>> stream.push('lo", "days": "4"}')
///     True
///     >>> stream.value
///     {'city': 'Oslo'}
///     >>> stream.finish()
///     {'city': 'Oslo', 'days': 4}
// Not frozen, as `Parser`.
#[pyclass(name = "JsonStream", module = "toolweave")]
#[derive(Debug)]
pub(crate) struct PyJsonStream {
    validator: Arc<CallValidator<Compiled>>,
    schema: Arc<PartialSchema>,
    limits: Limits,
    reader: PartialReader,
    live: Live,
    /// The text so far, for the validation of the whole.
    text: String,
    repairs: Vec<Repair>,
    is_finished: bool,
}

impl PyJsonStream {
    fn start(
        validator: Arc<CallValidator<Compiled>>,
        schema: Arc<PartialSchema>,
        limits: Limits,
    ) -> Self {
        let reader =
            PartialReader::new(Arc::clone(&schema), limits.max_depth, limits.max_argument_bytes);
        Self {
            validator,
            schema,
            limits,
            reader,
            live: Live::default(),
            text: String::new(),
            repairs: Vec::new(),
            is_finished: false,
        }
    }

    fn check_open(&self) -> PyResult<()> {
        if self.is_finished {
            let message = "the stream is finished; `fresh` returns another one for the same schema";
            return Err(PyValueError::new_err(message));
        }
        Ok(())
    }
}

#[pymethods]
impl PyJsonStream {
    #[new]
    #[pyo3(signature = (schema=None, *, repair="schema", limits=None))]
    fn new(
        schema: Option<&Bound<'_, PyAny>>,
        repair: &str,
        limits: Option<&Bound<'_, PyLimits>>,
    ) -> PyResult<Self> {
        let repair: RepairMode = repair_mode("repair", repair)?;
        let limits = limits.map(|limits| limits.get().to_core()).unwrap_or_default();
        let schema = schema.map(to_json).transpose()?;
        let partial = match &schema {
            Some(schema) => PartialSchema::new(schema.clone()),
            None => PartialSchema::any(),
        };
        let compile = |schema| {
            let compiled = Compiled::new(&schema, &Resources::default())?;
            PyResult::Ok((schema, compiled))
        };
        let schema = schema.map(compile).transpose()?;
        let validator = CallValidator::for_value(schema, repair, limits);
        Ok(Self::start(Arc::new(validator), Arc::new(partial), limits))
    }

    /// Read the next chunk; return true if `value` or `open_path` may have changed.
    ///
    /// Raises:
    ///     ValueError: The stream is finished.
    fn push(&mut self, chunk: &Bound<'_, PyString>) -> PyResult<bool> {
        self.check_open()?;
        let (py, text) = (chunk.py(), chunk.to_str()?);
        // The validation of the whole reports what is beyond the limit.
        let limit = self.limits.max_argument_bytes.saturating_add(1);
        if self.text.len() < limit {
            self.text.push_str(text);
        }
        let (mut changed, mut result) = (false, Ok(()));
        let live = &mut self.live;
        self.reader.push(text, &mut |edit| {
            changed = true;
            if result.is_ok() {
                result = live.apply(py, edit);
            }
        });
        result.map(|()| changed)
    }

    /// Value as far as it is written, as plain JSON values; None if there is nothing yet.
    ///
    /// These are always the same objects, which grow with each chunk: reading the value after each
    /// token costs as much as the token. `snapshot` returns a value that stays as it is.
    #[getter]
    fn value<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.live.value(py)
    }

    /// Return a copy of the value that does not grow.
    ///
    /// Only the containers that are still open are copied, which costs as much as they have members
    /// and items; complete parts are shared with `value`.
    fn snapshot<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.live.snapshot(py)
    }

    /// Path of the innermost value that is incomplete, as keys and indexes.
    ///
    /// It leads to the string that is being written, or to the open container; it is ``()`` for the
    /// whole value, and None if no value is open.
    #[getter]
    fn open_path<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.live.open_path(py)
    }

    /// All repairs of the text and the value; empty before `finish`.
    #[getter]
    fn repairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyRepair::tuple(py, &self.repairs)
    }

    /// End the text; return the value of the whole, repaired and valid, which is then `value`.
    ///
    /// The rules are those for arguments of calls, except that the value may be of any type.
    ///
    /// Args:
    ///     truncated: True if the model was cut off. Then the value is incomplete, even if it looks
    ///         complete.
    ///
    /// Raises:
    ///     ValidationError: The text is not a valid value, with all violations. `value` keeps what
    ///         was written. This includes a repeated key that contradicts the value shown before.
    ///     ValueError: The stream is finished.
    #[pyo3(signature = (*, truncated=false))]
    fn finish<'py>(&mut self, py: Python<'py>, truncated: bool) -> PyResult<Bound<'py, PyAny>> {
        self.check_open()?;
        self.is_finished = true;
        self.live.end(py)?;
        let text = std::mem::take(&mut self.text);
        let outcome = self.validator.validate_value(&PythonValues(py), &text, ending(truncated));
        match outcome {
            CallOutcome::Call { arguments: value, repairs } => {
                if let Some(path) = self.live.contradiction(&value)? {
                    return Err(validation_error(py, &[Violation::duplicate_key(path)]));
                }
                self.repairs = repairs;
                self.live.replace(&value);
                Ok(value)
            }
            CallOutcome::Invalid { violations, .. } => Err(validation_error(py, &violations)),
        }
    }

    /// Return a stream for the same schema and options, without any text.
    ///
    /// Nothing is compiled again.
    fn fresh(&self) -> Self {
        Self::start(Arc::clone(&self.validator), Arc::clone(&self.schema), self.limits)
    }

    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 calls it")]
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.live.traverse(&visit)
    }

    fn __clear__(&mut self) {
        self.live = Live::default();
    }

    fn __repr__(&self) -> String {
        let state = if self.is_finished { "finished" } else { "open" };
        format!("<JsonStream, {state}, {} bytes>", self.text.len())
    }
}
