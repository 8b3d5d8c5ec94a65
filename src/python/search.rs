//! Python class for [`crate::search`].

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyString,
};

use crate::search::{Index, MAX_WEIGHT};

/// An index of texts by their words, ranked with BM25.
#[pyclass(name = "SearchIndex", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PySearchIndex(Index);

#[pymethods]
impl PySearchIndex {
    #[new]
    fn new(py: Python<'_>, documents: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut read = Vec::new();
        for document in documents.try_iter()? {
            let texts: Vec<_> =
                document?.try_iter()?.map(|text| weighted(&text?)).collect::<PyResult<_>>()?;
            read.push(texts);
        }
        Ok(Self(py.detach(|| Index::new(read))))
    }

    fn search(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyString>,
        limit: usize,
    ) -> Vec<(usize, f32)> {
        let query = query.to_string_lossy();
        py.detach(|| self.0.search(&query, limit))
    }

    fn coverage(&self, py: Python<'_>, query: &Bound<'_, PyString>, documents: Vec<usize>) -> f32 {
        let query = query.to_string_lossy();
        py.detach(move || self.0.coverage(&query, &documents))
    }
}

fn weighted(pair: &Bound<'_, PyAny>) -> PyResult<(String, u32)> {
    let (text, given): (Bound<'_, PyString>, i64) = pair.extract().map_err(|_| {
        PyTypeError::new_err("a document must be an iterable of pairs of a text and its weight")
    })?;
    let weight = u32::try_from(given).ok().filter(|weight| *weight <= MAX_WEIGHT);
    let weight = weight.ok_or_else(|| {
        PyValueError::new_err(format!(
            "the weight of a text must be between 0 and {MAX_WEIGHT}, got {given}"
        ))
    })?;
    // A lone surrogate is not part of a word.
    Ok((text.to_string_lossy().into_owned(), weight))
}
