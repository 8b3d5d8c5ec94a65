//! Conversion of JSON values between Rust and Python.
//!
//! Numbers keep all their digits, and recursion ends at [`MAX_DEPTH`]: a Python object may be
//! deeper than the stack, or contain itself.

use pyo3::{
    PyClass,
    exceptions::{PyRecursionError, PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple},
};
use serde_json::{Map, Number, Value};

use super::error::wrong_type;

/// Maximum nesting depth of a value that is converted.
pub(crate) const MAX_DEPTH: usize = 128;

/// Convert a JSON value to plain Python objects.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    convert(py, value, &mut ())
}

/// Convert a JSON value to plain Python objects. The interpreter is released in between, so the
/// caller must not hold a lock.
pub(crate) fn to_python_yielding<'py>(
    py: Python<'py>,
    value: &Value,
) -> PyResult<Bound<'py, PyAny>> {
    convert(py, value, &mut PeriodicYield::default())
}

/// Convert a JSON object to a Python `dict`.
pub(crate) fn object_to_python<'py>(
    py: Python<'py>,
    members: &Map<String, Value>,
) -> PyResult<Bound<'py, PyDict>> {
    convert_object(py, members, &mut ())
}

/// Convert items to a tuple.
pub(crate) fn tuple<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    items: impl Iterator<Item = PyResult<T>>,
) -> PyResult<Bound<'py, PyTuple>> {
    PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)
}

/// Create a Python object of a class.
pub(crate) fn object<T>(py: Python<'_>, value: T) -> PyResult<Bound<'_, PyAny>>
where
    T: PyClass + Into<PyClassInitializer<T>>,
{
    Bound::new(py, value).map(Bound::into_any)
}

/// Convert a text to a Python string.
pub(crate) fn string(py: Python<'_>, text: &str) -> Py<PyString> {
    PyString::new(py, text).unbind()
}

/// Convert an optional text to a Python string.
pub(crate) fn optional_string(py: Python<'_>, text: Option<&String>) -> Option<Py<PyString>> {
    text.map(|text| string(py, text))
}

/// Read an optional Python string.
pub(crate) fn optional_text(
    py: Python<'_>,
    text: Option<&Py<PyString>>,
) -> PyResult<Option<String>> {
    text.map(|text| text.to_str(py).map(str::to_owned)).transpose()
}

/// A policy of releasing the interpreter between objects.
pub(crate) trait Yielding {
    /// Called before each object is created.
    fn next(&mut self, py: Python<'_>);
}

impl Yielding for () {
    fn next(&mut self, _: Python<'_>) {}
}

/// A policy that releases the interpreter after every few thousand objects.
#[derive(Debug, Default)]
pub(crate) struct PeriodicYield {
    count: usize,
}

impl PeriodicYield {
    /// Number of objects that are created in less than a millisecond.
    const INTERVAL: usize = 4096;
}

impl Yielding for PeriodicYield {
    fn next(&mut self, py: Python<'_>) {
        self.count += 1;
        if self.count.is_multiple_of(Self::INTERVAL) {
            py.detach(|| {});
        }
    }
}

/// Convert a JSON value to plain Python objects.
pub(crate) fn convert<'py>(
    py: Python<'py>,
    value: &Value,
    yielding: &mut impl Yielding,
) -> PyResult<Bound<'py, PyAny>> {
    yielding.next(py);
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => value.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => number_to_python(py, number)?,
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(convert(py, item, yielding)?)?;
            }
            list.into_any()
        }
        Value::Object(members) => convert_object(py, members, yielding)?.into_any(),
    })
}

fn convert_object<'py>(
    py: Python<'py>,
    members: &Map<String, Value>,
    yielding: &mut impl Yielding,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in members {
        dict.set_item(key, convert(py, value, yielding)?)?;
    }
    Ok(dict)
}

/// Copy the lists and dicts of a JSON value; other values are immutable and shared.
#[pyfunction(name = "_copy_json")]
pub(crate) fn copy_json<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    copy(value, 0)
}

fn copy<'py>(value: &Bound<'py, PyAny>, depth: usize) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let is_container = value.is_instance_of::<PyList>() || value.is_instance_of::<PyDict>();
    if is_container && depth > MAX_DEPTH {
        return Err(PyRecursionError::new_err(format!("nested deeper than {MAX_DEPTH} levels")));
    }
    if let Ok(list) = value.cast::<PyList>() {
        let items = list.iter().map(|item| copy(&item, depth + 1));
        return Ok(PyList::new(py, items.collect::<PyResult<Vec<_>>>()?)?.into_any());
    }
    if let Ok(dict) = value.cast::<PyDict>() {
        let copied = PyDict::new(py);
        for (key, member) in dict {
            copied.set_item(key, copy(&member, depth + 1)?)?;
        }
        return Ok(copied.into_any());
    }
    Ok(value.clone())
}

fn number_to_python<'py>(py: Python<'py>, number: &Number) -> PyResult<Bound<'py, PyAny>> {
    if let Some(small) = number.as_i64() {
        return Ok(small.into_pyobject(py)?.into_any());
    }
    let digits = number.as_str();
    if digits.contains(['.', 'e', 'E']) {
        return Ok(PyFloat::new(py, digits.parse()?).into_any());
    }
    py.get_type::<PyInt>().call1((digits,))
}

/// Convert a Python object to JSON; the error gives the location of a value that is not JSON.
pub(crate) fn to_json(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    JsonBuilder::default().value(object)
}

/// Convert a Python mapping to a JSON object.
pub(crate) fn to_json_object(object: &Bound<'_, PyAny>) -> PyResult<Map<String, Value>> {
    match to_json(object)? {
        Value::Object(members) => Ok(members),
        _ => Err(wrong_type("expected a dict with string keys", object)),
    }
}

/// A conversion of a Python object, with the path to the current position.
#[derive(Default)]
struct JsonBuilder<'py> {
    path: Vec<Step<'py>>,
}

/// A step of the path, formatted only for an error: there may be half a million.
enum Step<'py> {
    Index(usize),
    Key(Bound<'py, PyString>),
}

impl<'py> JsonBuilder<'py> {
    fn value(&mut self, object: &Bound<'py, PyAny>) -> PyResult<Value> {
        if self.path.len() > MAX_DEPTH {
            return Err(PyValueError::new_err(format!(
                "nested deeper than {MAX_DEPTH} levels, or a structure that contains itself"
            )));
        }
        if object.is_none() {
            return Ok(Value::Null);
        }
        if let Ok(text) = object.cast::<PyString>() {
            return self.text(text).map(Value::String);
        }
        if object.is_instance_of::<PyBool>() {
            return Ok(Value::Bool(object.extract()?));
        }
        if object.is_instance_of::<PyInt>() {
            return self.integer(object);
        }
        if let Ok(float) = object.cast::<PyFloat>() {
            let Some(number) = Number::from_f64(float.value()) else {
                return Err(self.error(&format!("{object} is not a JSON number")));
            };
            return Ok(Value::Number(number));
        }
        if let Ok(list) = object.cast::<PyList>() {
            return self.items(list.iter());
        }
        if let Ok(tuple) = object.cast::<PyTuple>() {
            return self.items(tuple.iter());
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            return self.members(dict.iter());
        }
        if let Ok(mapping) = object.cast::<PyMapping>() {
            let items = mapping.items()?;
            let pairs: Vec<_> = items.iter().map(|item| item.extract()).collect::<PyResult<_>>()?;
            return self.members(pairs.into_iter());
        }
        Err(self.error(&format!("{} is not a JSON type", object.get_type().name()?)))
    }

    fn text(&self, text: &Bound<'_, PyString>) -> PyResult<String> {
        let text = text.to_str().map(str::to_owned);
        text.map_err(|_| self.error("the string holds a lone surrogate"))
    }

    fn integer(&self, object: &Bound<'_, PyAny>) -> PyResult<Value> {
        if let Ok(small) = object.extract::<i64>() {
            return Ok(small.into());
        }
        // Not `str()`, which an `IntEnum` overrides.
        let digits = object.py().get_type::<PyInt>().call_method1("__repr__", (object,))?;
        let digits = digits.cast::<PyString>()?.to_str()?.to_owned();
        digits
            .parse()
            .map(Value::Number)
            .map_err(|err: serde_json::Error| self.error(&err.to_string()))
    }

    fn items(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Value> {
        let mut array = Vec::with_capacity(items.size_hint().0);
        for (index, item) in items.enumerate() {
            self.path.push(Step::Index(index));
            array.push(self.value(&item)?);
            self.path.pop();
        }
        Ok(Value::Array(array))
    }

    fn members(
        &mut self,
        pairs: impl Iterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
    ) -> PyResult<Value> {
        let mut object = Map::new();
        for (key, value) in pairs {
            let Ok(key) = key.cast::<PyString>() else {
                return Err(self.error(&format!("key {} is not a string", key.repr()?)));
            };
            let text = self.text(key)?;
            self.path.push(Step::Key(key.clone()));
            object.insert(text, self.value(&value)?);
            self.path.pop();
        }
        Ok(Value::Object(object))
    }

    fn error(&self, reason: &str) -> PyErr {
        let mut place = String::new();
        for step in &self.path {
            place.push('/');
            match step {
                Step::Index(index) => place.push_str(&index.to_string()),
                Step::Key(key) => {
                    let key = key.to_string_lossy();
                    place.push_str(&key.replace('~', "~0").replace('/', "~1"));
                }
            }
        }
        if place.is_empty() {
            place.push_str("the top");
        }
        PyTypeError::new_err(format!("not JSON at {place}: {reason}"))
    }
}
