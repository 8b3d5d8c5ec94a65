//! The APIs: how a request is read, and how a reply and an error are written.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde_json::Value;

use crate::proxy::{
    chat::{self, ChatBody, ReplyHead},
    error::ApiError,
    messages,
    part::ReplyWriter,
    request::ChatRequest,
    responses,
};

/// An API of the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    /// Chat completions of `OpenAI`.
    Chat,
    /// Messages of Anthropic.
    Messages,
    /// Responses of `OpenAI`.
    Responses,
}

/// The number of random characters in the id of a reply.
const ID_LENGTH: usize = 24;

impl Api {
    /// Return the API of a path; errors of paths of no API are those of chat completions.
    pub(super) fn of(path: &str) -> Self {
        match path.strip_prefix("/v1/").unwrap_or_default().split('/').next() {
            Some("messages") => Self::Messages,
            Some("responses") => Self::Responses,
            _ => Self::Chat,
        }
    }

    /// Read a request.
    pub(super) fn read(self, body: Bytes) -> Result<ChatBody, ApiError> {
        match self {
            Self::Chat => chat::read(body),
            Self::Messages => messages::read(&body).map(Box::new).map(ChatBody::Tools),
            Self::Responses => responses::read(&body).map(Box::new).map(ChatBody::Tools),
        }
    }

    /// Create a writer of the reply to a request.
    pub(super) fn writer(self, request: &ChatRequest) -> Box<dyn ReplyWriter> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let prefix = match self {
            Self::Chat => "chatcmpl-",
            Self::Messages => "msg_",
            Self::Responses => "resp_",
        };
        let random = std::iter::repeat_with(fastrand::alphanumeric).take(ID_LENGTH);
        let head = ReplyHead {
            id: prefix.chars().chain(random).collect(),
            created: now.as_secs(),
            model: request.model.clone(),
        };
        match (self, request.stream) {
            (Self::Chat, true) => Box::new(chat::StreamWriter::new(&head, request.include_usage)),
            (Self::Chat, false) => Box::new(chat::DocumentWriter::new(head)),
            (Self::Messages, true) => Box::new(messages::StreamWriter::new(head.id, head.model)),
            (Self::Messages, false) => Box::new(messages::DocumentWriter::new(head.id, head.model)),
            (Self::Responses, true) => Box::new(responses::StreamWriter::new(head)),
            (Self::Responses, false) => Box::new(responses::DocumentWriter::new(head)),
        }
    }

    /// Return the body of an error response.
    pub(super) fn error_body(self, error: &ApiError) -> Bytes {
        let body: Value = match self {
            Self::Messages => messages::error_body(error),
            // The upstream's own, which has this form.
            Self::Chat | Self::Responses => match &error.body {
                Some(body) => return body.as_ref().clone(),
                None => chat::error_body(error),
            },
        };
        body.to_string().into()
    }
}
