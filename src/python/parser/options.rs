//! The options of a parser, from keyword arguments.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyBool, PyDict, PyString},
};

use super::ids::IdFactory;
use crate::{
    calls::RepairMode,
    parser::{Dialect, InCode, Limits, Options},
    python::{class::data_class, error::wrong_type},
};

data_class! {
    /// Bounds on what a parser accepts and buffers.
    ///
    /// Attributes:
    ///     max_depth: Maximum nesting depth of a call's arguments; the object itself is level 1. At
    ///         most 128.
    ///     max_argument_bytes: Maximum size of the payload of one call, in bytes.
    ///     max_repair_bytes: Maximum size of an invalid payload that is repaired, in bytes.
    ///     max_tag_bytes: Maximum size of a tag, of white space next to a payload, of the first line
    ///         of a fence, and of a body that is not JSON, in bytes. At least 16.
    ///     max_calls: Maximum number of calls in a reply.
    "Limits", PyLimits(
        *, max_depth=128, max_argument_bytes=1_048_576, max_repair_bytes=1_048_576, max_tag_bytes=512,
        max_calls=1000
    ) {
        max_depth: usize,
        max_argument_bytes: usize,
        max_repair_bytes: usize,
        max_tag_bytes: usize,
        max_calls: usize,
    }
    check: check_limits
}

fn check_limits(limits: &PyLimits) -> PyResult<()> {
    limits.to_core().check().map_err(|err| PyValueError::new_err(err.to_string()))
}

impl PyLimits {
    fn to_core(&self) -> Limits {
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
    pub(super) id_factory: Option<IdFactory>,
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
                Err(_) => return Err(wrong_type("deltas must be a bool", value)),
            },
            "reasoning_tags" => self.parser.reasoning_tags = names(name, value)?,
            "in_code" => {
                self.parser.in_code = match text(name, value)?.as_str() {
                    "text" => InCode::Text,
                    "call" => InCode::Call,
                    other => return Err(unknown(name, other, ["text", "call"].into_iter())),
                }
            }
            "limits" if value.is_none() => {}
            "limits" => match value.cast::<PyLimits>() {
                Ok(limits) => self.parser.limits = limits.get().to_core(),
                Err(_) => return Err(wrong_type("limits must be Limits or None", value)),
            },
            "id_factory" => self.id_factory = IdFactory::from_option("id_factory", Some(value))?,
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
        Err(_) => Err(wrong_type(format!("{name} must be a str"), value)),
    }
}

/// Return a collection of names. A lone `str` is rejected, although it is iterable.
fn names(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<String>> {
    match value.try_iter() {
        Ok(items) if !value.is_instance_of::<PyString>() => {
            items.map(|item| text(name, &item?)).collect()
        }
        _ => Err(wrong_type(format!("{name} must be a tuple of str"), value)),
    }
}

fn unknown<'a>(name: &str, given: &str, known: impl Iterator<Item = &'a str>) -> PyErr {
    let known: Vec<_> = known.map(|known| format!("{known:?}")).collect();
    PyValueError::new_err(format!("{name}: {given:?} is not one of {}", known.join(", ")))
}
