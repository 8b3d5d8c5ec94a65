//! The timer for all waits of one request.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use super::failure::TimeoutKind;

/// The timer of one request.
///
/// A single `Sleep` serves all waits. It is not reset for each wait, only when it fires early: a
/// reply has one wait per chunk, and most are over long before.
pub(super) struct RequestTimer {
    sleep: Option<Pin<Box<Sleep>>>,
    total: Option<Instant>,
}

impl RequestTimer {
    /// Create a timer with the total timeout of the request.
    pub(super) fn new(total: Option<Duration>) -> Self {
        Self { sleep: None, total: total.and_then(from_now) }
    }

    /// Return true if more than this much time is left.
    pub(super) fn has(&self, time: Duration) -> bool {
        match (from_now(time), self.total) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(then), Some(total)) => then < total,
        }
    }

    /// Wait for a future until a deadline, or until the total timeout of the request. Return the
    /// timeout that has elapsed, if one has.
    pub(super) async fn until<F: Future>(
        &mut self,
        moment: Option<Instant>,
        wait: TimeoutKind,
        future: F,
    ) -> Result<F::Output, TimeoutKind> {
        let (deadline, wait) = match (moment, self.total) {
            (None, None) => return Ok(future.await),
            (Some(moment), Some(total)) if moment <= total => (moment, wait),
            (_, Some(total)) => (total, TimeoutKind::Total),
            (Some(moment), None) => (moment, wait),
        };
        let mut future = pin!(future);
        poll_fn(|cx| {
            if let Poll::Ready(output) = future.as_mut().poll(cx) {
                return Poll::Ready(Ok(output));
            }
            let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(deadline)));
            if sleep.deadline() > deadline {
                sleep.as_mut().reset(deadline);
            }
            loop {
                ready!(sleep.as_mut().poll(cx));
                if sleep.deadline() >= deadline || Instant::now() >= deadline {
                    return Poll::Ready(Err(wait));
                }
                sleep.as_mut().reset(deadline);
            }
        })
        .await
    }
}

/// Return the instant after this duration, or `None` on overflow.
pub(super) fn from_now(time: Duration) -> Option<Instant> {
    Instant::now().checked_add(time)
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use tokio::{runtime::Builder, task::yield_now};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(5);

    fn run<T>(future: impl Future<Output = T>) -> T {
        Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
    }

    #[test]
    fn a_ready_future_needs_no_timer() {
        run(async {
            let mut timer = RequestTimer::new(Some(Duration::ZERO));
            let done = timer.until(from_now(Duration::ZERO), TimeoutKind::Idle, ready(1)).await;
            assert_eq!(done, Ok(1));
            assert!(timer.sleep.is_none(), "a timer was set for nothing");
        });
    }

    #[test]
    fn an_earlier_deadline_does_not_shorten_a_wait() {
        run(async {
            let mut timer = RequestTimer::new(None);
            timer.until(from_now(SHORT), TimeoutKind::Idle, yield_now()).await.unwrap();
            let begin = Instant::now();
            let waited = timer.until(from_now(4 * SHORT), TimeoutKind::Idle, pending::<()>()).await;
            assert_eq!(waited, Err(TimeoutKind::Idle));
            assert!(begin.elapsed() >= 4 * SHORT);
        });
    }

    #[test]
    fn a_new_deadline_does_not_prolong_a_wait() {
        run(async {
            let mut timer = RequestTimer::new(None);
            timer.until(from_now(LONG), TimeoutKind::Idle, yield_now()).await.unwrap();
            let begin = Instant::now();
            let waited =
                timer.until(from_now(SHORT), TimeoutKind::FirstByte, pending::<()>()).await;
            assert_eq!(waited, Err(TimeoutKind::FirstByte));
            assert!(begin.elapsed() < LONG);
        });
    }

    #[test]
    fn the_total_timeout_applies_if_it_is_shorter() {
        run(async {
            let mut timer = RequestTimer::new(Some(SHORT));
            assert!(!timer.has(LONG) && !timer.has(Duration::MAX));
            let waited = timer.until(from_now(LONG), TimeoutKind::Idle, pending::<()>()).await;
            assert_eq!(waited, Err(TimeoutKind::Total));
            let waited =
                timer.until(from_now(Duration::MAX), TimeoutKind::Idle, pending::<()>()).await;
            assert_eq!(waited, Err(TimeoutKind::Total));
            assert!(RequestTimer::new(None).has(Duration::MAX));
        });
    }
}
