//! The options of a parser, from keyword arguments.

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::{PyDict, PyString},
};

use super::{
    accept::Accept,
    dialect::{PyDialect, dialect_named},
    ids::IdFactory,
    values::{flag, names, text, unknown},
};
use crate::{
    calls::RepairMode,
    parser::{Dialect, Dialects, InCode, Limits, Options},
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
    pub(crate) fn to_core(&self) -> Limits {
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
    pub(super) accept: Option<Accept>,
}

impl Settings {
    /// Read keyword arguments. There are many, three functions accept them, and most calls pass
    /// none.
    pub(super) fn read(options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut settings = Self {
            parser: Options::default(),
            repair: RepairMode::Schema,
            id_factory: None,
            accept: None,
        };
        for (name, value) in options.into_iter().flat_map(PyDictMethods::iter) {
            let name = name.cast::<PyString>()?.to_str()?.to_owned();
            settings.set(&name, &value)?;
        }
        Ok(settings)
    }

    fn set(&mut self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
        match name {
            "dialects" => self.parser.dialects = dialects(value)?,
            "repair" => self.repair = repair_mode(name, &text(name, value)?)?,
            "deltas" => self.parser.deltas = flag(name, value)?,
            "starts_in_reasoning" => self.parser.starts_in_reasoning = flag(name, value)?,
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
            "accept" => self.accept = Accept::from_option(value)?,
            "id_factory" => self.id_factory = IdFactory::from_option("id_factory", Some(value))?,
            _ => {
                return Err(PyTypeError::new_err(format!("unexpected keyword argument {name:?}")));
            }
        }
        Ok(())
    }
}

/// Return the extent of repair of this name.
pub(crate) fn repair_mode(parameter: &str, name: &str) -> PyResult<RepairMode> {
    let known = RepairMode::ALL.iter().map(|mode| mode.as_str());
    RepairMode::from_wire(name).ok_or_else(|| unknown(parameter, name, known))
}

const AUTO: &str = "auto";

/// Return the dialects that the option names: ``auto``, a dialect, or several.
fn dialects(value: &Bound<'_, PyAny>) -> PyResult<Dialects> {
    if let Ok(dialect) = value.cast::<PyDialect>() {
        return Ok(Dialects::Named(vec![dialect.get().core]));
    }
    match value.cast::<PyString>() {
        Ok(text) if text.to_str()? == AUTO => Ok(Dialects::Auto),
        _ => several(value, true),
    }
}

/// Return the dialects of a collection of names or dialects, with ``auto`` among them if `auto`.
fn several(value: &Bound<'_, PyAny>, auto: bool) -> PyResult<Dialects> {
    let wrong = || {
        wrong_type("dialects must be \"auto\" or a tuple of names, such as (\"hermes\",)", value)
    };
    if value.is_instance_of::<PyString>() || value.is_instance_of::<PyDict>() {
        return Err(wrong());
    }
    let mut named = Vec::new();
    let mut has_auto = false;
    for item in value.try_iter().map_err(|_| wrong())? {
        let item = item?;
        if let Ok(dialect) = item.cast::<PyDialect>() {
            named.push(dialect.get().core);
            continue;
        }
        match text("dialects", &item)? {
            name if auto && name == AUTO => has_auto = true,
            name => named.push(dialect_named("dialects", &name)?),
        }
    }
    Ok(if has_auto { Dialects::AutoWith(named) } else { Dialects::Named(named) })
}

/// Return a dialect, given itself or by its name.
pub(crate) fn dialect_of(parameter: &str, value: &Bound<'_, PyAny>) -> PyResult<Dialect> {
    if let Ok(dialect) = value.cast::<PyDialect>() {
        return Ok(dialect.get().core);
    }
    dialect_named(parameter, &text(parameter, value)?)
}

/// Return the dialects of a collection of names or dialects.
pub(crate) fn dialects_named(value: &Bound<'_, PyAny>) -> PyResult<Vec<Dialect>> {
    several(value, false).map(|dialects| dialects.as_slice().to_vec())
}
