//! Reading a reply from its connection.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;

use super::{
    answer::{Answer, Trouble},
    clock::{Clock, from_now},
    event::Outlet,
    exchange::{Form, Opened},
    failure::{self, Failure, FailureKind, Seconds, Wait},
    peer::Peer,
    request::Request,
    sse::{EventReader, Unreadable},
    trouble,
};

/// Reads a reply that has begun, to its end.
pub(super) async fn receive(
    opened: Opened<'_>,
    request: &Request,
    clock: &mut Clock,
    mut answer: Answer,
    outlet: &mut impl Outlet,
) -> Result<(), Failure> {
    let Opened { peer, response, first, form } = opened;
    let mut body = Body { peer, response, first, request, clock, received: 0 };
    let read = match form {
        Form::Events => events(&mut body, &mut answer, outlet).await,
        Form::Document => document(&mut body, &mut answer, outlet).await,
    };
    match read {
        Err(failure) if !answer.is_finished() => {
            answer.cut(outlet);
            Err(failure.after(body.received))
        }
        read => {
            answer.finish(outlet);
            // After a failure there is nothing to wait for.
            if read.is_ok() {
                body.drain().await;
            }
            Ok(())
        }
    }
}

/// What servers send after the last chunk.
const DONE: &str = "[DONE]";

async fn events(
    body: &mut Body<'_>,
    answer: &mut Answer,
    outlet: &mut impl Outlet,
) -> Result<(), Failure> {
    let mut reader = EventReader::new(body.request.limits.line);
    loop {
        let (bytes, excess) = body.next().await?;
        let ended = bytes.is_none();
        match bytes {
            Some(bytes) => reader.push(bytes),
            None => reader.end(),
        }
        while let Some(data) = reader.next() {
            let data = data.map_err(|unreadable| body.unreadable(unreadable))?;
            if data.trim_ascii() == DONE {
                return Ok(());
            }
            answer.push(&data, outlet).map_err(|trouble| body.trouble(trouble))?;
            outlet.room().await;
        }
        if let Some(failure) = excess {
            return Err(failure);
        }
        if ended {
            return Ok(());
        }
    }
}

async fn document(
    body: &mut Body<'_>,
    answer: &mut Answer,
    outlet: &mut impl Outlet,
) -> Result<(), Failure> {
    let mut json = Vec::new();
    while let (Some(bytes), excess) = body.next().await? {
        if let Some(failure) = excess {
            return Err(failure);
        }
        json.extend_from_slice(&bytes);
    }
    let json = String::from_utf8(json).map_err(|_| body.unreadable(Unreadable::NotText))?;
    answer.push_whole(&json, outlet).map_err(|trouble| body.trouble(trouble))?;
    outlet.room().await;
    Ok(())
}

/// The body of a reply.
struct Body<'a> {
    peer: Peer<'a>,
    response: Response,
    /// What came with the head.
    first: Option<Bytes>,
    request: &'a Request,
    clock: &'a mut Clock,
    received: u64,
}

impl Body<'_> {
    /// The next bytes; None after the last. With the last bytes that may come, the failure that
    /// there are more.
    async fn next(&mut self) -> Result<(Option<Bytes>, Option<Failure>), Failure> {
        let mut next = self.first.take();
        if next.is_none() {
            let idle = from_now(self.request.timeouts.idle);
            let read = self.clock.until(idle, Wait::Idle, self.response.chunk()).await;
            next = read
                .map_err(|wait| self.stalled(wait))?
                .map_err(|err| trouble::cut(&self.peer, err))?;
        }
        let Some(mut bytes) = next else { return Ok((None, None)) };
        let limit = self.request.limits.body;
        let room = limit - self.received;
        self.received += bytes.len() as u64;
        if self.received <= limit {
            return Ok((Some(bytes), None));
        }
        bytes.truncate(usize::try_from(room).unwrap_or(usize::MAX));
        self.received = limit;
        let limit = failure::Bytes(limit);
        let said = format!("the reply of {} is larger than {limit}", self.peer);
        Ok((Some(bytes), Some(Failure::new(FailureKind::TooLarge, said))))
    }

    /// Reads on to the end for a moment, so that the connection can be used again.
    async fn drain(&mut self) {
        const LONGEST_WAIT: Duration = Duration::from_millis(100);
        const MOST: usize = 64 << 10;
        let response = &mut self.response;
        let rest = async {
            let mut left = MOST;
            while let Ok(Some(bytes)) = response.chunk().await {
                let Some(less) = left.checked_sub(bytes.len()) else { break };
                left = less;
            }
        };
        // Without it, the connection is closed.
        let _ = self.clock.until(from_now(LONGEST_WAIT), Wait::Idle, rest).await;
    }

    fn stalled(&self, wait: Wait) -> Failure {
        let peer = &self.peer;
        let said = match (wait, self.request.timeouts.total) {
            (Wait::Total, Some(total)) => {
                format!("the reply of {peer} took longer than {}", Seconds(total))
            }
            _ => format!("{peer} sent nothing more for {}", Seconds(self.request.timeouts.idle)),
        };
        Failure::passing(FailureKind::Timeout(wait), said)
    }

    fn unreadable(&self, unreadable: Unreadable) -> Failure {
        let peer = &self.peer;
        match unreadable {
            Unreadable::TooLong => {
                let limit = failure::Bytes(self.request.limits.line as u64);
                let said = format!("{peer} sent an event that is larger than {limit}");
                Failure::new(FailureKind::TooLarge, said)
            }
            Unreadable::NotText => {
                let said = format!("{peer} sent a chunk that cannot be read: it is not UTF-8");
                Failure::passing(FailureKind::Chunk, said)
            }
        }
    }

    fn trouble(&self, trouble: Trouble) -> Failure {
        let peer = &self.peer;
        match trouble {
            Trouble::Unreadable(error) => {
                let said = format!("{peer} sent a chunk that cannot be read: {error}");
                Failure::passing(FailureKind::Chunk, said)
            }
            Trouble::NoReply => {
                let said = format!(
                    "{peer} answered with JSON that is no reply of a model; is the base URL the \
                     right one?"
                );
                Failure::new(FailureKind::Protocol, said)
            }
            Trouble::Refused(refusal) => refusal.failure(peer, None),
        }
    }
}
