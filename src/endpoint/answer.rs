//! From the chunks of a reply to events.

use serde::Deserialize;

use super::event::{Event, Outlet, Reading};
use crate::message::FinishReason;

/// Reads one reply, chunk by chunk.
pub(super) struct Answer {
    _reading: Option<Reading>,
    finish: Option<FinishReason>,
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Default, Deserialize)]
struct Delta {
    content: Option<String>,
}

impl Answer {
    pub(super) fn new(reading: Option<Reading>) -> Self {
        Self { _reading: reading, finish: None }
    }

    /// Takes the JSON of a chunk.
    pub(super) fn push(
        &mut self,
        json: &str,
        outlet: &mut impl Outlet,
    ) -> Result<(), serde_json::Error> {
        let chunk: Chunk = serde_json::from_str(json)?;
        for choice in chunk.choices {
            if let Some(text) = choice.delta.content.filter(|text| !text.is_empty()) {
                outlet.put(Event::Text(text));
            }
            if choice.finish_reason.is_some() {
                self.finish = Some(FinishReason::Stop);
            }
        }
        Ok(())
    }

    /// Ends the reply.
    pub(super) fn finish(&mut self, outlet: &mut impl Outlet) {
        outlet.put(Event::Finish(self.finish.unwrap_or(FinishReason::Missing)));
    }
}
