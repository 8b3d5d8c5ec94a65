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

/// Describe tools in Markdown: purpose, parameters, result and an example call of each.
///
/// The arguments of the example are valid, and contain no optional ones unless these are necessary.
/// If no valid example was found, the text says so. Descriptions are flattened to one line.
///
/// Args:
///     contracts: The tools.
///     tag: The tag of the example: ``name`` (``<Name>``) or ``tool_call`` (``<tool_call
///         name="Name">``).
///     fenced: True to put its arguments in a Markdown fence.
///
/// Raises:
///     ContractError: The name of a tool cannot be used in a tag, or two tools share a name.
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
///
/// An existing section is replaced in place, so you can call this for every request; without
/// contracts it is removed. The text before and after it is kept.
///
/// Args:
///     contracts: The tools.
///     existing: The system prompt.
///     tag: As for `render_contracts`.
///     fenced: As for `render_contracts`.
///
/// Raises:
///     ContractError: The name of a tool cannot be used in a tag, or two tools share a name.
///
/// Example:
///     >>> prompt = system_prompt(["GetWeather"], "You are a guide.")
///     >>> system_prompt(["GetWeather"], prompt) == prompt
///     True
///     >>> system_prompt([], prompt)
///     'You are a guide.'
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
