//! Python class for [`crate::search`].

use pyo3::{
    exceptions::{PyTypeError, PyValueError},
    prelude::*,
    types::PyString,
};

use crate::search::{Index, MAX_WEIGHT};

/// An index of texts by their words, ranked with BM25.
///
/// Words are split at punctuation, digits and changes of case. Parts that are separated only by
/// digits or case also count in pairs and as a whole (``GitHub`` is *git*, *hub* and *github*).
/// Case is ignored, and so is a final *s*. In scripts without spaces, each character counts, and
/// each pair of adjacent characters.
///
/// Args:
///     documents: Sequences of texts, each with a weight from 0 to 100.
///
/// Example:
///     >>> index = SearchIndex([[("GetWeather", 3)], [("send_mail", 3), ("Sends a mail.", 1)]])
///     >>> [position for position, _ in index.search("mails of today", 5)]
///     [1]
#[pyclass(name = "SearchIndex", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PySearchIndex(Index);

#[pymethods]
impl PySearchIndex {
    #[new]
    fn new(py: Python<'_>, documents: &Bound<'_, PyAny>) -> PyResult<Self> {
        let texts = |document: Bound<'_, PyAny>| {
            document.try_iter()?.map(|text| weighted(&text?)).collect::<PyResult<Vec<_>>>()
        };
        let read: Vec<_> =
            documents.try_iter()?.map(|document| texts(document?)).collect::<PyResult<_>>()?;
        Ok(Self(py.detach(|| Index::new(read))))
    }

    /// Return positions and scores of the documents with a word of `query`, best first.
    ///
    /// Equal scores are in the order of the documents. Of a long query, only the first 10,000
    /// characters are read, and the first 64 words that occur in any document.
    fn search(
        &self,
        py: Python<'_>,
        query: &Bound<'_, PyString>,
        limit: usize,
    ) -> Vec<(usize, f32)> {
        let query = query.to_string_lossy();
        py.detach(|| self.0.search(&query, limit))
    }

    /// Return the share of the words of `query` that occur in documents, from 0 to 1.
    ///
    /// Rare words count more. Of a long query, only the first 10,000 characters and the first 64
    /// words are read.
    ///
    /// Args:
    ///     query: The query.
    ///     documents: Positions of documents; a word counts if it occurs in at least one of them.
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
