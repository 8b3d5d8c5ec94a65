//! Which tool wins.
//!
//! The one with the highest score does, if that reaches the threshold. Of equal scores the more
//! specific tool wins, then the one that comes first. So the same scores give the same winner in
//! whatever order they come, unless one is so high that nobody waits for the rest.

use std::cmp::Ordering;

use thiserror::Error;

/// When a score is good enough.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// The lowest score that wins.
    pub threshold: f64,
    /// The lowest score for which the others are not waited for; it has to reach the threshold as
    /// well.
    pub early_stop: Option<f64>,
    /// The tool that is taken if none wins.
    pub fallback: Option<String>,
}

impl Default for Policy {
    fn default() -> Self {
        Self { threshold: 70.0, early_stop: Some(90.0), fallback: Some("search".to_owned()) }
    }
}

/// What cannot be ranked.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum RankingError {
    /// A threshold that nothing can be compared with.
    #[error("{name} is a finite number, not {value}")]
    Threshold {
        /// Which one.
        name: &'static str,
        /// What it is.
        value: f64,
    },
    /// Not one specificity a name.
    #[error("{names} tools, but {given} values of specificity; there has to be one for each")]
    Specificity {
        /// How many tools there are.
        names: usize,
        /// How many values were given.
        given: usize,
    },
    /// An outcome of a tool that is not there.
    #[error("there is no tool at position {position}; the last of {tools} is at {}", tools.saturating_sub(1))]
    UnknownPosition {
        /// The position that was given.
        position: usize,
        /// How many tools there are.
        tools: usize,
    },
    /// A second outcome of one tool.
    #[error("the tool at position {position} has an outcome already")]
    DuplicateOutcome {
        /// The position.
        position: usize,
    },
}

/// Why the winner won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its score is the highest of all, and reaches the threshold.
    Threshold,
    /// Its score was so high that the others were not waited for.
    EarlyStop,
    /// No score reaches the threshold.
    Fallback,
    /// No score reaches the threshold, and there is nothing to fall back to.
    None,
}

impl Reason {
    /// The name that Python knows it by.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Threshold => "threshold",
            Self::EarlyStop => "early_stop",
            Self::Fallback => "fallback",
            Self::None => "none",
        }
    }
}

/// Who won, and in which order the others come.
///
/// After an early stop, one that came late may have a higher score than the winner, and stands
/// before it in the order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankingResult {
    /// The position of the winner.
    pub winner: Option<usize>,
    /// All positions: those with scores, best first, then those that failed or never came.
    pub order: Vec<usize>,
    /// Why.
    pub reason: Reason,
    /// The others that have the winner's very score, best first. None for a fallback.
    pub ties: Vec<usize>,
}

/// What came of a tool.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Outcome {
    Pending,
    Failed,
    Scored(f64),
}

/// Decides between tools by their scores.
///
/// Each outcome costs the same, however many tools there are.
#[derive(Clone, Debug)]
pub struct Ranking {
    outcomes: Vec<Outcome>,
    specificity: Vec<i64>,
    pending: usize,
    policy: Policy,
    fallback: Option<usize>,
    /// The best that has come.
    best: Option<usize>,
    /// Who won while others were outstanding.
    stopped: Option<usize>,
}

impl Ranking {
    /// A ranking of tools, in document order, which are all as specific as each other.
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

    /// Says how specific each tool is: the greater wins among equal scores.
    pub fn with_specificity(mut self, specificity: Vec<i64>) -> Result<Self, RankingError> {
        let (names, given) = (self.outcomes.len(), specificity.len());
        if names != given {
            return Err(RankingError::Specificity { names, given });
        }
        self.specificity = specificity;
        Ok(self)
    }

    /// Takes the outcomes that came in the same turn: positions, and scores or `None` for a
    /// failure. `true` once it is decided, because one of them is good enough or all have come.
    ///
    /// What comes after the decision is ranked, but does not change it. After an error, the
    /// outcomes before the wrong one have been taken.
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

    /// Whether no outcome that is outstanding can change the winner.
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
        // Adding 0 makes -0 zero, which compares as it should.
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

    /// Which of two comes first.
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

    /// The result as it stands. Outcomes that are outstanding count as failed.
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
