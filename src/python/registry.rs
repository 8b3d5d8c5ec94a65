//! Python classes for [`crate::registry`].

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
};

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    sync::PyOnceLock,
    types::{IntoPyDict, PyBytes, PyDict, PyMapping, PyString, PyTuple},
};
use serde_json::Value;

use super::{
    class::{self, Record, record},
    convert::{to_json, to_python, tuple},
    diagnostic::diagnostics,
    error::wrong_type,
    lock,
    selection::PyReplyReader,
    template,
};
use crate::{
    registry::{self, BrokenTools, Registry, SiteBlocks, Tool, structure, template::Template},
    selection::ReplyReader,
};

/// A tool of a registry: the element `Tool` of NLWeb's `tools.xml`.
#[pyclass(name = "ToolEntry", module = "toolweave", frozen, eq)]
pub(crate) struct PyToolEntry {
    tool: Arc<Tool>,
    // Derived values, created on first use: most tools of a file never need them.
    prompt: OnceLock<Box<Template>>,
    schema: OnceLock<Box<Value>>,
    reader: PyOnceLock<Py<PyReplyReader>>,
}

impl PyToolEntry {
    fn of(tool: Arc<Tool>) -> Self {
        Self { tool, prompt: OnceLock::new(), schema: OnceLock::new(), reader: PyOnceLock::new() }
    }

    fn template(&self) -> &Template {
        self.prompt
            .get_or_init(|| Template::parse(self.tool.prompt.as_deref().unwrap_or("")).into())
    }

    fn reply_schema(&self) -> &Value {
        self.schema.get_or_init(|| structure::reply_schema(self.tool.return_struc.as_ref()).into())
    }
}

impl PartialEq for PyToolEntry {
    fn eq(&self, other: &Self) -> bool {
        self.tool == other.tool
    }
}

/// Strip the white space around a text.
fn stripped(text: Option<&str>) -> Option<Box<str>> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(Into::into)
}

#[pymethods]
impl PyToolEntry {
    #[classattr]
    fn __match_args__() -> (&'static str, &'static str, &'static str) {
        ("name", "type", "site")
    }

    #[new]
    #[pyo3(signature = (
        name, *, r#type="Thing", site=None, enabled=true, path="", method="", handler=None,
        arguments=None, examples=None, prompt=None, return_struc=None,
    ))]
    #[allow(clippy::too_many_arguments, reason = "they are the fields of the format")]
    fn new(
        name: &str,
        r#type: &str,
        site: Option<&str>,
        enabled: bool,
        path: &str,
        method: &str,
        handler: Option<&str>,
        arguments: Option<&Bound<'_, PyMapping>>,
        examples: Option<&Bound<'_, PyAny>>,
        prompt: Option<&str>,
        return_struc: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if name.trim().is_empty() {
            return Err(PyValueError::new_err("name must not be empty"));
        }
        if site.is_some_and(|site| site.trim().is_empty()) {
            return Err(PyValueError::new_err("site must not be empty; None means every site"));
        }
        let mut tool = Tool::new(name, r#type, site);
        tool.enabled = enabled;
        tool.path = path.trim().into();
        tool.method = method.trim().into();
        tool.handler = stripped(handler);
        tool.prompt = stripped(prompt);
        if let Some(arguments) = arguments {
            for item in arguments.items()? {
                let (name, text): (String, String) = item.extract()?;
                tool.arguments.push((name.into(), text.trim().into()));
            }
        }
        if let Some(examples) = examples {
            if examples.is_instance_of::<PyString>() {
                return Err(PyTypeError::new_err(
                    "examples must be an iterable of str, got one str",
                ));
            }
            for example in examples.try_iter()? {
                let example: String = example?.extract()?;
                tool.examples.extend(stripped(Some(&example)));
            }
        }
        let structure = return_struc.map(to_json).transpose()?;
        tool.return_struc = structure.filter(|value| !value.is_null());
        Ok(Self::of(Arc::new(tool)))
    }

    /// The name.
    #[getter]
    fn name(&self) -> &str {
        &self.tool.name
    }

    /// The type that has the tool, in its short form, such as ``Recipe``.
    #[getter]
    fn r#type(&self) -> &str {
        &self.tool.type_name
    }

    /// The site that has the tool; None for every site.
    #[getter]
    fn site(&self) -> Option<&str> {
        self.tool.site.as_deref()
    }

    /// True if the tool is enabled. A disabled tool hides those that it replaces.
    #[getter]
    fn enabled(&self) -> bool {
        self.tool.enabled
    }

    /// The path of a remote tool; empty if there is none.
    #[getter]
    fn path(&self) -> &str {
        &self.tool.path
    }

    /// ``builtin``, ``code``, ``extension`` or ``url``; empty if not given.
    #[getter]
    fn method(&self) -> &str {
        &self.tool.method
    }

    /// The dotted path of the handler.
    #[getter]
    fn handler(&self) -> Option<&str> {
        self.tool.handler.as_deref()
    }

    /// The arguments, as descriptions by name.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.tool.arguments.iter().map(|(name, text)| (&**name, &**text)).into_py_dict(py)
    }

    /// Example queries for the tool.
    #[getter]
    fn examples<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tool.examples.iter().map(|example| &**example))
    }

    /// The scoring prompt for a model, with placeholders.
    #[getter]
    fn prompt(&self) -> Option<&str> {
        self.tool.prompt.as_deref()
    }

    /// An example of the reply: any JSON. A new object each time.
    // A new object each time: callers cannot modify the entry through it.
    #[getter]
    fn return_struc<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.tool.return_struc.as_ref().unwrap_or(&Value::Null))
    }

    /// The line in the file, from 1; None if the tool is not from a file.
    #[getter]
    fn line(&self) -> Option<usize> {
        self.tool.line
    }

    /// The placeholders of the prompt, each once.
    #[getter]
    fn placeholders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        template::placeholders(py, self.template())
    }

    /// Fill the placeholders of the prompt in one pass; unknown ones become empty.
    fn render(&self, values: &Bound<'_, PyAny>) -> PyResult<String> {
        template::render(self.template(), values)
    }

    /// The JSON Schema of a reply: that of `return_struc`, with a score.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, self.reply_schema())
    }

    /// The same schema without the score: the parameters of the handler. An object schema.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &structure::parameter_schema(self.reply_schema()))
    }

    /// The reader of replies to the prompt. The same object each time.
    #[getter]
    fn reader<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyReplyReader>> {
        let make = || Py::new(py, PyReplyReader(ReplyReader::new(self.reply_schema())?));
        self.reader.get_or_try_init(py, make).map(|reader| reader.bind(py).clone())
    }

    // Equal entries have the same name, type and site, which is enough for a hash.
    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        let Tool { name, type_name, site, .. } = &*self.tool;
        (&**name, &**type_name, site.as_deref()).into_pyobject(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let Tool { name, type_name, site, enabled, .. } = &*self.tool;
        let quoted = |text: &str| PyString::new(py, text).repr().map(|repr| repr.to_string());
        let mut text = format!("ToolEntry(name={}, type={}", quoted(name)?, quoted(type_name)?);
        if let Some(site) = site {
            text.push_str(", site=");
            text.push_str(&quoted(site)?);
        }
        if !enabled {
            text.push_str(", enabled=False");
        }
        text.push(')');
        Ok(text)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        class::reduce(slf)
    }

    #[pyo3(signature = (**changes))]
    fn __replace__<'py>(
        slf: &Bound<'py, Self>,
        changes: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        class::replace(slf, changes)
    }
}

// Without the line in the file.
#[rustfmt::skip]
impl Record for PyToolEntry {
    const FIELDS: &'static [&'static str] = &[
        "name", "type", "site", "enabled", "path", "method", "handler", "arguments", "examples",
        "prompt", "return_struc",
    ];
}

/// The origin of a tool of a type, and the tools that it replaces.
#[pyclass(name = "Origin", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyOrigin {
    /// The tool. If it is disabled, the type does not have it, and `replaces` is hidden.
    tool: Py<PyToolEntry>,
    /// The type that declares it.
    owner: String,
    /// The site that declares it; None for those of every site.
    site: Option<String>,
    /// The tools that it replaces, the nearest first.
    replaces: Py<PyTuple>,
}

record!(PyOrigin { fields: [tool, owner, site, replaces] }
    #[new]
    #[pyo3(signature = (tool, owner, site=None, replaces=None))]
    fn new(
        py: Python<'_>,
        tool: Py<PyToolEntry>,
        owner: String,
        site: Option<String>,
        replaces: Option<Py<PyTuple>>,
    ) -> Self {
        let replaces = replaces.unwrap_or_else(|| PyTuple::empty(py).unbind());
        Self { tool, owner, site, replaces }
    }
);

/// Maximum number of cached lookups. Callers look up the same few types again and again; invented
/// names must not fill the memory.
const MAX_CACHED_LOOKUPS: usize = 1024;

/// A cache of lookups by type, as written, and site.
#[derive(Debug, Default)]
struct LookupCache {
    by_type: HashMap<Box<str>, HashMap<Box<str>, Py<PyTuple>>>,
    count: usize,
}

impl LookupCache {
    fn get(&self, py: Python<'_>, type_: &str, site: &str) -> Option<Py<PyTuple>> {
        Some(self.by_type.get(type_)?.get(site)?.clone_ref(py))
    }

    /// Add a lookup; drop the returned value only after the lock is released.
    fn put(&mut self, type_: &str, site: &str, answer: Py<PyTuple>) -> Option<Self> {
        let full = self.count >= MAX_CACHED_LOOKUPS;
        let dropped = full.then(|| std::mem::take(self));
        self.count += 1;
        self.by_type.entry(type_.into()).or_default().insert(site.into(), answer);
        dropped
    }
}

/// The immutable content of a `tools.xml`.
#[pyclass(name = "RegistrySnapshot", module = "toolweave", frozen)]
pub(crate) struct PyRegistrySnapshot {
    registry: Registry,
    /// The tools as Python objects, each created on first use.
    tool_entries: Vec<PyOnceLock<Py<PyToolEntry>>>,
    entries: PyOnceLock<Py<PyTuple>>,
    cache: Mutex<LookupCache>,
}

impl PyRegistrySnapshot {
    fn new(registry: Registry) -> Self {
        let tool_entries = registry.tools().map(|_| PyOnceLock::new()).collect();
        Self { registry, tool_entries, entries: PyOnceLock::new(), cache: Mutex::default() }
    }

    fn entry<'py>(&self, py: Python<'py>, position: usize) -> PyResult<&Bound<'py, PyToolEntry>> {
        let slot = &self.tool_entries[position];
        loop {
            if let Some(entry) = slot.get(py) {
                return Ok(entry.bind(py));
            }
            let entry = Py::new(py, PyToolEntry::of(Arc::clone(self.registry.tool(position))))?;
            // Not `get_or_try_init`, which releases the interpreter: that takes longer than
            // creating an entry. An entry of another thread is just as good.
            drop(slot.set(py, entry));
        }
    }

    fn tuple<'py>(
        &self,
        py: Python<'py>,
        positions: impl IntoIterator<Item = usize>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, positions.into_iter().map(|position| self.entry(py, position)))
    }
}

fn tools_of(entries: &Bound<'_, PyAny>) -> PyResult<Vec<Arc<Tool>>> {
    entries
        .try_iter()?
        .map(|entry| {
            let entry = entry?;
            match entry.cast::<PyToolEntry>() {
                Ok(entry) => Ok(Arc::clone(&entry.get().tool)),
                Err(_) => Err(wrong_type("entries must be ToolEntry objects", &entry)),
            }
        })
        .collect()
}

#[pymethods]
impl PyRegistrySnapshot {
    /// Read a document; bytes may be UTF-8, UTF-16 with a byte order mark, or declared Latin-1.
    ///
    /// Args:
    ///     source: The document.
    ///     skip_invalid: True to skip tools with errors, which are then among the diagnostics,
    ///         instead of rejecting the document. A document that is not XML is always rejected.
    ///
    /// Raises:
    ///     RegistryError: The document is invalid; its `diagnostics` list all defects.
    #[staticmethod]
    #[pyo3(signature = (source, *, skip_invalid=false))]
    fn read(source: &Bound<'_, PyAny>, skip_invalid: bool) -> PyResult<Self> {
        let py = source.py();
        let broken = if skip_invalid { BrokenTools::LeaveOut } else { BrokenTools::Refuse };
        let registry = if let Ok(text) = source.cast::<PyString>() {
            let text = text.to_str()?;
            py.detach(|| Registry::read_text_with(text, broken))?
        } else if let Ok(bytes) = source.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            py.detach(|| Registry::read_with(bytes, broken))?
        } else {
            return Err(wrong_type("expected XML as str or bytes", source));
        };
        Ok(Self::new(registry))
    }

    /// Create a registry of tools, in the given order.
    ///
    /// Raises:
    ///     RegistryError: A type is called ``Site`` or ``Tool``.
    #[staticmethod]
    fn of(entries: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::new(Registry::of(tools_of(entries)?)?))
    }

    /// Join several registries, in order, as if they were one document.
    ///
    /// Its `diagnostics` are only those of the combination, such as a tool that two of them have.
    /// The `line` of each tool refers to its own document.
    ///
    /// Raises:
    ///     RegistryError: A type is its own ancestor in the combination.
    #[staticmethod]
    fn join(parts: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut read = Vec::new();
        for part in parts.try_iter()? {
            read.push(part?.cast_into::<Self>()?.unbind());
        }
        Ok(Self::new(Registry::joined(read.iter().map(|part| &part.get().registry))?))
    }

    /// Return a registry with additional tools.
    ///
    /// A tool of the same name, type and site is replaced. Others are added at the end of the last
    /// block of their type.
    ///
    /// Raises:
    ///     RegistryError: A type is called ``Site`` or ``Tool``.
    fn with_entries(&self, entries: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self::new(self.registry.with(tools_of(entries)?)?))
    }

    /// All tools in document order, disabled ones as well.
    #[getter]
    fn entries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let make = || self.tuple(py, 0..self.tool_entries.len()).map(Bound::unbind);
        Ok(self.entries.get_or_try_init(py, make)?.bind(py).clone())
    }

    /// The types that have tools, in the order of their first tools.
    #[getter]
    fn types<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.registry.types().collect::<Vec<_>>())
    }

    /// The sites, except for ``default``.
    #[getter]
    fn sites<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.registry.sites().collect::<Vec<_>>())
    }

    /// A hash of the content, regardless of its layout: 32 hexadecimal digits.
    #[getter]
    fn fingerprint(&self) -> String {
        format!("{:032x}", self.registry.fingerprint())
    }

    /// The warnings, in the order of the text, and the errors of skipped tools.
    #[getter]
    fn diagnostics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        diagnostics(py, self.registry.diagnostics())
    }

    /// Return the tools of a type in any spelling, general to specific.
    ///
    /// A specific tool takes the place of the one that it replaces. A site that the registry does
    /// not have has the tools of ``default``.
    #[pyo3(signature = (r#type, site=None))]
    fn tools_for<'py>(
        &self,
        py: Python<'py>,
        r#type: &str,
        site: Option<&str>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        // No site has an empty name.
        let key = site.unwrap_or("");
        if let Some(answer) = lock(&self.cache).get(py, r#type, key) {
            return Ok(answer.into_bound(py));
        }
        let answer = self.tuple(py, self.registry.positions_for(r#type, site))?;
        let dropped = lock(&self.cache).put(r#type, key, answer.clone().unbind());
        drop(dropped);
        Ok(answer)
    }

    /// Return the tools of some types, general to specific.
    ///
    /// Args:
    ///     kinds: The types in any spelling, the most specific first.
    ///     site: The site; by default only tools of every site.
    ///     sites_replace: If true, a site that does not state whether it inherits has only its own
    ///         tools, as in NLWeb.
    #[pyo3(signature = (kinds, site=None, *, sites_replace=false))]
    #[expect(clippy::needless_pass_by_value, reason = "as PyO3 calls it")]
    fn tools_of<'py>(
        &self,
        py: Python<'py>,
        kinds: Vec<String>,
        site: Option<&str>,
        sites_replace: bool,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let kinds: Vec<_> = kinds.iter().map(|kind| registry::type_name(kind)).collect();
        let default_blocks = if sites_replace { SiteBlocks::Replace } else { SiteBlocks::Add };
        self.tuple(py, self.registry.positions_of(&kinds, site, default_blocks))
    }

    /// Return the same tools with the origin of each, and the disabled ones as well.
    #[pyo3(signature = (r#type, site=None))]
    fn explain<'py>(
        &self,
        py: Python<'py>,
        r#type: &str,
        site: Option<&str>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let origins = self.registry.explain(r#type, site).into_iter().map(|origin| {
            let tool = self.entry(py, origin.tool)?.clone();
            let owner = tool.get().tool.type_name.to_string();
            let site = tool.get().tool.site.as_deref().map(str::to_owned);
            let replaces = self.tuple(py, origin.replaces)?.unbind();
            Ok(PyOrigin { tool: tool.unbind(), owner, site, replaces })
        });
        tuple(py, origins)
    }

    /// Return the result of `supertypes`, including types that this registry extends.
    #[pyo3(signature = (r#type))]
    fn supertypes<'py>(&self, py: Python<'py>, r#type: &str) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.registry.supertypes(r#type))
    }

    /// Return the known type most similar to an unknown one: ``Hotel`` for ``hotel``.
    ///
    /// None if the registry or schema.org knows the type, or if there is no similar one.
    #[pyo3(signature = (r#type))]
    fn suggest_type(&self, r#type: &str) -> Option<&str> {
        self.registry.suggest_type(r#type)
    }

    /// Return the registry as XML, with its comments; reading it gives the same registry.
    ///
    /// Raises:
    ///     RegistryError: A text has characters that XML cannot represent, or a type is not a valid
    ///         element name.
    fn write(&self, py: Python<'_>) -> PyResult<String> {
        Ok(py.detach(|| self.registry.write())?)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let written = slf.get().write(py)?;
        (slf.get_type().getattr("read")?, (written,)).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        let tools = self.tool_entries.len();
        let plural = if tools == 1 { "" } else { "s" };
        format!("<RegistrySnapshot of {tools} tool{plural}, {}>", &self.fingerprint()[..8])
    }
}

/// Return the short form of a schema.org type: ``Recipe`` for ``https://schema.org/Recipe``.
///
/// ``Thing`` for ``Item``, which is NLWeb's name of the root.
#[pyfunction]
#[pyo3(signature = (spelling))]
pub(crate) fn type_name(spelling: &str) -> &str {
    registry::type_name(spelling)
}

/// Return a type and all its supertypes, the most specific first, ``Thing`` last.
#[pyfunction]
#[pyo3(signature = (r#type))]
pub(crate) fn supertypes<'py>(py: Python<'py>, r#type: &str) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, registry::supertypes(r#type))
}
