//! Python functions for [`crate::prompt`].

use pyo3::{exceptions::PyValueError, prelude::*};

use super::contract::extract_contracts;
use crate::{
    contract::Tag,
    prompt::{self, Style},
};

/// Parse the option `tag`.
pub(crate) fn tag(name: &str) -> PyResult<Tag> {
    Tag::from_wire(name).ok_or_else(|| {
        PyValueError::new_err(format!("tag must be \"name\" or \"tool_call\", got {name:?}"))
    })
}

/// Describe tools in Markdown.
#[pyfunction]
#[pyo3(signature = (contracts, *, tag="name", fenced=true))]
pub(crate) fn render_contracts(
    contracts: &Bound<'_, PyAny>,
    tag: &str,
    fenced: bool,
) -> PyResult<String> {
    let style = Style { tag: self::tag(tag)?, fenced };
    Ok(prompt::render_contracts(&extract_contracts(contracts)?, style))
}

/// Add a section on tools, and on how to call them, to a system prompt.
#[pyfunction]
#[pyo3(signature = (contracts, existing=None, *, tag="name", fenced=true))]
pub(crate) fn system_prompt(
    contracts: &Bound<'_, PyAny>,
    existing: Option<&str>,
    tag: &str,
    fenced: bool,
) -> PyResult<String> {
    let style = Style { tag: self::tag(tag)?, fenced };
    Ok(prompt::system_prompt(&extract_contracts(contracts)?, existing, style))
}
