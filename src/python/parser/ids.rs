//! Ids of calls for which the provider gave none.

use std::collections::{BTreeMap, HashSet};

use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyDict, PyString},
};

use crate::python::{
    error::wrong_type,
    log::{Log, WARNING},
};

static LOG: Log = Log::new("parser");

/// A function that returns an id for an index.
#[derive(Debug)]
pub(crate) struct IdFactory {
    function: Py<PyAny>,
    /// The name of the option, for messages.
    option: &'static str,
}

/// The ids of one reply: those of open calls by index, and all ids that a factory must not repeat.
#[derive(Debug, Default)]
pub(crate) struct OpenIds {
    open: BTreeMap<usize, Py<PyString>>,
    given: HashSet<String>,
}

impl OpenIds {
    /// Return true if no other call of the reply has this id, which a model wrote.
    pub(crate) fn is_free(&mut self, id: &str) -> bool {
        self.given.insert(id.to_owned())
    }

    pub(crate) fn insert(&mut self, index: usize, id: Py<PyString>) {
        self.open.insert(index, id);
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Py<PyString>> {
        self.open.get(&index)
    }

    pub(crate) fn remove(&mut self, index: usize) -> Option<Py<PyString>> {
        self.open.remove(&index)
    }

    /// Discard the ids of the reply.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
        self.given.clear();
    }

    /// Return `call_N`, with a suffix if a factory has returned that id already.
    fn counted(&mut self, index: usize) -> String {
        let counted = format!("call_{index}");
        let mut id = counted.clone();
        let mut number = 1;
        while !self.given.insert(id.clone()) {
            number += 1;
            id = format!("{counted}#{number}");
        }
        id
    }
}

impl IdFactory {
    /// Create a factory from the value of an option, if it is given.
    pub(crate) fn from_option(
        option: &'static str,
        given: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<Self>> {
        match given {
            None => Ok(None),
            Some(given) if given.is_none() => Ok(None),
            Some(given) if given.is_callable() => {
                Ok(Some(Self { function: given.clone().unbind(), option }))
            }
            Some(given) => {
                let requirement = format!("{option} must be a function of the index, or None");
                Err(wrong_type(requirement, given))
            }
        }
    }

    pub(super) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { function: self.function.clone_ref(py), option: self.option }
    }

    pub(super) fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.function)
    }

    /// Return the id of the call at `index`. An id that is empty, repeated or has lone surrogates
    /// is replaced: the text of the call has been read by then and must not be lost.
    pub(super) fn id<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        ids: &mut OpenIds,
    ) -> PyResult<Bound<'py, PyString>> {
        let id = match self.function.bind(py).call1((index,))?.cast_into::<PyString>() {
            Ok(id) => id,
            Err(err) => {
                let requirement = format!("{} must return a str", self.option);
                return Err(wrong_type(requirement, &err.into_inner()));
            }
        };
        if id.to_str().is_ok_and(|id| !id.is_empty() && ids.given.insert(id.to_owned())) {
            return Ok(id);
        }
        let counted = ids.counted(index);
        let message = format!(
            "{} must return ids that are not empty, not repeated in a reply and without lone \
             surrogates; another id is used",
            self.option
        );
        LOG.record(py, WARNING, &message, |fields: &Bound<'_, PyDict>| {
            fields.set_item("returned", id.repr()?)?;
            fields.set_item("tool_call_id", &counted)
        });
        Ok(PyString::new(py, &counted))
    }
}
