//! The options of a parser, from keyword arguments.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict, PyString},
};

use crate::{
    calls::RepairMode,
    parser::{Dialect, InCode, Limits, Options},
    python::class::record,
};

/// Bounds on what a parser accepts and buffers.
#[pyclass(name = "Limits", module = "toolweave", frozen, get_all, skip_from_py_object)]
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "the names that users write")]
pub(crate) struct PyLimits {
    max_depth: usize,
    max_argument_bytes: usize,
    max_repair_bytes: usize,
    max_tag_bytes: usize,
    max_calls: usize,
}

record!(PyLimits { max_depth, max_argument_bytes, max_repair_bytes, max_tag_bytes, max_calls }
    #[new]
    #[pyo3(signature = (
        *,
        max_depth=128,
        max_argument_bytes=1 << 20,
        max_repair_bytes=1 << 20,
        max_tag_bytes=512,
        max_calls=1000,
    ))]
    #[pyo3(text_signature = "(*, max_depth=128, max_argument_bytes=1048576, \
        max_repair_bytes=1048576, max_tag_bytes=512, max_calls=1000)")]
    fn new(
        max_depth: usize,
        max_argument_bytes: usize,
        max_repair_bytes: usize,
        max_tag_bytes: usize,
        max_calls: usize,
    ) -> PyResult<Self> {
        let limits =
            Self { max_depth, max_argument_bytes, max_repair_bytes, max_tag_bytes, max_calls };
        limits.to_core().check().map_err(|err| PyValueError::new_err(err.to_string()))?;
        Ok(limits)
    }
);

impl PyLimits {
    fn to_core(self) -> Limits {
        Limits {
            max_depth: self.max_depth,
            max_argument_bytes: self.max_argument_bytes,
            max_repair_bytes: self.max_repair_bytes,
            max_tag_bytes: self.max_tag_bytes,
            max_calls: self.max_calls,
        }
    }
}

/// All options of a parser, apart from the tools.
pub(super) struct Settings {
    pub(super) parser: Options,
    pub(super) repair: RepairMode,
    pub(super) id_factory: Option<Py<PyAny>>,
}

impl Settings {
    /// Read keyword arguments. There are many, three functions accept them, and most calls pass
    /// none.
    pub(super) fn read(options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut settings =
            Self { parser: Options::default(), repair: RepairMode::Schema, id_factory: None };
        for (name, value) in options.into_iter().flat_map(PyDictMethods::iter) {
            let name = name.cast::<PyString>()?.to_str()?.to_owned();
            settings.set(&name, &value)?;
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match name {
            "dialects" => self.parser.dialects = dialects_named(value)?,
            "repair" => {
                let mode = text(name, value)?;
                let known = RepairMode::ALL.iter().map(|mode| mode.as_str());
                self.repair =
                    RepairMode::from_wire(&mode).ok_or_else(|| unknown(name, &mode, known))?;
            }
            "deltas" => match value.cast::<PyBool>() {
                Ok(deltas) => self.parser.deltas = deltas.is_true(),
                Err(_) => return Err(wrong_type(name, "a bool", value)),
            },
            "reasoning_tags" => self.parser.reasoning_tags = names(name, value)?,
            "in_code" => {
                self.parser.in_code = match text(name, value)?.as_str() {
                    "text" => InCode::Text,
                    "call" => InCode::Call,
                    other => return Err(unknown(name, other, ["text", "call"].into_iter())),
                }
            }
            "limits" | "id_factory" if value.is_none() => {}
            "limits" => {
                let Ok(limits) = value.cast::<PyLimits>() else {
                    return Err(wrong_type(name, "Limits or None", value));
                };
                self.parser.limits = limits.get().to_core();
            }
            "id_factory" if value.is_callable() => self.id_factory = Some(value.clone().unbind()),
            "id_factory" => {
                return Err(wrong_type(name, "a function of the index, or None", value));
            }
            _ => {
                return Err(PyTypeError::new_err(format!("unexpected keyword argument {name:?}")));
            }
        }
        Ok(())
    }
}

/// Return the dialects with these names.
pub(crate) fn dialects_named(value: &Bound<'_, PyAny>) -> PyResult<Vec<Dialect>> {
    let known = || Dialect::ALL.iter().map(|dialect| dialect.name);
    let find =
        |name: &String| Dialect::named(name).ok_or_else(|| unknown("dialects", name, known()));
    names("dialects", value)?.iter().map(find).collect()
}

fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.cast::<PyString>() {
        Ok(text) => Ok(text.to_str()?.to_owned()),
        Err(_) => Err(wrong_type(name, "a str", value)),
    }
}

/// Return a collection of names. A lone `str` is rejected, although it is iterable.
fn names(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    if value.is_instance_of::<PyString>() {
        return Err(wrong_type(name, "a tuple of str", value));
    }
    let Ok(items) = value.try_iter() else {
        return Err(wrong_type(name, "a tuple of str", value));
    };
    items.map(|item| text(name, &item?)).collect()
}

fn wrong_type(name: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let given = value.get_type().name().map_or_else(|_| "?".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{name} must be {wanted}, got {given}"))
}

fn unknown<'a>(name: &str, given: &str, known: impl Iterator<Item = &'a str>) -> PyErr {
    let known: Vec<_> = known.map(|known| format!("{known:?}")).collect();
    PyValueError::new_err(format!("{name}: {given:?} is not one of {}", known.join(", ")))
}
