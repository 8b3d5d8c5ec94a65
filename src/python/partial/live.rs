//! Python objects that grow while a value is written.

use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    sync::PyOnceLock,
    types::{PyDict, PyList, PyString, PyTuple},
};

use crate::{
    python::convert::to_python,
    repair::{Container, Edit, Step},
};

/// A value that grows in place.
#[derive(Debug, Default)]
pub(super) struct Live {
    root: Option<Py<PyAny>>,
    /// The open containers, the outermost first.
    open: Vec<Open>,
    /// The open string.
    text: Option<OpenText>,
}

#[derive(Debug)]
struct Open {
    container: Py<PyAny>,
    /// Key or index in the container around it; `None` for the whole value.
    step: Option<Py<PyAny>>,
}

#[derive(Debug)]
struct OpenText {
    step: Py<PyAny>,
    /// The text that the Python string does not have yet.
    tail: String,
}

impl Live {
    pub(super) fn apply(&mut self, py: Python<'_>, edit: Edit<'_>) -> PyResult<()> {
        match edit {
            Edit::Open(step, container) => {
                let container = match container {
                    Container::Object => PyDict::new(py).into_any(),
                    Container::Array => PyList::empty(py).into_any(),
                };
                let step = self.insert(step, &container)?;
                self.open.push(Open { container: container.unbind(), step });
            }
            Edit::Close => {
                self.open.pop();
            }
            Edit::Value(step, value) => {
                self.insert(step, &to_python(py, value)?)?;
            }
            Edit::OpenText(step) => {
                let step = self.insert(step, PyString::new(py, "").as_any())?;
                self.text = step.map(|step| OpenText { step, tail: String::new() });
            }
            Edit::Append(text) => {
                if let Some(open) = &mut self.text {
                    open.tail.push_str(text);
                }
            }
            Edit::CloseText => {
                self.flush(py)?;
                self.text = None;
            }
        }
        Ok(())
    }

    /// Insert a value into the innermost open container; return its key or index.
    fn insert(&mut self, step: Step<'_>, value: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
        let py = value.py();
        let container = self.open.last().map(|open| open.container.bind(py));
        match (step, container) {
            (Step::Key(key), Some(object)) => {
                let key = PyString::new(py, key);
                object.set_item(&key, value)?;
                Ok(Some(key.into_any().unbind()))
            }
            (Step::Item, Some(array)) => {
                let array = array.cast::<PyList>()?;
                array.append(value)?;
                Ok(Some((array.len() - 1).into_pyobject(py)?.into_any().unbind()))
            }
            _ => {
                self.root = Some(value.clone().unbind());
                Ok(None)
            }
        }
    }

    /// Add the new text to the open string.
    fn flush(&mut self, py: Python<'_>) -> PyResult<()> {
        let (Some(text), Some(parent)) = (&mut self.text, self.open.last()) else { return Ok(()) };
        if !text.tail.is_empty() {
            // The interpreter appends in place what only it refers to; here the string would be
            // copied for each token.
            static APPEND: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            let append = APPEND.import(py, "toolweave._text", "append_text")?;
            append.call1((&parent.container, &text.step, std::mem::take(&mut text.tail)))?;
        }
        Ok(())
    }

    pub(super) fn value<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.flush(py)?;
        Ok(self.root.as_ref().map(|root| root.bind(py).clone()))
    }

    pub(super) fn snapshot<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let root = self.value(py)?;
        let mut inner: Option<(Option<&Py<PyAny>>, Bound<'py, PyAny>)> = None;
        for open in self.open.iter().rev() {
            let container = open.container.bind(py);
            let copied = match container.cast::<PyDict>() {
                Ok(object) => object.copy()?.into_any(),
                Err(_) => PyList::new(py, container.cast::<PyList>()?)?.into_any(),
            };
            if let Some((Some(step), value)) = inner {
                copied.set_item(step, value)?;
            }
            inner = Some((open.step.as_ref(), copied));
        }
        Ok(inner.map(|(_, copied)| copied).or(root))
    }

    pub(super) fn open_path<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        if self.open.is_empty() {
            return Ok(None);
        }
        let containers = self.open.iter().filter_map(|open| open.step.as_ref());
        let text = self.text.as_ref().map(|text| &text.step);
        PyTuple::new(py, containers.chain(text).collect::<Vec<_>>()).map(Some)
    }

    /// End the value: nothing is open any more.
    pub(super) fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        self.flush(py)?;
        self.text = None;
        self.open.clear();
        Ok(())
    }

    pub(super) fn replace(&mut self, value: &Bound<'_, PyAny>) {
        self.root = Some(value.clone().unbind());
    }

    /// Return the first place where `whole` is not the value with more, as a JSON Pointer.
    pub(super) fn contradiction(&self, whole: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
        match &self.root {
            None => Ok(None),
            Some(root) => difference(root.bind(whole.py()), whole),
        }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.root)?;
        self.open.iter().try_for_each(|open| visit.call(&open.container))
    }
}

/// Return the first place where `whole` is not `part` with more. The depth is that of JSON.
fn difference(part: &Bound<'_, PyAny>, whole: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let below = |step: String, found: Option<String>| found.map(|rest| format!("/{step}{rest}"));
    if let (Ok(part), Ok(whole)) = (part.cast::<PyDict>(), whole.cast::<PyDict>()) {
        for (key, value) in part {
            let found = match whole.get_item(&key)? {
                Some(other) => difference(&value, &other)?,
                None => Some(String::new()),
            };
            if found.is_some() {
                let key = key.cast::<PyString>()?.to_str()?;
                return Ok(below(key.replace('~', "~0").replace('/', "~1"), found));
            }
        }
        return Ok(None);
    }
    if let (Ok(part), Ok(whole)) = (part.cast::<PyList>(), whole.cast::<PyList>()) {
        for (index, value) in part.iter().enumerate() {
            let found = match whole.get_item(index) {
                Ok(other) => difference(&value, &other)?,
                Err(_) => Some(String::new()),
            };
            if found.is_some() {
                return Ok(below(index.to_string(), found));
            }
        }
        return Ok(None);
    }
    let fits = match (part.cast::<PyString>(), whole.cast::<PyString>()) {
        (Ok(part), Ok(whole)) => whole.to_str()?.starts_with(part.to_str()?),
        _ => part.eq(whole)?,
    };
    Ok((!fits).then(String::new))
}
