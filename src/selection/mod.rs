//! Selection of a tool by the scores that a model assigns.
//!
//! A [`ReplyReader`] parses the model's reply to a prompt that asks for a score, and a [`Ranking`]
//! decides between the tools. Neither does any I/O: the caller asks the model and passes on the
//! replies, in any order.
//!
//! ```
//! use serde_json::json;
//! use toolweave::selection::{Policy, Ranking, Reason, ReplyReader};
//!
//! let schema = json!({"properties": {"score": {"type": "integer"}, "n": {"type": "integer"}}});
//! let reader = ReplyReader::new(&schema)?;
//! let reading = reader.read("```json\n{\"score\": \"85%\", \"n\": \"4\"}\n```");
//! assert_eq!(reading.score, Ok(85.0));
//! assert_eq!(reading.parameters["n"], 4);
//!
//! let mut ranking = Ranking::new(["search", "details"], Policy::default())?;
//! assert!(!ranking.offer([(1, reading.score.ok())])?);
//! assert!(ranking.offer([(0, None)])?);
//! let result = ranking.finish();
//! assert_eq!((result.winner, result.reason), (Some(1), Reason::Threshold));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ranking;
mod reader;
mod reply;
mod score;
#[cfg(test)]
mod tests;

pub use self::{
    ranking::{Policy, Ranking, RankingError, RankingResult, Reason},
    reader::{ReplyReader, ScoredReply},
    reply::MAX_REPLY_BYTES,
    score::ScoreError,
};
