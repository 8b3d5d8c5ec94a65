//! One request, and its reply.

use futures_util::StreamExt;
use sse_stream::SseByteStream;

use super::{
    answer::Answer,
    client::Client,
    event::{Outlet, Reading},
    failure::{Failure, FailureKind},
    request::Request,
};

/// Sends a request and reads its reply into an outlet.
///
/// Whatever came of the reply before a failure is in the outlet when this returns. Dropping the
/// future closes the connection.
pub async fn ask(
    client: &Client,
    request: &Request,
    reading: Option<Reading>,
    outlet: &mut impl Outlet,
) -> Result<(), Failure> {
    let sent = client
        .http
        .post(request.url.clone())
        .headers(request.headers.clone())
        .body(request.body.clone())
        .send();
    let response = sent.await.map_err(|err| failed(FailureKind::Connect, &err))?;
    let status = response.status();
    if !status.is_success() {
        let mut failure = failed(FailureKind::Status, &status);
        failure.status = Some(status.as_u16());
        return Err(failure);
    }
    let mut answer = Answer::new(reading);
    let mut events = SseByteStream::new(response.bytes_stream());
    while let Some(event) = events.next().await {
        let event = event.map_err(|err| failed(FailureKind::Cut, &err))?;
        let Some(data) = event.data else { continue };
        if data == "[DONE]" {
            break;
        }
        answer.push(&data, outlet).map_err(|err| failed(FailureKind::Protocol, &err))?;
        outlet.room().await;
    }
    answer.finish(outlet);
    Ok(())
}

fn failed(kind: FailureKind, error: &impl std::fmt::Display) -> Failure {
    Failure {
        kind,
        message: error.to_string(),
        status: None,
        retry_after: None,
        transient: false,
        received: 0,
    }
}
