//! Rust errors as Python exceptions.
//!
//! The classes are written in Python, in `toolweave/exceptions.py`. The matches
//! below are exhaustive: a new variant does not compile until it has a class.

use pyo3::{import_exception, prelude::*};

use crate::{contract, message};

import_exception!(toolweave.exceptions, ContractError);
import_exception!(toolweave.exceptions, MessageError);

impl From<contract::ContractError> for PyErr {
    fn from(err: contract::ContractError) -> Self {
        let message = err.to_string();
        let (tool, place) = match err {
            contract::ContractError::Name { name, .. }
            | contract::ContractError::Duplicate { name } => (name, String::new()),
            contract::ContractError::Schema { name, place, .. } => (name, place),
            contract::ContractError::Definition { name, .. } => {
                (name.unwrap_or_default(), String::new())
            }
        };
        ContractError::new_err((message, tool, place))
    }
}

impl From<message::MessageError> for PyErr {
    fn from(err: message::MessageError) -> Self {
        let place = err.place().clone();
        MessageError::new_err((err.to_string(), place.index, place.path))
    }
}
