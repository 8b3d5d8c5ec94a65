//! One request and its reply.

use super::{
    attempt::{self, OpenReply},
    client::Client,
    event::{CallParsing, EventSink},
    failure::{Failure, FailureKind, TimeoutKind},
    receive,
    request::Request,
    retry,
    secrets::Secrets,
    timer::RequestTimer,
};

/// Send a request and push its reply to a sink.
///
/// The part of the reply that arrived before a failure has been pushed when this returns. If
/// nothing has arrived and the failure is transient, the request is sent again. Dropping the future
/// closes the connection.
///
/// After [`Event::Finish`](super::Event::Finish) the body is read to its end for a short time, so
/// that the connection can be reused.
///
/// # Errors
/// Fails if the request was not answered or the reply broke off. Errors after the finish reason are
/// ignored, since the reply is complete.
pub async fn stream_reply(
    client: &Client,
    request: &Request,
    parsing: Option<CallParsing>,
    sink: &mut impl EventSink,
) -> Result<(), Failure> {
    let mut timer = RequestTimer::new(request.timeouts.total);
    let reply = async {
        let opened = open(client, request, &mut timer).await?;
        receive::receive(opened, request, &mut timer, parsing, sink).await
    };
    // Every message may contain text of others: an error, a redirect, a certificate, a content
    // type.
    reply.await.map_err(|failure| failure.redacted(&Secrets::of(request)))
}

/// Send a request, with retries, until the first byte of a reply has arrived.
async fn open<'r>(
    client: &Client,
    request: &'r Request,
    timer: &mut RequestTimer,
) -> Result<OpenReply<'r>, Failure> {
    let client = client
        .in_this_process()
        .map_err(|err| Failure::new(FailureKind::Connect, err.to_string()))?;
    let mut attempts = 0;
    loop {
        attempts += 1;
        let mut failure = match attempt::open(client, request, timer).await {
            Ok(opened) => return Ok(opened),
            Err(failure) => failure,
        };
        let delay = retry::delay(&request.retries, attempts, &failure);
        if let Some(delay) = delay.filter(|delay| timer.has(*delay)) {
            let slept = timer.until(None, TimeoutKind::Total, tokio::time::sleep(delay)).await;
            if slept.is_ok() {
                continue;
            }
        }
        if attempts > 1 {
            failure.message = format!("{} (after {attempts} attempts)", failure.message);
        }
        return Err(failure);
    }
}
