//! Errors that servers send, in the body of a response or within a stream.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use serde::de::{IgnoredAny, MapAccess};

use super::{
    chunk::ServerError,
    failure::{Failure, FailureKind, one_line, truncated},
    lenient::{self, Lenient, Text, TextOrNumber},
    peer::Peer,
};

/// Maximum length of an error message, in characters.
const MAX_DETAIL: usize = 500;

/// Maximum length of an error code, in characters.
const MAX_CODE: usize = 100;

/// Error codes of a status 429 that retries cannot resolve.
const QUOTA_CODES: [&str; 3] =
    ["insufficient_quota", "billing_hard_limit_reached", "credit_balance"];

/// An error as sent by a server.
#[derive(Debug, Default)]
pub(super) struct ErrorResponse {
    detail: String,
    status: Option<u16>,
    code: Option<String>,
    param: Option<String>,
    quota_exhausted: bool,
}

/// Convert an error that was sent in place of a chunk.
pub(super) fn from_chunk(error: &ServerError<'_>) -> ErrorResponse {
    let status = match error.code {
        TextOrNumber::Number(code) => {
            u16::try_from(code).ok().filter(|code| (400..600).contains(code))
        }
        _ => None,
    };
    ErrorResponse { status, ..parse(error) }
}

/// Parse the error in the body of a response.
pub(super) fn from_body(body: &str) -> ErrorResponse {
    let Ok(read) = lenient::from_str::<Body<'_>>(body) else {
        return ErrorResponse { detail: one_line(body), ..ErrorResponse::default() };
    };
    let error = if read.error.is_present { read.error } else { read.top_level };
    let mut response = parse(&error);
    if response.detail.is_empty() {
        response.detail = one_line(read.detail.as_deref().unwrap_or(body));
    }
    response
}

/// Create an error for a response without a body, from the reason phrase of its status.
pub(super) fn from_reason(reason: Option<&str>) -> ErrorResponse {
    ErrorResponse { detail: reason.unwrap_or_default().to_owned(), ..ErrorResponse::default() }
}

fn parse(error: &ServerError<'_>) -> ErrorResponse {
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
    /// Convert the error to a failure.
    ///
    /// `status` is that of the response, unless the error was sent within a stream.
    pub(super) fn failure(self, peer: &Peer<'_>, status: Option<u16>) -> Failure {
        let status = status.or(self.status);
        let summary = match status {
            Some(status) => format!("{peer} answered with status {status}"),
            None => format!("{peer} sent an error"),
        };
        let code = |code: Option<String>| code.map(|code| truncated(code, MAX_CODE));
        let (code, param) = (code(self.code), code(self.param));
        let mut detail = truncated(self.detail, MAX_DETAIL);
        if detail.is_empty() {
            detail = code.clone().unwrap_or_else(|| "no details given".to_owned());
        }
        Failure {
            status,
            transient: !self.quota_exhausted && status.is_some_and(is_transient),
            code,
            param,
            ..Failure::new(FailureKind::Status, format!("{summary}: {detail}"))
        }
    }
}

/// Return true if an error with this status may be transient.
pub(super) fn is_transient(status: u16) -> bool {
    matches!(status, 408 | 409 | 425 | 429 | 500..=599) && !matches!(status, 501 | 505)
}

/// Return the delay that the server asks for, if any.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let header = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let seconds = |name: &str, unit: f64| {
        header(name)?
            .parse::<f64>()
            .ok()
            .and_then(|number| Duration::try_from_secs_f64(number * unit).ok())
    };
    let date = || {
        let until = httpdate::parse_http_date(header("retry-after")?).ok()?;
        Some(until.duration_since(SystemTime::now()).unwrap_or_default())
    };
    seconds("retry-after-ms", 0.001).or_else(|| seconds("retry-after", 1.0)).or_else(date)
}

/// The body of an error response.
#[derive(Debug, Default)]
struct Body<'de> {
    error: ServerError<'de>,
    detail: Text<'de>,
    /// The error at the top level, where some servers send it.
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

    fn retry_delay(headers: &[(&'static str, &str)]) -> Option<Duration> {
        let headers = headers.iter().map(|(name, value)| {
            ((*name).parse().expect("a name"), (*value).parse().expect("a value"))
        });
        retry_after(&headers.collect())
    }

    #[test]
    fn all_forms_of_retry_after_are_parsed() {
        let seconds = |seconds| Some(Duration::from_secs_f64(seconds));
        assert_eq!(retry_delay(&[("retry-after", "2")]), seconds(2.0));
        assert_eq!(retry_delay(&[("retry-after", " 0.5 ")]), seconds(0.5));
        assert_eq!(retry_delay(&[("retry-after-ms", "20"), ("retry-after", "2")]), seconds(0.02));
        assert_eq!(retry_delay(&[("retry-after-ms", "x"), ("retry-after", "2")]), seconds(2.0));
        assert_eq!(retry_delay(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), seconds(0.0));
        let then = SystemTime::now() + Duration::from_secs(100);
        let wait = retry_delay(&[("retry-after", &httpdate::fmt_http_date(then))]).unwrap();
        assert!(wait > Duration::from_secs(50) && wait <= Duration::from_secs(100), "{wait:?}");
        for nonsense in ["", "-1", "nan", "inf", "1e99", "soon", "Wed, 99 Oct 2015"] {
            assert_eq!(retry_delay(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
    }

    #[test]
    fn all_forms_of_errors_are_parsed() {
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
