//! Python classes for [`crate::selection`].

use std::sync::Mutex;

use pyo3::{
    exceptions::{PyIndexError, PyValueError},
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

use super::{
    class::{self, Record, record},
    convert::{object_to_python, to_json, to_json_object},
    lock,
    message::PyRepair,
    validator::PyViolation,
};
use crate::selection::{Policy, Ranking, RankingError, ReplyReader, ScoreError, ScoredReply};

/// The parsed reply to a scoring prompt.
///
/// Score and parameters are independent: if the parameters are invalid, the tool can still be
/// ranked by its score, and `violations` lists the defects.
#[pyclass(name = "ScoredReply", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyScoredReply(ScoredReply);

impl Record for PyScoredReply {
    const FIELDS: &'static [&'static str] = &["score", "parameters", "error"];
}

#[pymethods]
impl PyScoredReply {
    #[classattr]
    fn __match_args__(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
        PyTuple::new(py, Self::FIELDS)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        class::repr(slf)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().0 == self.0)
    }

    /// The score from 0 to 100; None if there is no valid one.
    #[getter]
    fn score(&self) -> Option<f64> {
        self.0.score.as_ref().ok().copied()
    }

    /// The rest of the reply, repaired. It is valid if there are no `violations`.
    // A new object each time: callers cannot modify the reply through it.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        object_to_python(py, &self.0.parameters)
    }

    /// The reason why there is no score or, if there is one, why the parameters are invalid.
    #[getter]
    fn error(&self) -> Option<String> {
        self.0.error()
    }

    /// The violations of the schema by the parameters.
    #[getter]
    fn violations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyViolation::tuple(py, &self.0.violations)
    }

    /// The members of the reply that are not among the parameters.
    ///
    /// These are members that the schema does not have, and optional members that are null although
    /// the schema requires a value.
    #[getter]
    fn ignored<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.0.ignored)
    }

    /// The repairs.
    #[getter]
    fn repairs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyRepair::tuple(py, &self.0.repairs)
    }
}

/// A reader of replies that should match the schema of a `returnStruc`.
///
/// A score may be ``85``, ``85.0``, ``"85"``, ``"85.5"`` or ``"85%"``, and is clamped to the range
/// from 0 to 100. It is the member ``score`` or, without one, the only member with that name in
/// another case. The rest is validated by the schema without the score, and repaired if it is
/// invalid. The object may be in a fence, between sentences or after reasoning in ``<think>``, and
/// its syntax is repaired if necessary.
///
/// Args:
///     schema: The schema; None accepts any object.
///
/// Raises:
///     SchemaError: `schema` is not a JSON Schema.
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

    /// Read a reply. This never raises; defects are reported in the result.
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
///
/// After an early stop, a score that arrives late may be higher than that of the winner; its tool
/// then precedes the winner in the order.
#[pyclass(name = "RankingResult", module = "toolweave", frozen, get_all)]
#[derive(Debug)]
pub(crate) struct PyRankingResult {
    /// The position of the winner.
    winner: Option<usize>,
    /// All positions: those with scores, best first, then failed and unfinished ones.
    order: Py<PyTuple>,
    /// The rule that decided; ``early_stop`` means that other scores were not awaited.
    reason: Py<PyString>,
    /// The other tools with the winner's score, best first. Empty for a fallback.
    ties: Py<PyTuple>,
}

record!(PyRankingResult { fields: [winner, order, reason, ties] }
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

/// A ranking of tools by their scores, independent of the order of arrival.
///
/// The highest score that reaches the threshold wins. Ties go to the more specific tool, then to
/// the first one in `names`. So the same scores give the same winner in any order, unless one of
/// them causes an early stop.
///
/// Args:
///     names: The tools, in document order. Elsewhere, a tool is identified by its position in it.
///     specificity: The specificity of each tool; the greater wins. Equal by default.
///     threshold: The lowest score that wins.
///     early_stop: The lowest score that ends the wait for others; it must reach `threshold` as
///         well. None waits for all.
///     fallback: The tool that is selected if no score reaches `threshold`, even if it failed.
///
/// Raises:
///     ValueError: The number of specificities differs from that of names, or a limit is not
///         finite.
///
/// Example:
///     >>> ranking = Ranking(["search", "details"])
///     >>> ranking.offer([(1, 85.0)])
///     False
///     >>> ranking.offer([(0, None)])
///     True
///     >>> ranking.finish().winner
///     1
#[pyclass(name = "Ranking", module = "toolweave", frozen)]
#[derive(Debug)]
pub(crate) struct PyRanking(Mutex<Ranking>);

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

    /// Add outcomes that arrived together: scores, or None for a failure.
    ///
    /// Returns:
    ///     True once the result is final, because a score causes an early stop or all outcomes have
    ///     arrived. Later outcomes are ranked, but do not change the winner.
    ///
    /// Raises:
    ///     IndexError: There is no tool at a position.
    ///     ValueError: A tool has an outcome already.
    fn offer(&self, outcomes: &Bound<'_, PyAny>) -> PyResult<bool> {
        let outcomes: Vec<(usize, Option<f64>)> = items(outcomes)?;
        Ok(lock(&self.0).offer(outcomes)?)
    }

    /// Return the result so far. Outcomes that have not arrived count as failed.
    fn finish(&self, py: Python<'_>) -> PyResult<PyRankingResult> {
        let result = lock(&self.0).finish();
        let reason = PyString::intern(py, result.reason.as_str()).unbind();
        PyRankingResult::new(py, result.winner, result.order, reason, result.ties)
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
