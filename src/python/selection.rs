//! Python classes for [`crate::selection`].

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::{
    exceptions::{PyIndexError, PyValueError},
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

use super::{
    class::record,
    convert::{object_to_python, to_json, to_json_object},
    message::PyRepair,
    validator::PyViolation,
};
use crate::selection::{
    Policy, Ranking, RankingError, RankingResult, ReplyReader, ScoreError, ScoredReply,
};

/// The parsed reply to a scoring prompt.
#[pyclass(name = "ScoredReply", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyScoredReply(ScoredReply);

#[pymethods]
impl PyScoredReply {
    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, ["score", "parameters", "error"])
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let mut parts = Vec::new();
        for name in ["score", "parameters", "error"] {
            parts.push(format!("{name}={}", slf.getattr(name)?.repr()?));
        }
        Ok(format!("ScoredReply({})", parts.join(", ")))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    #[getter]
    fn score(&self) -> Option<f64> {
        self.0.score.as_ref().ok().copied()
    }

    // A new object each time: callers cannot modify the reply through it.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        object_to_python(py, &self.0.parameters)
    }

    #[getter]
    fn error(&self) -> Option<String> {
        self.0.error()
    }

    #[getter]
    fn violations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyViolation::tuple(py, &self.0.violations)
    }

    #[getter]
    fn ignored<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.ignored)
    }

    #[getter]
    fn repairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let repairs: Vec<_> = self
            .0
            .repairs
            .iter()
            .map(|repair| PyRepair::from_core(py, repair))
            .collect::<PyResult<_>>()?;
        PyTuple::new(py, repairs)
    }
}

/// A reader of replies that should match a schema.
#[pyclass(name = "ReplyReader", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyReplyReader(pub(crate) ReplyReader);

#[pymethods]
impl PyReplyReader {
    #[new]
    #[pyo3(signature = (schema=None))]
    fn new(schema: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self(match schema {
            Some(schema) => ReplyReader::new(&to_json_object(schema)?.into())?,
            None => ReplyReader::of_anything()?,
        }))
    }

    fn read(&self, reply: &Bound<'_, PyAny>) -> PyScoredReply {
        PyScoredReply(if let Ok(text) = reply.cast::<PyString>() {
            self.0.read(&text.to_string_lossy())
        } else {
            match to_json(reply) {
                Ok(value) => self.0.read_value(value),
                // The value that a scorer returns is as untrusted as a model's reply.
                Err(err) => {
                    let reason = err.value(reply.py()).to_string();
                    ScoredReply::failure(ScoreError::InvalidValue { reason })
                }
            }
        })
    }
}

/// The winner of a ranking, and the order of all tools.
#[pyclass(name = "RankingResult", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyRankingResult {
    winner: Option<usize>,
    order: Py<PyTuple>,
    reason: Py<PyString>,
    ties: Py<PyTuple>,
}

record!(PyRankingResult { winner, order, reason, ties }
    #[new]
    fn new(
        py: Python<'_>,
        winner: Option<usize>,
        order: Vec<usize>,
        reason: Py<PyString>,
        ties: Vec<usize>,
    ) -> PyResult<Self> {
        Ok(Self {
            winner,
            order: PyTuple::new(py, order)?.unbind(),
            reason,
            ties: PyTuple::new(py, ties)?.unbind(),
        })
    }
);

impl PyRankingResult {
    fn from_core(py: Python<'_>, result: RankingResult) -> PyResult<Self> {
        let reason = PyString::intern(py, result.reason.as_str()).unbind();
        Self::new(py, result.winner, result.order, reason, result.ties)
    }
}

/// A ranking of tools by their scores.
#[pyclass(name = "Ranking", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyRanking(Mutex<Ranking>);

impl PyRanking {
    fn lock(&self) -> MutexGuard<'_, Ranking> {
        // A panic cannot leave a ranking half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl PyRanking {
    #[new]
    #[pyo3(
        signature = (
            names, specificity=None, *, threshold=70.0, early_stop=Some(90.0),
            fallback=Some("search".to_owned())
        ),
        text_signature = "(names, specificity=None, *, threshold=70.0, early_stop=90.0, \
                          fallback=\"search\")",
    )]
    fn new(
        names: &Bound<'_, PyAny>,
        specificity: Option<&Bound<'_, PyAny>>,
        threshold: f64,
        early_stop: Option<f64>,
        fallback: Option<String>,
    ) -> PyResult<Self> {
        let names: Vec<String> = items(names)?;
        let mut ranking = Ranking::new(names, Policy { threshold, early_stop, fallback })?;
        if let Some(specificity) = specificity {
            ranking = ranking.with_specificity(items(specificity)?)?;
        }
        Ok(Self(Mutex::new(ranking)))
    }

    fn offer(&self, outcomes: &Bound<'_, PyAny>) -> PyResult<bool> {
        let outcomes: Vec<(usize, Option<f64>)> = items(outcomes)?;
        Ok(self.lock().offer(outcomes)?)
    }

    fn finish(&self, py: Python<'_>) -> PyResult<PyRankingResult> {
        let result = self.lock().finish();
        PyRankingResult::from_core(py, result)
    }
}

/// Return the items of any iterable.
fn items<T>(iterable: &Bound<'_, PyAny>) -> PyResult<Vec<T>>
where
    T: for<'a, 'py> FromPyObject<'a, 'py, Error: Into<PyErr>>,
{
    iterable.try_iter()?.map(|item| item?.extract().map_err(Into::into)).collect()
}

impl From<RankingError> for PyErr {
    fn from(err: RankingError) -> Self {
        let message = err.to_string();
        match err {
            RankingError::UnknownPosition { .. } => PyIndexError::new_err(message),
            RankingError::Threshold { .. }
            | RankingError::Specificity { .. }
            | RankingError::DuplicateOutcome { .. } => PyValueError::new_err(message),
        }
    }
}
