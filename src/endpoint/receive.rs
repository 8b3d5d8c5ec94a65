//! Reading a reply from its connection.

use std::time::Duration;

use futures_util::FutureExt;
use reqwest::Response;

use super::{
    attempt::OpenReply,
    decoder::{Decoder, Step},
    event::{CallParsing, EventSink},
    failure::{Failure, FailureKind, Seconds, TimeoutKind},
    http_errors,
    peer::Peer,
    request::{Request, Timeouts},
    timer::{RequestTimer, from_now},
};

/// Receive a reply that has begun, to its end.
pub(super) async fn receive(
    mut opened: OpenReply<'_>,
    request: &Request,
    timer: &mut RequestTimer,
    parsing: Option<CallParsing>,
    sink: &mut impl EventSink,
) -> Result<(), Failure> {
    let mut decoder = Decoder::new(opened.form, request.limits, parsing);
    match opened.first.take() {
        Some(first) => decoder.push(first),
        None => decoder.end(),
    }
    let failure = read(&mut decoder, &mut opened, request, timer, sink).await.err();
    let broken = failure.is_some();
    let finished = decoder.finish(failure, sink);
    if !broken {
        drain(&mut opened.response, timer).await;
    }
    finished
}

async fn read(
    decoder: &mut Decoder,
    opened: &mut OpenReply<'_>,
    request: &Request,
    timer: &mut RequestTimer,
    sink: &mut impl EventSink,
) -> Result<(), Failure> {
    let OpenReply { peer, response, .. } = opened;
    loop {
        let step = decoder.step(sink).map_err(|error| error.failure(peer, &request.limits))?;
        match step {
            Step::Read => room(sink, timer, &request.timeouts)
                .await
                .map_err(|wait| timeout_failure(peer, wait, &request.timeouts))?,
            Step::Done => return Ok(()),
            Step::NeedMore => {
                let idle = from_now(request.timeouts.idle);
                let next = timer
                    .until(idle, TimeoutKind::Idle, response.chunk())
                    .await
                    .map_err(|wait| timeout_failure(peer, wait, &request.timeouts))?
                    .map_err(|err| http_errors::reply_failure(peer, err))?;
                match next {
                    Some(bytes) => decoder.push(bytes),
                    None => decoder.end(),
                }
            }
        }
    }
}

/// Wait until the sink has room.
///
/// The idle timeout is for servers only: a slow reader holds its server back for as long as the
/// total timeout allows. Here it is the interval after which the sink is polled again, should it
/// ever miss a wakeup.
async fn room(
    sink: &mut impl EventSink,
    timer: &mut RequestTimer,
    timeouts: &Timeouts,
) -> Result<(), TimeoutKind> {
    // Most often there is room, and reading the clock costs more than this check.
    if sink.room().now_or_never().is_some() {
        return Ok(());
    }
    loop {
        match timer.until(from_now(timeouts.idle), TimeoutKind::Idle, sink.room()).await {
            Ok(()) => return Ok(()),
            Err(TimeoutKind::Total) => return Err(TimeoutKind::Total),
            Err(_) => {}
        }
    }
}

pub(super) fn timeout_failure(peer: &Peer<'_>, wait: TimeoutKind, timeouts: &Timeouts) -> Failure {
    let message = match (wait, timeouts.total) {
        (TimeoutKind::Total, Some(total)) => {
            format!("the reply of {peer} took longer than {}", Seconds(total))
        }
        _ => format!("{peer} sent nothing more for {}", Seconds(timeouts.idle)),
    };
    Failure::transient(FailureKind::Timeout(wait), message)
}

/// Read the body to its end for a short time, so that the connection can be reused.
async fn drain(response: &mut Response, timer: &mut RequestTimer) {
    const MAX_WAIT: Duration = Duration::from_millis(100);
    const MAX_BYTES: usize = 64 << 10;
    let rest = async {
        let mut left = MAX_BYTES;
        while let Ok(Some(bytes)) = response.chunk().await {
            let Some(less) = left.checked_sub(bytes.len()) else { break };
            left = less;
        }
    };
    // If that fails, the connection is closed.
    let _ = timer.until(from_now(MAX_WAIT), TimeoutKind::Idle, rest).await;
}
