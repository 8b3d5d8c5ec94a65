//! How long a request may still take.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use super::failure::Wait;

/// The time of one request.
///
/// There is one timer. It is not set anew for every wait, only when it rings: most waits are over
/// long before, and there are as many as a reply has chunks.
pub(super) struct Clock {
    timer: Option<Pin<Box<Sleep>>>,
    total: Option<Instant>,
}

impl Clock {
    /// Starts with the time that there is for everything.
    pub(super) fn new(total: Option<Duration>) -> Self {
        Self { timer: None, total: total.and_then(from_now) }
    }

    /// Whether there is more time than this.
    pub(super) fn has(&self, time: Duration) -> bool {
        match (from_now(time), self.total) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(then), Some(total)) => then < total,
        }
    }

    /// Waits for a future until a moment, or until there is no time left for the request; then
    /// says what took too long.
    pub(super) async fn until<F: Future>(
        &mut self,
        moment: Option<Instant>,
        wait: Wait,
        future: F,
    ) -> Result<F::Output, Wait> {
        let (deadline, wait) = match (moment, self.total) {
            (None, None) => return Ok(future.await),
            (Some(moment), Some(total)) if moment <= total => (moment, wait),
            (_, Some(total)) => (total, Wait::Total),
            (Some(moment), None) => (moment, wait),
        };
        let mut future = pin!(future);
        poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            if timer.deadline() > deadline {
                timer.as_mut().reset(deadline);
            }
            loop {
                ready!(timer.as_mut().poll(cx));
                if timer.deadline() >= deadline || Instant::now() >= deadline {
                    return Poll::Ready(Err(wait));
                }
                timer.as_mut().reset(deadline);
            }
        })
        .await
    }
}

/// The moment that lies so far ahead, if clocks go that far.
pub(super) fn from_now(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}
