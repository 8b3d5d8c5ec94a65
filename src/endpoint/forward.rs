//! Replies that are passed on as they arrive, byte for byte; errors without keys.

use bytes::Bytes;
use reqwest::{Response, StatusCode, header::HeaderMap};

use super::{
    attempt,
    client::Client,
    failure::{self, Failure, FailureKind, TimeoutKind},
    http_errors,
    peer::Peer,
    receive,
    request::Request,
    secrets::Secrets,
    timer::{RequestTimer, from_now},
};

/// A response whose body has not been read yet.
///
/// Dropping it closes the connection, unless the body has been read to its end.
pub struct ForwardedReply<'r> {
    request: &'r Request,
    peer: Peer<'r>,
    response: Response,
    timer: RequestTimer,
}

/// Send a request once and return the response, whatever its status is. Redirects are not followed.
///
/// # Errors
/// Fails if the server did not answer, or not with HTTP.
pub async fn forward<'r>(
    client: &Client,
    request: &'r Request,
) -> Result<ForwardedReply<'r>, Failure> {
    let mut timer = RequestTimer::new(request.timeouts.total);
    let opened = async {
        let client = client
            .in_this_process()
            .map_err(|err| Failure::new(FailureKind::Connect, err.to_string()))?;
        let peer = Peer::new(request, &request.url);
        let deadline = from_now(request.timeouts.first_byte);
        let response =
            attempt::send(client, request, &request.url, &peer, deadline, &mut timer).await?;
        attempt::check_head(client, &peer, response.headers())?;
        Ok((peer, response))
    };
    match opened.await {
        Ok((peer, response)) => Ok(ForwardedReply { request, peer, response, timer }),
        Err(failure) => Err(redacted(failure, request)),
    }
}

fn redacted(failure: Failure, request: &Request) -> Failure {
    failure.redacted(&Secrets::of(request))
}

impl ForwardedReply<'_> {
    /// The status of the response.
    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// The headers of the response.
    pub fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Return the body of an error, with all keys redacted. Of a long body, or one that breaks off,
    /// it is the beginning.
    pub async fn error_body(&mut self) -> Bytes {
        let Self { request, response, timer, .. } = self;
        let deadline = from_now(request.timeouts.idle);
        let body = attempt::error_body(response, deadline, timer).await;
        failure::redacted_body(body, &Secrets::of(request))
    }

    /// Return the next bytes of the body, or `None` at its end.
    ///
    /// # Errors
    /// Fails if the body breaks off, or if a timeout elapses.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        let Self { request, peer, response, timer } = self;
        let idle = from_now(request.timeouts.idle);
        let next = match timer.until(idle, TimeoutKind::Idle, response.chunk()).await {
            Ok(next) => next.map_err(|err| http_errors::reply_failure(peer, err)),
            Err(wait) => Err(receive::timeout_failure(peer, wait, &request.timeouts)),
        };
        next.map_err(|failure| redacted(failure, request))
    }
}

impl std::fmt::Debug for ForwardedReply<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ForwardedReply")
            .field("status", &self.response.status())
            .finish_non_exhaustive()
    }
}
