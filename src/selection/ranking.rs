//! Ranking of tools by score.
//!
//! The tool with the highest score wins, if it reaches the threshold. Among equal scores the more
//! specific tool wins, then the first. The same scores therefore give the same winner in any order
//! of arrival, unless an early stop ends the wait for the rest.

use std::cmp::Ordering;

use thiserror::Error;

/// The scores that are required to win.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The minimum score to win.
    pub threshold: f64,
    /// The minimum score that ends the wait for other tools; it must also reach the threshold.
    pub early_stop: Option<f64>,
    /// The tool to choose if none wins.
    pub fallback: Option<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self { threshold: 70.0, early_stop: Some(90.0), fallback: Some("search".to_owned()) }
    }
}

/// An error in the setup or the outcomes of a ranking.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RankingError {
    /// A limit is not a finite number.
    #[error("{name} must be a finite number, got {value}")]
    Threshold {
        /// The name of the limit.
        name: &'static str,
        /// The given value.
        value: f64,
    },
    /// The number of specificities differs from the number of tools.
    #[error("specificity must have one value for each of {names} tools, got {given}")]
    Specificity {
        /// The number of tools.
        names: usize,
        /// The number of given values.
        given: usize,
    },
    /// The outcome belongs to no tool.
    #[error("position must be less than {tools}, the number of tools, got {position}")]
    UnknownPosition {
        /// The given position.
        position: usize,
        /// The number of tools.
        tools: usize,
    },
    /// A tool has two outcomes.
    #[error("the tool at position {position} already has an outcome")]
    DuplicateOutcome {
        /// The position.
        position: usize,
    },
}

/// The reason for the outcome of a ranking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The winner's score is the highest and reaches the threshold.
    Threshold,
    /// The winner's score was high enough to end the wait for the others.
    EarlyStop,
    /// No score reaches the threshold.
    Fallback,
    /// No score reaches the threshold, and there is no fallback.
    None,
}

impl Reason {
    /// Return the name used in Python.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::EarlyStop => "early_stop",
            Self::Fallback => "fallback",
            Self::None => "none",
        }
    }
}

/// The winner, and the order of all tools.
///
/// After an early stop, a late outcome may have a higher score than the winner and precede it in
/// the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankingResult {
    /// The position of the winner.
    pub winner: Option<usize>,
    /// All positions: tools with scores, best first, then those that failed or are pending.
    pub order: Vec<usize>,
    /// The reason.
    pub reason: Reason,
    /// The other tools with the winner's score, best first. Empty for a fallback.
    pub ties: Vec<usize>,
}

/// The outcome of a tool.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Pending,
    Failed,
    Scored(f64),
}

/// A ranking of tools by their scores.
///
/// Each outcome takes constant time, regardless of the number of tools.
#[derive(Clone, Debug)]
pub struct Ranking {
    outcomes: Vec<Outcome>,
    specificity: Vec<i64>,
    pending: usize,
    policy: Policy,
    fallback: Option<usize>,
    /// The best tool so far that reaches the threshold.
    best: Option<usize>,
    /// The winner of an early stop.
    stopped: Option<usize>,
}

impl Ranking {
    /// Create a ranking of tools, in document order, with equal specificity.
    pub fn new<N: AsRef<str>>(
        names: impl IntoIterator<Item = N>,
        policy: Policy,
    ) -> Result<Self, RankingError> {
        let mut tools = 0;
        let mut fallback = None;
        for (position, name) in names.into_iter().enumerate() {
            if policy.fallback.as_deref() == Some(name.as_ref()) {
                fallback.get_or_insert(position);
            }
            tools = position + 1;
        }
        let limits = [("threshold", Some(policy.threshold)), ("early_stop", policy.early_stop)];
        for (name, value) in limits {
            if let Some(value) = value.filter(|value| !value.is_finite()) {
                return Err(RankingError::Threshold { name, value });
            }
        }
        Ok(Self {
            outcomes: vec![Outcome::Pending; tools],
            specificity: vec![0; tools],
            pending: tools,
            policy,
            fallback,
            best: None,
            stopped: None,
        })
    }

    /// Set the specificity of each tool: the greater one wins among equal scores.
    pub fn with_specificity(mut self, specificity: Vec<i64>) -> Result<Self, RankingError> {
        let (names, given) = (self.outcomes.len(), specificity.len());
        if names != given {
            return Err(RankingError::Specificity { names, given });
        }
        self.specificity = specificity;
        Ok(self)
    }

    /// Record outcomes that arrived at the same time: positions, and scores or `None` for failures.
    /// Return true once the winner is decided, by an early stop or because all outcomes have
    /// arrived.
    ///
    /// Later outcomes are ranked but do not change the winner. If an outcome is invalid, those
    /// before it have been recorded.
    pub fn offer(
        &mut self,
        outcomes: impl IntoIterator<Item = (usize, Option<f64>)>,
    ) -> Result<bool, RankingError> {
        for (position, score) in outcomes {
            self.take(position, score)?;
        }
        if self.stopped.is_none()
            && self.pending > 0
            && let Some(enough) = self.policy.early_stop
        {
            self.stopped = self.best.filter(|best| self.score(*best) >= Some(enough));
        }
        Ok(self.is_decided())
    }

    /// Return true if no pending outcome can change the winner.
    pub fn is_decided(&self) -> bool {
        self.stopped.is_some() || self.pending == 0
    }

    fn take(&mut self, position: usize, score: Option<f64>) -> Result<(), RankingError> {
        let tools = self.outcomes.len();
        let Some(outcome) = self.outcomes.get_mut(position) else {
            return Err(RankingError::UnknownPosition { position, tools });
        };
        if *outcome != Outcome::Pending {
            return Err(RankingError::DuplicateOutcome { position });
        }
        self.pending -= 1;
        *outcome = Outcome::Failed;
        let Some(score) = score.filter(|score| !score.is_nan()) else { return Ok(()) };
        // Adding 0 turns -0 into 0, for total ordering.
        *outcome = Outcome::Scored(score + 0.0);
        if score >= self.policy.threshold
            && self.best.is_none_or(|best| self.compare(position, best).is_lt())
        {
            self.best = Some(position);
        }
        Ok(())
    }

    fn score(&self, position: usize) -> Option<f64> {
        match self.outcomes[position] {
            Outcome::Scored(score) => Some(score),
            Outcome::Failed | Outcome::Pending => None,
        }
    }

    /// Compare the ranks of two tools.
    fn compare(&self, one: usize, other: usize) -> Ordering {
        let by_score = match (self.score(one), self.score(other)) {
            (Some(one), Some(other)) => other.total_cmp(&one),
            (one, other) => one.is_none().cmp(&other.is_none()),
        };
        let pending = |position: usize| self.outcomes[position] == Outcome::Pending;
        by_score
            .then_with(|| pending(one).cmp(&pending(other)))
            .then_with(|| self.specificity[other].cmp(&self.specificity[one]))
            .then_with(|| one.cmp(&other))
    }

    /// Return the current result. Pending outcomes count as failed.
    pub fn finish(&self) -> RankingResult {
        let mut order: Vec<usize> = (0..self.outcomes.len()).collect();
        order.sort_unstable_by(|one, other| self.compare(*one, *other));
        let (winner, reason) = match (self.stopped, self.best, self.fallback) {
            (Some(winner), _, _) => (Some(winner), Reason::EarlyStop),
            (None, Some(winner), _) => (Some(winner), Reason::Threshold),
            (None, None, Some(fallback)) => (Some(fallback), Reason::Fallback),
            (None, None, None) => (None, Reason::None),
        };
        let has_won = matches!(reason, Reason::Threshold | Reason::EarlyStop);
        let ties = winner.filter(|_| has_won).map_or_else(Vec::new, |winner| {
            let score = self.score(winner);
            let ties = order.iter().copied();
            ties.filter(|other| *other != winner && self.score(*other) == score).collect()
        });
        RankingResult { winner, order, reason, ties }
    }
}
