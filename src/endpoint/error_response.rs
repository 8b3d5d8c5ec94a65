//! What servers say about errors, in the body of an answer or within a stream.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde::de::{IgnoredAny, MapAccess};

use super::{
    chunk::ServerError,
    failure::{Failure, FailureKind, one_line, truncated},
    lenient::{self, Lenient, Text, TextOrNumber},
    peer::Peer,
};

/// Characters of what a server says about an error.
const MAX_DETAIL: usize = 500;

/// Characters of a word for an error.
const MAX_WORD: usize = 100;

/// Words for a 429 that is no matter of waiting.
const QUOTA_CODES: [&str; 3] = ["insufficient_quota", "billing_hard_limit_reached", "credit_balance"];

/// An error as a server tells it.
#[derive(Debug, Default)]
pub(super) struct ErrorResponse {
    detail: String,
    status: Option<u16>,
    code: Option<String>,
    param: Option<String>,
    quota_exhausted: bool,
}

/// The error that came in place of a chunk.
pub(super) fn within(error: &ServerError<'_>) -> ErrorResponse {
    let status = match error.code {
        TextOrNumber::Number(code) => u16::try_from(code).ok().filter(|code| (400..600).contains(code)),
        _ => None,
    };
    ErrorResponse { status, ..told(error) }
}

/// The error that is the body of an answer.
pub(super) fn from_body(body: &str) -> ErrorResponse {
    let Ok(read) = lenient::from_str::<Body<'_>>(body) else {
        return ErrorResponse { detail: one_line(body), ..ErrorResponse::default() };
    };
    let error = if read.error.is_present { read.error } else { read.top_level };
    let mut refusal = told(&error);
    if refusal.detail.is_empty() {
        refusal.detail = one_line(read.detail.as_deref().unwrap_or(body));
    }
    refusal
}

/// An error without a body, by the usual words for its status.
pub(super) fn from_reason(reason: Option<&str>) -> ErrorResponse {
    ErrorResponse { detail: reason.unwrap_or_default().to_owned(), ..ErrorResponse::default() }
}

fn told(error: &ServerError<'_>) -> ErrorResponse {
    let code = match &error.code {
        TextOrNumber::Text(code) => Some(code.as_ref()),
        _ => None,
    };
    let kind = error.kind.as_deref();
    ErrorResponse {
        detail: one_line(error.message.as_deref().unwrap_or_default()),
        status: None,
        code: code.or(kind).map(one_line),
        param: error.param.as_deref().map(one_line),
        quota_exhausted: [code, kind].into_iter().flatten().any(|word| QUOTA_CODES.contains(&word)),
    }
}

impl ErrorResponse {
    /// The failure that this is.
    ///
    /// `status` is that of the answer, where the error is not within a stream.
    pub(super) fn failure(self, peer: &Peer<'_>, status: Option<u16>) -> Failure {
        let status = status.or(self.status);
        let said = match status {
            Some(status) => format!("{peer} answered with status {status}"),
            None => format!("{peer} sent an error"),
        };
        let word = |word: Option<String>| word.map(|word| truncated(word, MAX_WORD));
        let (code, param) = (word(self.code), word(self.param));
        let mut detail = truncated(self.detail, MAX_DETAIL);
        if detail.is_empty() {
            detail = code.clone().unwrap_or_else(|| "it says no more than that".to_owned());
        }
        Failure {
            status,
            transient: !self.quota_exhausted && status.is_some_and(is_transient),
            code,
            param,
            ..Failure::new(FailureKind::Status, format!("{said}: {detail}"))
        }
    }
}

/// Whether what stands behind a status may pass by itself.
pub(super) fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500..=599) && !matches!(status, 501 | 505)
}

/// How long the server asks to wait, if it does.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let said = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |name: &str, unit: f64| {
        said(name)?
            .parse::<f64>()
            .ok()
            .and_then(|number| Duration::try_from_secs_f64(number * unit).ok())
    };
    let date = || {
        let until = httpdate::parse_http_date(said("retry-after")?).ok()?;
        Some(until.duration_since(SystemTime::now()).unwrap_or_default())
    };
    seconds("retry-after-ms", 0.001).or_else(|| seconds("retry-after", 1.0)).or_else(date)
}

/// The body of an answer that is an error.
#[derive(Debug, Default)]
struct Body<'de> {
    error: ServerError<'de>,
    detail: Text<'de>,
    /// The error without wrapping, as some send it.
    top_level: ServerError<'de>,
}

impl<'de> Lenient<'de> for Body<'de> {
    fn object<A: MapAccess<'de>>(mut members: A) -> Result<Self, A::Error> {
        let mut read = Self::default();
        while let Some(key) = lenient::key(&mut members)? {
            match key.as_deref().unwrap_or_default() {
                "error" => read.error = lenient::value(&mut members)?,
                "detail" => read.detail = lenient::value(&mut members)?,
                "message" => read.top_level.message = lenient::value(&mut members)?,
                "type" => read.top_level.kind = lenient::value(&mut members)?,
                "code" => read.top_level.code = lenient::value(&mut members)?,
                "param" => read.top_level.param = lenient::value(&mut members)?,
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waits(headers: &[(&'static str, &str)]) -> Option<Duration> {
        let headers = headers.iter().map(|(name, value)| {
            ((*name).parse().expect("a name"), (*value).parse().expect("a value"))
        });
        retry_after(&headers.collect())
    }

    #[test]
    fn how_long_to_wait_is_read_in_every_form() {
        let seconds = |seconds| Some(Duration::from_secs_f64(seconds));
        assert_eq!(waits(&[("retry-after", "2")]), seconds(2.0));
        assert_eq!(waits(&[("retry-after", " 0.5 ")]), seconds(0.5));
        assert_eq!(waits(&[("retry-after-ms", "20"), ("retry-after", "2")]), seconds(0.02));
        assert_eq!(waits(&[("retry-after-ms", "x"), ("retry-after", "2")]), seconds(2.0));
        assert_eq!(waits(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), seconds(0.0));
        let then = SystemTime::now() + Duration::from_secs(100);
        let wait = waits(&[("retry-after", &httpdate::fmt_http_date(then))]).unwrap();
        assert!(wait > Duration::from_secs(50) && wait <= Duration::from_secs(100), "{wait:?}");
        for nonsense in ["", "-1", "nan", "inf", "1e99", "soon", "Wed, 99 Oct 2015"] {
            assert_eq!(waits(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
    }

    #[test]
    fn errors_are_told_in_every_form() {
        for (body, detail) in [
            ("{\"error\": {\"message\": \"a\\n b\"}}", "a b"),
            ("{\"error\": \"a\"}", "a"),
            ("{\"message\": \"a\", \"code\": 400}", "a"),
            ("{\"detail\": \"a\"}", "a"),
            ("{\"error\": {\"code\": \"x\"}}", "{\"error\": {\"code\": \"x\"}}"),
            ("[1]", "[1]"),
            ("<html>\n no", "<html> no"),
            ("\u{202e}a\u{7}b", "a b"),
        ] {
            assert_eq!(from_body(body).detail, detail, "{body}");
        }
    }
}
