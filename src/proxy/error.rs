//! Errors of the proxy, before they are written in the form of an API.

use std::time::Duration;

use bytes::Bytes;
use serde_json::Value;

use crate::{
    endpoint::{Failure, FailureKind},
    message::MessageError,
};

/// An error that a client gets instead of a reply, or in the middle of one.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// The kind, as `OpenAI` names it, such as `invalid_request_error`.
    pub kind: &'static str,
    /// The description: what is wrong, and what would be right.
    pub message: String,
    /// The path of the field that is wrong, such as `messages[2].content`.
    pub param: Option<String>,
    /// A code for programs.
    pub code: Option<String>,
    /// The delay before a retry, if one may succeed.
    pub retry_after: Option<Duration>,
    /// The body of the upstream's error, which is passed on unchanged.
    pub body: Option<Box<Bytes>>,
}

impl ApiError {
    /// Create an error with a status.
    pub fn new(status: u16, kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            message: message.into(),
            param: None,
            code: None,
            retry_after: None,
            body: None,
        }
    }

    /// Create the error for an invalid field of a request.
    pub fn field(param: impl Into<String>, message: impl Into<String>) -> Self {
        let param = param.into();
        let message = format!("{param}: {}", message.into());
        Self { param: Some(param), ..Self::new(400, "invalid_request_error", message) }
    }

    /// Create the error for a field with a value of the wrong kind.
    pub fn unexpected(param: impl Into<String>, expected: &str, actual: &Value) -> Self {
        let actual = match actual {
            Value::Null => "null".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => quoted(number.as_str()),
            Value::String(text) => format!("{:?}", quoted(text)),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "an object".to_owned(),
        };
        Self::field(param, format!("must be {expected}, got {actual}"))
    }

    /// Return the error of a request that was converted to one for chat completions, with the
    /// names of fields in an API whose tools have no wrapper.
    #[must_use]
    pub(super) fn without_function(mut self) -> Self {
        if let Some(param) = self.param.take_if(|param| param.contains(".function")) {
            let plain = param.replacen(".function", "", 1);
            self.message = self.message.replacen(&param, &plain, 1);
            self.param = Some(plain);
        }
        self
    }

    /// Set the code.
    #[must_use]
    pub fn with_code(mut self, code: &str) -> Self {
        self.code = Some(code.to_owned());
        self
    }
}

/// Maximum length of a value that an error quotes, in characters.
const MAX_QUOTED: usize = 60;

/// Return the beginning of a text.
fn quoted(text: &str) -> String {
    text.chars().take(MAX_QUOTED).collect()
}

/// Convert the error of a message in the list `messages`.
impl From<MessageError> for ApiError {
    fn from(error: MessageError) -> Self {
        let place = error.place();
        let mut param = match place.index {
            Some(index) => format!("messages[{index}]"),
            None => String::new(),
        };
        for step in place.path.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            if !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit()) {
                param = format!("{param}[{step}]");
            } else {
                let dot = if param.is_empty() { "" } else { "." };
                param = format!("{param}{dot}{step}");
            }
        }
        let error = Self::new(400, "invalid_request_error", error.to_string());
        Self { param: (!param.is_empty()).then_some(param), ..error }
    }
}

/// Convert the failure of a request to the upstream, with its status and body if it has them.
impl From<Failure> for ApiError {
    fn from(failure: Failure) -> Self {
        let (status, code) = match (failure.status, failure.kind) {
            (Some(status @ 400..=599), FailureKind::Status) => (status, failure.code),
            (_, FailureKind::Timeout(_)) => (504, Some("upstream_timeout".to_owned())),
            (_, FailureKind::Dns | FailureKind::Connect | FailureKind::Tls) => {
                (502, Some("upstream_unreachable".to_owned()))
            }
            (_, FailureKind::Cut) => (502, Some("upstream_closed".to_owned())),
            _ => (502, Some("upstream_invalid".to_owned())),
        };
        Self {
            param: failure.param,
            code,
            retry_after: failure.retry_after,
            body: failure.body.filter(|_| failure.kind == FailureKind::Status),
            ..Self::new(status, "upstream_error", failure.message)
        }
    }
}
