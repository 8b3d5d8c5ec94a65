//! Python classes for [`crate::validator`].
//!
//! Text is parsed directly into Python objects, which are validated in place. Only an invalid value
//! is converted to a [`Value`], for the messages of the core.

use jiter::{PythonParse, StringCacheMode};
use memchr::memchr2;
use pyo3::{
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple},
};
use serde_json::Value;

use super::{
    class::data_class,
    convert::{string, to_json, to_json_object, to_python, tuple},
    error::{InvalidJSONError, ValidationError, wrong_type},
    in_place::{InPlace, Metered},
};
use crate::validator::{
    MAX_DEPTH, MAX_VISITS, Meter, Resources, SchemaError, Validator, Violation, compile,
};

data_class! {
    /// A violation of a schema by a value.
    ///
    /// Attributes:
    ///     path: Location in the value, as a JSON Pointer; empty for the whole value. A missing
    ///         property is reported at the object that lacks it.
    ///     keyword: The schema keyword that failed, such as ``type`` or ``required``.
    ///     message: A sentence with the location, which states what would be valid.
    ///     expected: The value that the schema requires, if it names one: the name of the type, the
    ///         options of an enum, the limit, the name of the missing property.
    ///     actual: The value at `path`; if it is long, the beginning of its JSON as a string.
    "Violation", PyViolation(path, keyword, message, expected, actual) {
        path: Py<PyString>,
        keyword: Py<PyString>,
        message: Py<PyString>,
        expected: Py<PyAny>,
        actual: Py<PyAny>,
    }
}

impl PyViolation {
    fn from_core(py: Python<'_>, violation: &Violation) -> PyResult<Self> {
        Ok(Self {
            path: string(py, &violation.path),
            keyword: PyString::intern(py, &violation.keyword).unbind(),
            message: string(py, &violation.message),
            expected: to_python(py, &violation.expected)?.unbind(),
            actual: to_python(py, &violation.actual)?.unbind(),
        })
    }

    /// Convert violations to a tuple of Python objects.
    pub(crate) fn tuple<'py>(
        py: Python<'py>,
        violations: &[Violation],
    ) -> PyResult<Bound<'py, PyTuple>> {
        tuple(py, violations.iter().map(|violation| Self::from_core(py, violation)))
    }
}

/// A schema compiled for Python objects.
#[derive(Debug)]
pub(crate) struct Compiled {
    in_place: jsonschema::Validator<InPlace>,
    /// The validator of the core, for explanations and for what cannot be validated in place.
    pub(crate) core: Validator,
}

impl Compiled {
    pub(crate) fn new(schema: &Value, resources: &Resources) -> Result<Self, SchemaError> {
        Ok(Self {
            core: Validator::with_resources(schema, resources)?,
            in_place: compile(schema, resources)?,
        })
    }

    /// Parse `text` into an object; the error is a sentence.
    pub(crate) fn parse<'py>(py: Python<'py>, text: &str) -> Result<Bound<'py, PyAny>, String> {
        parse(py, text.as_bytes()).map_err(|err| err.reason)
    }

    /// Return true if `value` is valid. Only for results of [`Compiled::parse`]: any other object
    /// may be deeper than the stack.
    pub(crate) fn is_valid(&self, value: &Bound<'_, PyAny>) -> bool {
        let cost_model = self.core.cost_model();
        if !cost_model.backtracks() && !cost_model.validates_names() {
            let meter = Meter::new(MAX_VISITS, cost_model);
            let fits = self.in_place.is_valid(Metered::new(value, &meter));
            if !meter.is_exhausted() {
                return fits;
            }
        }
        to_json(value).is_ok_and(|value| self.core.is_valid(&value))
    }

    /// Return the violations by `value`; none if it is valid. Only for results of
    /// [`Compiled::parse`].
    pub(crate) fn violations(&self, value: &Bound<'_, PyAny>) -> Vec<Violation> {
        if self.is_valid(value) {
            return Vec::new();
        }
        match to_json(value) {
            Ok(json) => self.explain(&json),
            Err(err) => vec![Violation::invalid_json(&err.value(value.py()))],
        }
    }

    /// Return the violations by any object; raise if it is not JSON.
    fn violations_of_any(&self, value: &Bound<'_, PyAny>) -> PyResult<Vec<Violation>> {
        if !is_plain(value, 0) {
            return Ok(self.core.violations(&to_json(value)?));
        }
        if self.is_valid(value) {
            return Ok(Vec::new());
        }
        let json = to_json(value)?;
        Ok(value.py().detach(|| self.explain(&json)))
    }

    /// Explain why `value` is invalid.
    fn explain(&self, value: &Value) -> Vec<Violation> {
        let mut violations = self.core.violations(value);
        if violations.is_empty() {
            violations.push(Violation::unexplained(value));
        }
        violations
    }
}

/// Return true if `value` consists only of what `json.loads` returns and is safe to validate in
/// place. Integers beyond 64 bits and subclasses are left to the conversion to JSON.
fn is_plain(value: &Bound<'_, PyAny>, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return false;
    }
    if let Ok(text) = value.cast_exact::<PyString>() {
        return text.to_str().is_ok();
    }
    if let Ok(dict) = value.cast_exact::<PyDict>() {
        return dict.iter().all(|(key, member)| {
            key.cast_exact::<PyString>().is_ok_and(|key| key.to_str().is_ok())
                && is_plain(&member, depth + 1)
        });
    }
    if let Ok(list) = value.cast_exact::<PyList>() {
        return list.iter().all(|item| is_plain(&item, depth + 1));
    }
    if let Ok(float) = value.cast_exact::<PyFloat>() {
        return float.value().is_finite();
    }
    if value.is_exact_instance_of::<PyInt>() {
        return value.extract::<i64>().is_ok();
    }
    value.is_none() || value.is_exact_instance_of::<PyBool>()
}

/// Text that is not JSON.
struct InvalidJson {
    reason: String,
    line: usize,
    column: usize,
}

impl From<InvalidJson> for PyErr {
    fn from(err: InvalidJson) -> Self {
        InvalidJSONError::new_err((err.reason, err.line, err.column))
    }
}

fn parse<'py>(py: Python<'py>, text: &[u8]) -> Result<Bound<'py, PyAny>, InvalidJson> {
    let survey = JsonSurvey::of(text);
    if survey.too_deep {
        let reason = format!("not JSON that is accepted: nested deeper than {MAX_DEPTH} levels");
        return Err(InvalidJson { reason, line: 1, column: 1 });
    }
    let parser = PythonParse {
        // Caching values as well would keep user data alive.
        cache_mode: StringCacheMode::Keys,
        ..PythonParse::default()
    };
    let value = parser.python_parse(py, text).map_err(|err| {
        let at = err.get_position(text);
        InvalidJson {
            reason: format!("not JSON: {}", err.description(text)),
            line: at.line,
            column: at.column,
        }
    })?;
    if survey.may_overflow
        && let Err(err) = to_json(&value)
    {
        return Err(InvalidJson { reason: err.value(py).to_string(), line: 1, column: 1 });
    }
    Ok(value)
}

/// A scan of JSON text before it is parsed.
struct JsonSurvey {
    /// True if it is nested deeper than [`MAX_DEPTH`].
    too_deep: bool,
    /// True if it may contain a number beyond the range of a float, which the parser turns into
    /// infinity. Errs on the safe side.
    may_overflow: bool,
}

/// The bytes outside strings that [`JsonSurvey::of`] examines.
const NOTABLE: [bool; 256] = {
    let mut notable = [false; 256];
    let mut at = 0;
    let bytes = b"\"{}[]eE";
    while at < bytes.len() {
        notable[bytes[at] as usize] = true;
        at += 1;
    }
    notable
};

impl JsonSurvey {
    fn of(text: &[u8]) -> Self {
        let mut survey = Self { too_deep: false, may_overflow: has_long_number(text) };
        let mut depth = 0_usize;
        let mut at = 0;
        while at < text.len() {
            let byte = text[at];
            at += 1;
            if !NOTABLE[usize::from(byte)] {
                continue;
            }
            match byte {
                b'"' => at = after_string(text, at),
                b'{' | b'[' => {
                    depth += 1;
                    survey.too_deep |= depth > MAX_DEPTH;
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => survey.may_overflow |= has_large_exponent(&text[at..]),
            }
        }
        survey
    }
}

/// Return the end of the string whose first character is at `at`: after its quote, or the end of
/// the text.
fn after_string(text: &[u8], mut at: usize) -> usize {
    while let Some(step) = text.get(at..).and_then(|rest| memchr2(b'"', b'\\', rest)) {
        at += step + 1;
        if text[at - 1] == b'"' {
            return at;
        }
        // An escaped character does not end the string.
        at += 1;
    }
    text.len()
}

/// Return true if an exponent that continues with `rest` has three digits or more.
fn has_large_exponent(rest: &[u8]) -> bool {
    let digits = rest.strip_prefix(b"+").unwrap_or(rest);
    digits.get(..3).is_some_and(|digits| digits.iter().all(u8::is_ascii_digit))
}

/// Return true if there is a number with more digits than the largest float, which has 309.
fn has_long_number(text: &[u8]) -> bool {
    // Any run of 309 covers one of these blocks.
    const BLOCK: usize = 150;
    text.chunks_exact(BLOCK).any(|block| block.iter().all(u8::is_ascii_digit))
}

/// A compiled JSON Schema.
///
/// All drafts are supported; the default without ``$schema`` is 2020-12. Nothing is fetched: a
/// ``$ref`` refers to the schema, to ``resources`` or to a bundled meta-schema. ``format`` is an
/// assertion where its draft says so (up to draft 7) and an annotation elsewhere.
///
/// Args:
///     schema: The schema.
///     resources: Schemas that a ``$ref`` may refer to, by URI.
///
/// Raises:
///     SchemaError: The schema is invalid, has an unknown reference, or is too large to be safe;
///         the message names the place.
///     TypeError: The schema contains a value that is not JSON.
///
/// Example:
///     >>> validator = Validator({"properties": {"unit": {"enum": ["celsius", "fahrenheit"]}}})
///     >>> validator.validate_json('{"unit": "celsius"}')
///     {'unit': 'celsius'}
///     >>> validator.iter_errors({"unit": "kelvin"})[0].message
///     '/unit: "kelvin" is not one of "celsius", "fahrenheit"'
#[pyclass(name = "Validator", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyValidator {
    compiled: Compiled,
    schema: String,
}

#[pymethods]
impl PyValidator {
    #[new]
    #[pyo3(signature = (schema, *, resources = None))]
    fn new(schema: &Bound<'_, PyAny>, resources: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let schema = to_json(schema)?;
        let resources = match resources {
            Some(resources) => to_json_object(resources)?.into_iter().collect(),
            None => Resources::new(),
        };
        let compiled = Compiled::new(&schema, &resources)?;
        Ok(Self { compiled, schema: Violation::quote(&schema) })
    }

    fn __repr__(&self) -> String {
        format!("Validator({})", self.schema)
    }

    /// Parse ``text`` and return the value, if it is valid.
    ///
    /// Integers of up to 4,300 digits are exact. If a key is repeated, the last one counts.
    ///
    /// Raises:
    ///     InvalidJSONError: The text is not JSON, is nested deeper than 128 levels, or has a
    ///         number beyond the range of a float.
    ///     ValidationError: The value is invalid.
    fn validate_json<'py>(&self, text: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = text.py();
        let value = if let Ok(text) = text.cast::<PyString>() {
            // A lone surrogate is an encoding error, like an invalid byte in `bytes`.
            let text = text.to_str().map_err(|_| InvalidJson {
                reason: "not JSON: the text holds a lone surrogate".to_owned(),
                line: 1,
                column: 1,
            })?;
            parse(py, text.as_bytes())?
        } else if let Ok(bytes) = text.cast::<PyBytes>() {
            parse(py, bytes.as_bytes())?
        } else {
            return Err(wrong_type("expected JSON as str or bytes", text));
        };
        if self.compiled.is_valid(&value) {
            return Ok(value);
        }
        Err(validation_error(py, &self.compiled.violations(&value)))
    }

    /// Raise if ``value`` is invalid.
    ///
    /// Tuples count as arrays and any mapping as an object.
    ///
    /// Raises:
    ///     ValidationError: The value is invalid.
    ///     TypeError: The value contains something that is not JSON: a set, NaN, a key that is not
    ///         a string.
    ///     ValueError: The value is nested deeper than 128 levels, or contains itself.
    fn validate(&self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let violations = self.compiled.violations_of_any(value)?;
        if violations.is_empty() { Ok(()) } else { Err(validation_error(value.py(), &violations)) }
    }

    /// Return True if ``value`` is valid; raise as `validate` does if it is not JSON.
    fn is_valid(&self, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        if is_plain(value, 0) {
            return Ok(self.compiled.is_valid(value));
        }
        Ok(self.compiled.core.is_valid(&to_json(value)?))
    }

    /// Return the violations by ``value``: at most 20, none if it is valid.
    fn iter_errors<'py>(&self, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
        PyViolation::tuple(value.py(), &self.compiled.violations_of_any(value)?)
    }
}

/// Return the exception for `violations`.
pub(crate) fn validation_error(py: Python<'_>, violations: &[Violation]) -> PyErr {
    let message = match violations {
        [first, rest @ ..] if !rest.is_empty() => {
            format!("{} (and {} more)", first.message, rest.len())
        }
        [first, ..] => first.message.clone(),
        [] => String::new(),
    };
    match PyViolation::tuple(py, violations) {
        Ok(violations) => ValidationError::new_err((message, violations.unbind())),
        Err(err) => err,
    }
}
