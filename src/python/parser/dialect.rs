//! Python class for [`crate::parser::Dialect`].

use std::{
    collections::{HashSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::Mutex,
};

use pyo3::{
    exceptions::PyValueError,
    prelude::*,
    types::{PyString, PyTuple},
};

use crate::{
    parser::Dialect,
    prompt::stop_sequence,
    python::{
        lock,
        log::{INFO, Log},
    },
};

static LOG: Log = Log::new("parser");

/// Maximum number of models that are remembered as logged.
const MAX_LOGGED: usize = 1000;

/// The models whose dialect is unknown, each of which is logged once.
static LOGGED: Mutex<Option<HashSet<String>>> = Mutex::new(None);

/// A way in which a family of models writes calls.
///
/// Parsers take dialects by name or as objects. `Dialect.for_model` and `Dialect.from_template`
/// find the one that a model writes.
///
/// Attributes:
///     name: The name that inference servers use, such as ``hermes``.
///     models: The models that write it.
///     is_shaped: True if calls may have no marker, so that only their shape and place identify
///         them. Where such a dialect is named, they count at the beginning of each line.
///     stop_sequence: The beginning of the markup of results, at which a server should end a reply;
///         None if an answer may begin in the same way, or the dialect is only read.
///
/// Example:
///     >>> Dialect.for_model("Qwen/Qwen3-32B")
///     Dialect.named('hermes')
///     >>> Dialect.for_model("gpt-oss:20b").name
///     'harmony'
#[pyclass(name = "Dialect", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyDialect {
    pub(super) core: Dialect,
}

impl PyDialect {
    fn natural() -> Self {
        Self { core: Dialect::NATURAL }
    }
}

#[pymethods]
impl PyDialect {
    /// Return the names of all dialects, the most used first.
    #[staticmethod]
    fn names(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, Dialect::ALL.iter().map(|dialect| dialect.name))
    }

    /// Return the dialect of this name.
    ///
    /// Raises:
    ///     ValueError: There is none; the error lists the known ones with their models.
    #[staticmethod]
    fn named(name: &str) -> PyResult<Self> {
        Ok(Self { core: dialect_named("name", name)? })
    }

    /// Return the dialect that a model writes; ``natural`` if that is not known.
    ///
    /// A template decides alone, if there is one: the same model may be taught another dialect.
    ///
    /// Args:
    ///     name: The name of the model, of its file or of its deployment, in any spelling:
    ///         ``Qwen/Qwen3-32B``, ``qwen3:8b``, ``Qwen3-32B-Q4_K_M.gguf``.
    ///     template: The text of the chat template.
    #[staticmethod]
    #[pyo3(signature = (name, template=None))]
    fn for_model(py: Python<'_>, name: &str, template: Option<&str>) -> Self {
        if let Some(template) = template {
            return Self::from_template(template);
        }
        let known = Dialect::for_model(name);
        if known.is_none() && is_new(name) {
            let message = "the dialect of a model is not known; natural is assumed";
            LOG.record(py, INFO, message, |fields| fields.set_item("model", name));
        }
        known.map_or_else(Self::natural, |core| Self { core })
    }

    /// Return the dialect that a chat template teaches; ``natural`` if it shows none.
    ///
    /// Args:
    ///     template: The text of the template, as in ``tokenizer_config.json`` or a ``.jinja``
    ///         file.
    #[staticmethod]
    fn from_template(template: &str) -> Self {
        Dialect::from_template(template).map_or_else(Self::natural, |core| Self { core })
    }

    /// Return true if calls in the dialect can name a tool of this name.
    fn can_name(&self, tool: &str) -> bool {
        self.core.can_name(tool)
    }

    #[getter]
    fn is_shaped(&self) -> bool {
        self.core.is_shaped()
    }

    #[getter]
    fn stop_sequence(&self) -> Option<&'static str> {
        stop_sequence(&self.core)
    }

    #[getter]
    fn name<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::intern(py, self.core.name)
    }

    #[getter]
    fn models<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.core.models())
    }

    fn __repr__(&self) -> String {
        format!("Dialect.named('{}')", self.core.name)
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.core.name == other.core.name
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.core.name.hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let named = slf.get_type().getattr("named")?;
        (named, (slf.get().core.name,)).into_pyobject(py)
    }
}

/// Return true if this model has not been logged.
fn is_new(name: &str) -> bool {
    let mut logged = lock(&LOGGED);
    let logged = logged.get_or_insert_default();
    logged.len() < MAX_LOGGED && logged.insert(name.to_owned())
}

/// Return the dialect of this name, or an error that lists all of them.
pub(super) fn dialect_named(parameter: &str, name: &str) -> PyResult<Dialect> {
    Dialect::named(name).ok_or_else(|| {
        let known = Dialect::ALL.iter();
        let known =
            known.map(|known| format!("\n  {} ({})", known.name, known.models().join(", ")));
        let known: String = known.collect();
        PyValueError::new_err(format!("{parameter}: {name:?} is not a dialect; known ones:{known}"))
    })
}
