//! Python class for [`crate::contract`], and conversion of tools to contracts.

use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{IntoPyDict, PyMapping, PyString},
};
use serde_json::{Map, Value};

use super::{
    class::record,
    convert::{to_json, to_python},
    error::ContractError,
};
use crate::contract::{self, FunctionContract, Part};

/// The contract of a tool, as shown to the model; its calls are validated against it.
///
/// Args:
///     name: The name for the model: at most 256 bytes, without white space and without any of ``<
///         > " ' = ` & \``.
///     description: The description for the model.
///     parameters: The JSON Schema of the arguments, an object schema nested at most 100 levels
///         deep. Without one, nothing is validated.
///     returns: The result: a JSON Schema, or a description in words.
///
/// Raises:
///     ContractError: The name cannot be used in a tag, or a schema is invalid; the error names the
///         place.
///
/// Attributes:
///     name: The name for the model.
///     description: The description for the model.
///     parameters: The JSON Schema of the arguments: a new dict each time.
///     returns: The result.
#[pyclass(name = "FunctionContract", module = "toolweave", frozen, from_py_object)]
#[derive(Clone, Debug)]
pub(crate) struct PyFunctionContract(pub(crate) FunctionContract);

record!(PyFunctionContract { fields: [name, description, parameters, returns] }
    #[new]
    #[pyo3(signature = (name, description=None, parameters=None, returns=None))]
    fn new(
        name: String,
        description: Option<String>,
        parameters: Option<&Bound<'_, PyAny>>,
        returns: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut made = FunctionContract::new(name)?;
        made.description = description;
        if let Some(schema) = parameters {
            let schema = json_of(Part::Parameters, &made.name, schema)?;
            made = made.with_parameters(schema)?;
        }
        if let Some(returns) = returns {
            let returns = json_of(Part::Returns, &made.name, returns)?;
            made = made.with_returns(returns)?;
        }
        Ok(Self(made))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn description(&self) -> Option<&str> {
        self.0.description.as_deref()
    }

    // A new object each time: callers cannot modify the contract through it.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.parameters.as_ref().map(|schema| to_python(py, schema)).transpose()
    }

    #[getter]
    fn returns<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.0.returns.as_ref().map(|returns| to_python(py, returns)).transpose()
    }

    /// Return the fields as a dict, without those that are None.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0.to_json())
    }

    /// Create a contract from the result of `to_dict`.
    ///
    /// Raises:
    ///     ContractError: A key is unknown, or a field is invalid.
    #[staticmethod]
    fn from_dict(definition: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(FunctionContract::from_json(&definition_json(definition)?)?))
    }

    /// Return the definition for OpenAI's client: ``{"type": "function", "function": {...}}``.
    ///
    /// `returns` is omitted, since that format has no field for the result of a tool.
    fn to_openai<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.0.to_openai())
    }

    /// Create a contract from a tool definition of a provider client.
    ///
    /// Accepted are OpenAI's form, the same without the wrapper (``name``, ``description``,
    /// ``parameters``), Anthropic's with ``input_schema`` and MCP's with ``inputSchema``. Other
    /// keys are ignored.
    ///
    /// Raises:
    ///     ContractError: The dict is not a definition of a function; the error names the defect.
    #[staticmethod]
    fn from_openai(definition: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(FunctionContract::from_openai(&definition_json(definition)?)?))
    }
);

/// Return the contracts of `tools`: an iterable of contracts, of objects with an attribute
/// `contract`, of functions, of tool definitions of provider clients, or of names; or a mapping from
/// names to any of these, to a schema of the arguments, or to None.
pub(crate) fn extract_contracts(tools: &Bound<'_, PyAny>) -> PyResult<Vec<FunctionContract>> {
    if tools.is_none() {
        return Ok(Vec::new());
    }
    if tools.is_instance_of::<PyString>()
        || contract_of(tools)?.is_some()
        || (tools.is_callable() && !tools.hasattr("__iter__")?)
    {
        return Err(PyTypeError::new_err(format!(
            "tools are given as a list or a mapping; put a single one in a list: [{}]",
            tools.repr()?
        )));
    }
    let contracts = if let Ok(mapping) = tools.cast::<PyMapping>() {
        mapping.items()?.iter().map(|item| named(&item)).collect::<PyResult<Vec<_>>>()?
    } else {
        let items = tools.try_iter().map_err(|_| {
            let kind = tools.get_type();
            PyTypeError::new_err(format!("tools must be a list or a mapping, got {kind}"))
        })?;
        items.map(|item| one(&item?, None)).collect::<PyResult<Vec<_>>>()?
    };
    contract::check_distinct(&contracts)?;
    Ok(contracts)
}

/// Return the contract of one tool; a function gets `name` if that is given.
fn one(tool: &Bound<'_, PyAny>, name: Option<&str>) -> PyResult<FunctionContract> {
    if let Some(contract) = contract_of(tool)? {
        return Ok(contract);
    }
    if let Ok(name) = tool.cast::<PyString>() {
        return Ok(FunctionContract::new(name.to_str()?)?);
    }
    if tool.cast::<PyMapping>().is_ok() {
        return Ok(FunctionContract::from_openai(&definition_json(tool)?)?);
    }
    // As `Toolset` does; the signature and the docstring are read in Python.
    if tool.is_callable() {
        let py = tool.py();
        let options = [("name", name)].into_py_dict(py)?;
        let made = py.import("toolweave.tools")?.call_method("tool", (tool,), Some(&options))?;
        if let Some(contract) = contract_of(&made)? {
            return Ok(contract);
        }
    }
    Err(PyTypeError::new_err(format!(
        "a tool must be a FunctionContract, an object with a contract, a function, a dict with a name, \
         or a name; got {}",
        tool.repr()?
    )))
}

/// Return the contract of one item of a mapping from names to tools.
fn named(item: &Bound<'_, PyAny>) -> PyResult<FunctionContract> {
    let (name, tool): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
    let Ok(name) = name.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!(
            "tools are named by strings, not by {}",
            name.repr()?
        )));
    };
    let name = name.to_str()?;
    let contract = if tool.is_none() {
        FunctionContract::new(name)?
    } else if tool.cast::<PyMapping>().is_ok() {
        match definition_json(&tool)? {
            Value::Object(mut members) if is_definition(&members) => {
                if !members.contains_key("function") && !members.contains_key("name") {
                    members.insert("name".to_owned(), name.into());
                }
                FunctionContract::from_openai(&Value::Object(members))?
            }
            schema => FunctionContract::new(name)?.with_parameters(schema)?,
        }
    } else {
        one(&tool, Some(name))?
    };
    if contract.name != name {
        return Err(ContractError::new_err((
            format!("tool {:?} stands under the name {name:?}; both must agree", contract.name),
            contract.name,
            String::new(),
        )));
    }
    Ok(contract)
}

/// Return true if a dict is a tool definition rather than a schema.
fn is_definition(members: &Map<String, Value>) -> bool {
    ["function", "name", "parameters", "input_schema", "inputSchema"]
        .iter()
        .any(|key| members.contains_key(*key))
}

/// Return the contract that `tool` is or has as an attribute.
fn contract_of(tool: &Bound<'_, PyAny>) -> PyResult<Option<FunctionContract>> {
    if let Ok(contract) = tool.cast::<PyFunctionContract>() {
        return Ok(Some(contract.get().0.clone()));
    }
    let Some(held) = tool.getattr_opt("contract")? else {
        return Ok(None);
    };
    Ok(held.cast::<PyFunctionContract>().ok().map(|contract| contract.get().0.clone()))
}

fn definition_json(definition: &Bound<'_, PyAny>) -> PyResult<Value> {
    named_json("tool definition", "", definition)
}

fn json_of(part: Part, tool: &str, schema: &Bound<'_, PyAny>) -> PyResult<Value> {
    named_json(&format!("{part} of tool {tool:?}"), tool, schema)
}

/// Convert a value to JSON; the error for one that is not JSON names the value and the tool.
fn named_json(name: &str, tool: &str, value: &Bound<'_, PyAny>) -> PyResult<Value> {
    to_json(value).map_err(|cause| {
        let py = value.py();
        let error =
            ContractError::new_err((format!("{name}: {}", cause.value(py)), tool.to_owned(), ""));
        error.set_cause(py, Some(cause));
        error
    })
}
