//! Requests that the upstream answers, byte for byte.

use std::sync::Arc;

use bytes::Bytes;
use reqwest::{Method, Url, header::HeaderMap};

use super::{context::Context, entry::Entry, error::ApiError, output::Output};
use crate::endpoint::forward;

/// Headers of the upstream's response that clients get.
const HEADERS: [&str; 6] = [
    "content-type",
    "content-encoding",
    "cache-control",
    "retry-after",
    "retry-after-ms",
    "x-request-id",
];

/// The beginning of the names of headers about rate limits.
const RATE_LIMITS: &str = "x-ratelimit-";

/// Send a request to the upstream, and write its response as it arrives.
///
/// # Errors
/// Fails if the upstream does not answer, or if its response breaks off.
pub(super) async fn run(
    context: Arc<Context>,
    method: Method,
    url: Url,
    body: Bytes,
    output: Arc<Output>,
    mut entry: Entry,
) -> Result<(), ApiError> {
    let request = context.upstream(method, url, body);
    let fail = |entry: &mut Entry, error: ApiError| {
        if !output.has_begun() {
            entry.status = error.status;
        }
        entry.failure = Some(error.message.clone());
        entry.is_complete = true;
        Err(error)
    };
    let mut reply = match forward(&context.client, &request).await {
        Ok(reply) => reply,
        Err(failure) => return fail(&mut entry, failure.into()),
    };
    entry.status = reply.status().as_u16();
    output.set_head(|head| {
        head.status = Some(entry.status);
        head.headers = Some(passed_on(reply.headers()));
    });
    if entry.status >= 400 {
        let body = reply.error_body().await;
        output.write(|out| out.extend_from_slice(&body));
        entry.is_complete = true;
        return Ok(());
    }
    loop {
        match reply.chunk().await {
            Ok(Some(bytes)) => {
                output.write(|out| out.extend_from_slice(&bytes));
                output.room().await;
            }
            Ok(None) => break,
            Err(failure) => return fail(&mut entry, failure.into()),
        }
    }
    entry.is_complete = true;
    Ok(())
}

fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let is_passed_on = |name: &str| HEADERS.contains(&name) || name.starts_with(RATE_LIMITS);
    let headers = headers.iter().filter(|(name, _)| is_passed_on(name.as_str()));
    headers.map(|(name, value)| (name.clone(), value.clone())).collect()
}
