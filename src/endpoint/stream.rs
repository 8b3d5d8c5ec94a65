//! One request, and its reply.

use super::{
    client::Client,
    timer::RequestTimer,
    event::{EventSink, CallParsing},
    attempt::{self, OpenReply},
    failure::{Failure, FailureKind, TimeoutKind},
    receive,
    request::Request,
    retry,
    secrets::Secrets,
};

/// Sends a request and reads its reply into an outlet.
///
/// Whatever came of the reply before a failure is in the outlet when this returns. Where nothing
/// has come yet, and what failed may pass, the request is sent again. Dropping the future closes
/// the connection.
///
/// After [`Event::Finish`](super::Event::Finish) this takes a moment more, for the end of the
/// body: only then can the connection be used again.
///
/// # Errors
/// The request was not answered, or the reply broke off. A reply whose end had been said is whole,
/// whatever happens then.
pub async fn stream_reply(
    client: &Client,
    request: &Request,
    parsing: Option<CallParsing>,
    sink: &mut impl EventSink,
) -> Result<(), Failure> {
    let mut timer = RequestTimer::new(request.timeouts.total);
    let asked = async {
        let opened = open(client, request, &mut timer).await?;
        receive::receive(opened, request, &mut timer, parsing, sink).await
    };
    // Whatever others say in it: in an error, a redirect, a certificate, the type of a body.
    asked.await.map_err(|failure| failure.without(&Secrets::of(request)))
}

/// Sends a request as often as it may be, until the first byte of a reply is there.
async fn open<'r>(
    client: &Client,
    request: &'r Request,
    timer: &mut RequestTimer,
) -> Result<OpenReply<'r>, Failure> {
    let client =
        client.in_this_process().map_err(|err| Failure::new(FailureKind::Connect, err.to_string()))?;
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
            failure.message = format!("{} (asked {attempts} times)", failure.message);
        }
        return Err(failure);
    }
}
