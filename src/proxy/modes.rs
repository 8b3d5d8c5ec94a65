//! The mode of each model: fixed, or learned from its replies.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use regex::Regex;

use super::settings::Mode;
use crate::endpoint::Failure;

/// The modes of all models.
///
/// A model whose mode is not fixed begins with [`Mode::Recover`]. It changes to [`Mode::Natural`],
/// for good, if the upstream rejects tools or if a reply lacks a required call; a call shows that
/// the upstream presents tools to the model, and that ends the learning.
#[derive(Debug)]
pub(super) struct Modes {
    fixed: Option<Mode>,
    learned: Mutex<HashMap<String, Mode>>,
}

/// Maximum number of models that are remembered. Clients can make up any number of names.
const MAX_MODELS: usize = 1024;

impl Modes {
    pub(super) fn new(fixed: Option<Mode>) -> Self {
        Self { fixed, learned: Mutex::default() }
    }

    /// Return the mode of a model.
    pub(super) fn mode(&self, model: &str) -> Mode {
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        self.fixed.or_else(|| learned.get(model).copied()).unwrap_or(Mode::Recover)
    }

    /// Record the mode that suits a model. Return true if this is new.
    pub(super) fn learn(&self, model: &str, mode: Mode) -> bool {
        if self.fixed.is_some() {
            return false;
        }
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        if learned.contains_key(model) || learned.len() >= MAX_MODELS {
            return false;
        }
        learned.insert(model.to_owned(), mode);
        true
    }

    /// Return true if the mode of a model may still change.
    pub(super) fn is_open(&self, model: &str) -> bool {
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        self.fixed.is_none() && !learned.contains_key(model)
    }
}

/// Return true if the upstream has rejected a request because it does not support tools.
///
/// An error about one tool, such as an invalid schema, is not of this kind.
pub(super) fn rejects_tools(failure: &Failure) -> bool {
    let rejected = matches!(failure.status, Some(400 | 404 | 405 | 422 | 500 | 501));
    rejected && NO_TOOLS.as_ref().is_some_and(|pattern| pattern.is_match(&failure.message))
}

/// The errors of servers for requests with tools: those of `OpenAI`, Ollama, vLLM, llama.cpp,
/// `OpenRouter` and `LiteLLM`.
static NO_TOOLS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    const TOOLS: &str = r#"(?:tool[ _]?(?:use|choice|calls?|calling)|function[ _]?call(?:s|ing)?|['"`]?(?:tools|functions)(?:['"`]|[^.\[\w]|$))"#;
    let pattern = format!(
        r"(?i)(?:not|n't|unsupported|no endpoints|unknown|unrecognized|unexpected|invalid)\b[^.]{{0,60}}?\b{TOOLS}|\b{TOOLS}['\x22`]? ?(?:param(?:eter)?s? )?(?:is|are|was|were)? ?(?:not (?:supported|available|enabled|allowed|permitted|implemented)|unsupported)|\btool[ _]?(?:choice|s)?\b[^.]{{0,40}}\brequires?\s+--"
    );
    Regex::new(&pattern).ok()
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::FailureKind;

    fn failure(message: &str) -> Failure {
        let mut failure = Failure::new(FailureKind::Status, message);
        failure.status = Some(400);
        failure
    }

    #[test]
    fn the_errors_of_servers_without_tools_are_recognized() {
        for message in [
            "registry.ollama.ai/library/phi3:latest does not support tools",
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            "tools param requires --jinja flag",
            "No endpoints found that support tool use. To learn more about provider routing, visit",
            "Unrecognized request argument supplied: tools",
            "tools is not supported in this model",
            "This model doesn't support function calling",
        ] {
            assert!(rejects_tools(&failure(message)), "{message}");
        }
    }

    #[test]
    fn errors_about_one_tool_are_not() {
        for message in [
            "Invalid schema for function 'get_weather': object schema missing properties",
            "Invalid 'tools[0].function.name': string does not match pattern",
            "The model is overloaded",
            "context length exceeded",
        ] {
            assert!(!rejects_tools(&failure(message)), "{message}");
        }
        let mut overloaded = failure("does not support tools");
        overloaded.status = Some(429);
        assert!(!rejects_tools(&overloaded));
    }

    #[test]
    fn what_is_learned_stays() {
        let modes = Modes::new(None);
        assert_eq!(modes.mode("m"), Mode::Recover);
        assert!(modes.learn("m", Mode::Natural));
        assert!(!modes.learn("m", Mode::Recover));
        assert_eq!(modes.mode("m"), Mode::Natural);
        assert!(!Modes::new(Some(Mode::Natural)).learn("m", Mode::Recover));
        for model in 0..2 * MAX_MODELS {
            modes.learn(&model.to_string(), Mode::Natural);
        }
        assert_eq!(modes.learned.lock().unwrap().len(), MAX_MODELS);
    }
}
