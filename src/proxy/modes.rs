//! The mode of each model: fixed, or learned from its replies.

use std::{
    collections::HashMap,
    sync::{LazyLock, Mutex, PoisonError},
};

use regex::Regex;

use super::settings::Mode;
use crate::{endpoint::Failure, parser::Dialect};

/// The modes of all models.
///
/// A model whose mode is not fixed begins with [`Mode::Recover`]. A call shows that the upstream
/// presents tools to the model, and a reply without a valid call, where one was written or
/// required, that it does not: the first of the two decides for [`Mode::Recover`] or
/// [`Mode::Natural`]. An upstream that rejects tools decides for [`Mode::Natural`] at any time.
///
/// The dialect of a recovered call is the model's, unless that is known by its name.
#[derive(Debug)]
pub(super) struct Modes {
    fixed: Option<Mode>,
    learned: Mutex<HashMap<String, Learned>>,
}

/// The facts that the replies of a model have shown.
#[derive(Clone, Copy, Debug, Default)]
struct Learned {
    mode: Option<Mode>,
    dialect: Option<Dialect>,
}

/// A fact about the mode that suits a model, from a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lesson {
    /// The upstream rejects tools.
    Rejected,
    /// The reply lacks a required call.
    CallMissing,
    /// The model wrote calls, and none was valid.
    CallsInvalid,
    /// The model makes calls.
    CallMade,
}

impl Lesson {
    /// Return the mode that suits the model.
    pub(super) fn mode(self) -> Mode {
        match self {
            Self::CallMade => Mode::Recover,
            Self::Rejected | Self::CallMissing | Self::CallsInvalid => Mode::Natural,
        }
    }

    /// Return the reason, for the log.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Rejected => "the upstream rejects tools",
            Self::CallMissing => "a required call is missing",
            Self::CallsInvalid => "no call in the text is valid",
            Self::CallMade => "the model makes calls",
        }
    }
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
        let known = learned.get(model).and_then(|learned| learned.mode);
        self.fixed.or(known).unwrap_or(Mode::Recover)
    }

    /// Return the dialect in which a model has written recovered calls, if it has.
    pub(super) fn dialect(&self, model: &str) -> Option<Dialect> {
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        learned.get(model)?.dialect
    }

    /// Record what a reply has shown about the mode of its model. Return true if it decides.
    pub(super) fn learn(&self, model: &str, lesson: Lesson) -> bool {
        if self.fixed.is_some() {
            return false;
        }
        self.update(model, |learned| {
            let decides = match lesson {
                Lesson::Rejected => learned.mode != Some(Mode::Natural),
                _ => learned.mode.is_none(),
            };
            if decides {
                learned.mode = Some(lesson.mode());
            }
            decides
        })
    }

    /// Record the dialect of a recovered call. Return true if this is new.
    pub(super) fn learn_dialect(&self, model: &str, dialect: Dialect) -> bool {
        self.update(model, |learned| {
            let is_new = learned.dialect.is_none();
            learned.dialect.get_or_insert(dialect);
            is_new
        })
    }

    /// Change what is known of a model. Return false if there is no room for another model.
    fn update(&self, model: &str, change: impl FnOnce(&mut Learned) -> bool) -> bool {
        let mut learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(learned) = learned.get_mut(model) {
            return change(learned);
        }
        let has_room = learned.len() < MAX_MODELS;
        has_room && change(learned.entry(model.to_owned()).or_default())
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
    fn the_first_lesson_decides_except_for_a_rejection() {
        let modes = Modes::new(None);
        assert_eq!(modes.mode("m"), Mode::Recover);
        assert!(modes.learn("m", Lesson::CallMade));
        assert!(!modes.learn("m", Lesson::CallMissing));
        assert_eq!(modes.mode("m"), Mode::Recover);
        assert!(modes.learn("m", Lesson::Rejected));
        assert!(!modes.learn("m", Lesson::Rejected) && !modes.learn("m", Lesson::CallMade));
        assert_eq!(modes.mode("m"), Mode::Natural);
        assert!(modes.learn("n", Lesson::CallsInvalid));
        assert_eq!(modes.mode("n"), Mode::Natural);
        assert!(!Modes::new(Some(Mode::Recover)).learn("m", Lesson::Rejected));
    }

    #[test]
    fn the_first_dialect_stays_and_models_have_a_limit() {
        let modes = Modes::new(None);
        let hermes = Dialect::named("hermes").unwrap();
        assert!(modes.dialect("m").is_none() && modes.learn_dialect("m", hermes));
        assert!(!modes.learn_dialect("m", Dialect::NATURAL));
        assert_eq!(modes.dialect("m"), Some(hermes));
        assert!(modes.learn("m", Lesson::CallMade), "the mode is learned apart");
        for model in 0..2 * MAX_MODELS {
            modes.learn(&model.to_string(), Lesson::CallMade);
        }
        assert_eq!(modes.learned.lock().unwrap().len(), MAX_MODELS);
    }
}
