//! One attempt: sending a request and waiting for the first byte of its reply.

use bytes::{Bytes, BytesMut};
use reqwest::{
    Response, StatusCode, Url,
    header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION},
};
use tokio::time::Instant;

use super::{
    client::Client,
    decoder::BodyFormat,
    error_response,
    failure::{self, Failure, FailureKind, Seconds, TimeoutKind},
    http_errors,
    peer::{Peer, place},
    request::Request,
    timer::{RequestTimer, from_now},
};

/// Maximum size of an error body that is read, in bytes.
const MAX_ERROR_BODY: usize = 64 << 10;

const MAX_REDIRECTS: u32 = 5;

/// Maximum length of a path that a failure names, in characters.
const MAX_PATH: usize = 200;

/// A reply that has begun.
#[derive(Debug)]
pub(super) struct OpenReply<'r> {
    /// The server that replies.
    pub(super) peer: Peer<'r>,
    pub(super) response: Response,
    /// The first bytes of the body; `None` if it is empty.
    pub(super) first: Option<Bytes>,
    pub(super) form: BodyFormat,
}

/// Send a request and wait for the first byte of its reply.
pub(super) async fn open<'r>(
    client: &Client,
    request: &'r Request,
    timer: &mut RequestTimer,
) -> Result<OpenReply<'r>, Failure> {
    let deadline = from_now(request.timeouts.first_byte);
    let mut url = request.url.clone();
    let mut status = None;
    for _ in 0..=MAX_REDIRECTS {
        let peer = Peer::new(request, &url);
        let mut response = send(client, request, &url, &peer, deadline, timer).await?;
        status = Some(response.status().as_u16());
        if response.status().is_redirection() {
            url = redirected(client, &url, &peer, &response)?;
            continue;
        }
        check_head(client, &peer, response.headers())?;
        if !response.status().is_success() {
            return Err(status_failure(&peer, response, deadline, timer).await);
        }
        let first = timer.until(deadline, TimeoutKind::FirstByte, response.chunk()).await;
        let first = first
            .map_err(|wait| timeout_failure(&peer, request, wait))?
            .map_err(|err| http_errors::reply_failure(&peer, err))?;
        let form = form(&peer, response.headers(), first.as_deref().unwrap_or_default())?;
        return Ok(OpenReply { peer, response, first, form });
    }
    let peer = Peer::new(request, &request.url);
    let message = format!("{peer} redirects more than {MAX_REDIRECTS} times");
    Err(Failure { status, ..Failure::new(FailureKind::Redirect, message) })
}

pub(super) async fn send(
    client: &Client,
    request: &Request,
    url: &Url,
    peer: &Peer<'_>,
    deadline: Option<Instant>,
    timer: &mut RequestTimer,
) -> Result<Response, Failure> {
    let http = client.http().ok_or_else(|| {
        Failure::new(FailureKind::Connect, format!("the client of {peer} is closed"))
    })?;
    let outgoing = http.request(request.method.clone(), url.clone());
    let sent = outgoing.headers(request.headers.clone()).body(request.body.clone()).send();
    timer
        .until(deadline, TimeoutKind::FirstByte, sent)
        .await
        .map_err(|wait| timeout_failure(peer, request, wait))?
        .map_err(|err| http_errors::request_failure(peer, err, client.settings().connect_timeout))
}

/// Return the failure for a server that does not answer in time.
pub(super) fn timeout_failure(peer: &Peer<'_>, request: &Request, wait: TimeoutKind) -> Failure {
    let time = match wait {
        TimeoutKind::Total => request.timeouts.total.unwrap_or_default(),
        _ => request.timeouts.first_byte,
    };
    let message = format!("{peer} sent no reply within {}", Seconds(time));
    Failure::transient(FailureKind::Timeout(wait), message)
}

pub(super) fn check_head(
    client: &Client,
    peer: &Peer<'_>,
    headers: &HeaderMap,
) -> Result<(), Failure> {
    let bytes: usize = headers
        .iter()
        .map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len())
        .sum();
    let limit = client.settings().max_header_bytes;
    if u32::try_from(bytes).is_ok_and(|bytes| bytes <= limit) {
        return Ok(());
    }
    let limit = failure::Bytes(limit.into());
    let message = format!("the response headers of {peer} are larger than {limit}");
    Err(Failure::new(FailureKind::TooLarge, message))
}

/// Return the target of a redirect if it may be followed: same origin, and a status that preserves
/// the method and body.
fn redirected(
    client: &Client,
    url: &Url,
    peer: &Peer<'_>,
    response: &Response,
) -> Result<Url, Failure> {
    let status = response.status();
    let location = response
        .headers()
        .get(LOCATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| url.join(value).ok());
    let fail = |message: String| {
        let status = Some(status.as_u16());
        Err(Failure { status, ..Failure::new(FailureKind::Redirect, message) })
    };
    let Some(location) = location else {
        return fail(format!("{peer} redirects without a valid location"));
    };
    // Other statuses would turn the request into a GET.
    let preserves_method = matches!(status.as_u16(), 307 | 308);
    if !client.settings().follow_redirects || !preserves_method || location.origin() != url.origin()
    {
        let path: String = location.path().chars().take(MAX_PATH).collect();
        let to = format!("{}{path}", place(&location));
        return fail(format!(
            "{peer} redirects to {to} (status {}), which is not followed; is the base URL the \
             right one?",
            status.as_u16()
        ));
    }
    Ok(location)
}

/// Return the failure for an error response.
async fn status_failure(
    peer: &Peer<'_>,
    mut response: Response,
    deadline: Option<Instant>,
    timer: &mut RequestTimer,
) -> Failure {
    let body = error_body(&mut response, deadline, timer).await;
    let status = response.status();
    let mut response_error = error_response::from_body(&String::from_utf8_lossy(&body));
    if body.is_empty() {
        response_error = error_response::from_reason(StatusCode::canonical_reason(&status));
    }
    Failure {
        retry_after: error_response::retry_after(response.headers()),
        body: (!body.is_empty()).then(|| Box::new(body)),
        ..response_error.failure(peer, Some(status.as_u16()))
    }
}

/// Read the body of an error, or as much of it as arrives and is of use.
pub(super) async fn error_body(
    response: &mut Response,
    deadline: Option<Instant>,
    timer: &mut RequestTimer,
) -> Bytes {
    let mut body = BytesMut::new();
    while body.len() < MAX_ERROR_BODY {
        match timer.until(deadline, TimeoutKind::FirstByte, response.chunk()).await {
            Ok(Ok(Some(bytes))) => {
                let room = MAX_ERROR_BODY - body.len();
                body.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            _ => break,
        }
    }
    body.freeze()
}

/// Determine the format of a reply by its content type or, if that is inconclusive, by its first
/// bytes.
fn form(peer: &Peer<'_>, headers: &HeaderMap, first: &[u8]) -> Result<BodyFormat, Failure> {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let encoding = headers.get(CONTENT_ENCODING).filter(|encoding| *encoding != "identity");
    if let Some(encoding) = encoding.and_then(|encoding| encoding.to_str().ok()) {
        let message = format!(
            "{peer} sent nothing that can be read as a reply: its content-encoding is {encoding}, \
             which it was not asked for"
        );
        return Err(Failure::new(FailureKind::Protocol, message));
    }
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let start = first.trim_ascii_start();
    let is_event = ["data:", "event:", "id:", "retry:", ":"]
        .iter()
        .any(|field| start.starts_with(field.as_bytes()));
    let empty = first.is_empty();
    let is_json = essence == "application/json" || essence.ends_with("+json");
    if essence == "text/event-stream" || is_event {
        Ok(BodyFormat::Events)
    } else if !empty && (is_json || essence != "text/html" && start.starts_with(b"{")) {
        Ok(BodyFormat::Document)
    } else {
        let kind = match (empty, essence.as_str()) {
            (true, _) => "nothing",
            (false, "") => "something",
            (false, kind) => kind,
        };
        let message = format!(
            "{peer} answered with {kind}, which is not a model's reply; is the base URL the right \
             one?"
        );
        Err(Failure::new(FailureKind::Protocol, message))
    }
}
