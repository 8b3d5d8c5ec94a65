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
        match err {
            contract::ContractError::Name { name, .. }
            | contract::ContractError::Parameters { name, .. } => {
                ContractError::new_err((message, name))
            }
        }
    }
}

impl From<message::MessageError> for PyErr {
    fn from(err: message::MessageError) -> Self {
        let place = err.place().clone();
        MessageError::new_err((err.to_string(), place.index, place.path))
    }
}
