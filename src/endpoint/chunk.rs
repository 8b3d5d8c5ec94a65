//! Types of a chunk of a reply, and of a reply that arrives as one document.

use std::borrow::Cow;

use serde::de::{IgnoredAny, MapAccess, SeqAccess};

use super::lenient::{self, Flag, Integer, JsonText, Lenient, List, Text, TextOrNumber, members};
use crate::{message::UsageUpdate, repair::replace_lone_surrogates};

/// A chunk, or a complete reply.
#[derive(Debug, Default)]
pub(super) struct Chunk<'de> {
    pub(super) choices: List<Choice<'de>>,
    pub(super) usage: Usage,
    pub(super) error: ServerError<'de>,
}

members! {
    Chunk<'de> { "choices" => choices, "usage" => usage, "error" => error }
}

/// One of the alternative replies.
#[derive(Debug, Default)]
pub(super) struct Choice<'de> {
    /// True if this is not the first choice; some servers omit the index of an only choice.
    pub(super) is_other: Flag,
    pub(super) delta: Delta<'de>,
    /// The complete message, in a reply that arrives as one document.
    pub(super) message: Delta<'de>,
    pub(super) finish_reason: Text<'de>,
}

members! {
    Choice<'de> {
        "index" => is_other,
        "delta" => delta,
        "message" => message,
        "finish_reason" => finish_reason,
    }

    fn is_empty(&self) -> bool {
        self.is_other.0
            || self.delta.is_empty() && self.message.is_empty() && self.finish_reason.is_empty()
    }
}

/// The content that a choice adds.
#[derive(Debug, Default)]
pub(super) struct Delta<'de> {
    pub(super) content: Content<'de>,
    pub(super) refusal: Content<'de>,
    pub(super) reasoning: Text<'de>,
    pub(super) reasoning_content: Text<'de>,
    pub(super) tool_calls: List<Fragment<'de>>,
}

members! {
    Delta<'de> {
        "content" => content,
        "refusal" => refusal,
        "reasoning" => reasoning,
        "reasoning_content" => reasoning_content,
        "tool_calls" => tool_calls,
    }

    fn is_empty(&self) -> bool {
        matches!(self.content, Content::None)
            && matches!(self.refusal, Content::None)
            && self.reasoning.is_empty()
            && self.reasoning_content.is_empty()
            && self.tool_calls.is_empty()
    }
}

/// Text, or the list of parts that some servers send instead.
#[derive(Debug, Default)]
pub(super) enum Content<'de> {
    #[default]
    None,
    Text(Cow<'de, str>),
    Parts(Vec<Part<'de>>),
}

impl<'de> Lenient<'de> for Content<'de> {
    fn text(text: Cow<'de, str>) -> Self {
        if text.is_empty() { Self::None } else { Self::Text(text) }
    }

    fn array<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        let List(parts) = List::array(items)?;
        Ok(if parts.is_empty() { Self::None } else { Self::Parts(parts) })
    }
}

/// One part of the content.
#[derive(Debug, Default)]
pub(super) struct Part<'de> {
    pub(super) text: Text<'de>,
    pub(super) thinking: List<Thought<'de>>,
}

members! {
    Part<'de> { "text" => text, "thinking" => thinking }

    fn is_empty(&self) -> bool {
        self.text.is_empty() && self.thinking.is_empty()
    }
}

/// One reasoning text among the parts.
#[derive(Debug, Default)]
pub(super) struct Thought<'de> {
    pub(super) text: Text<'de>,
}

members! {
    Thought<'de> { "text" => text }

    fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// A fragment of a call, or the complete call.
#[derive(Debug, Default)]
pub(super) struct Fragment<'de> {
    pub(super) id: Text<'de>,
    pub(super) index: Integer,
    pub(super) function: Function<'de>,
}

members! {
    Fragment<'de> { "id" => id, "index" => index, "function" => function }

    fn is_empty(&self) -> bool {
        let Function { name, arguments } = &self.function;
        self.id.is_empty() && self.index.0.is_none() && name.is_empty() && arguments.0.is_empty()
    }
}

/// The function name and arguments in a fragment.
#[derive(Debug, Default)]
pub(super) struct Function<'de> {
    pub(super) name: Text<'de>,
    pub(super) arguments: JsonText<'de>,
}

members! {
    Function<'de> { "name" => name, "arguments" => arguments }
}

/// Tokens that the request has used so far.
#[derive(Debug, Default)]
pub(super) struct Usage {
    prompt_tokens: Integer,
    completion_tokens: Integer,
    details: PromptDetails,
    prompt_cache_hit_tokens: Integer,
    completion_details: CompletionDetails,
}

members! {
    Usage {
        "prompt_tokens" => prompt_tokens,
        "completion_tokens" => completion_tokens,
        "prompt_tokens_details" => details,
        "prompt_cache_hit_tokens" => prompt_cache_hit_tokens,
        "completion_tokens_details" => completion_details,
    }
}

impl Usage {
    /// Return the counts, or `None` if all are zero.
    pub(super) fn counts(&self) -> Option<UsageUpdate> {
        let cached = match self.details.cached_tokens.count() {
            0 => self.prompt_cache_hit_tokens.count(),
            cached => cached,
        };
        let counts = UsageUpdate {
            input_tokens: self.prompt_tokens.count(),
            output_tokens: self.completion_tokens.count(),
            cached_input_tokens: cached,
            reasoning_tokens: self.completion_details.reasoning_tokens.count(),
        };
        (counts != UsageUpdate::default()).then_some(counts)
    }
}

#[derive(Debug, Default)]
struct PromptDetails {
    cached_tokens: Integer,
}

members! {
    PromptDetails { "cached_tokens" => cached_tokens }
}

#[derive(Debug, Default)]
struct CompletionDetails {
    reasoning_tokens: Integer,
}

members! {
    CompletionDetails { "reasoning_tokens" => reasoning_tokens }
}

/// The description of an error, in a body or instead of a chunk.
#[derive(Debug, Default)]
pub(super) struct ServerError<'de> {
    pub(super) message: Text<'de>,
    pub(super) kind: Text<'de>,
    pub(super) code: TextOrNumber<'de>,
    pub(super) param: Text<'de>,
    /// True if there is an error at all.
    pub(super) is_present: bool,
}

impl<'de> Lenient<'de> for ServerError<'de> {
    fn text(text: Cow<'de, str>) -> Self {
        let is_present = !text.is_empty();
        Self { message: Text::text(text), is_present, ..Self::default() }
    }

    fn integer(number: i128) -> Self {
        Self { is_present: number != 0, ..Self::default() }
    }

    fn object<A: MapAccess<'de>>(mut members: A) -> Result<Self, A::Error> {
        let mut read = Self::default();
        while let Some(key) = lenient::key(&mut members)? {
            read.is_present = true;
            match key.as_deref().unwrap_or_default() {
                "message" => read.message = lenient::value(&mut members)?,
                "type" => read.kind = lenient::value(&mut members)?,
                "code" => read.code = lenient::value(&mut members)?,
                "param" => read.param = lenient::value(&mut members)?,
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(read)
    }
}

/// Parse the JSON of a chunk or of a complete reply, and pass it to a function.
///
/// Lone surrogates, which some servers send, become `U+FFFD`.
pub(super) fn read<R>(
    json: &str,
    then: impl FnOnce(Chunk<'_>) -> R,
) -> Result<R, serde_json::Error> {
    let error = match lenient::from_str(json) {
        Ok(chunk) => return Ok(then(chunk)),
        Err(error) => error,
    };
    let escaped = json.contains("\\u").then(|| replace_lone_surrogates(json)).flatten();
    match escaped {
        Some(repaired) => lenient::from_str(&repaired.text).map(then),
        None => Err(error),
    }
}
