//! How long a request may still take.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    task::{Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use super::failure::TimeoutKind;

/// The time of one request.
///
/// There is one timer. It is not set anew for every wait, only when it rings: most waits are over
/// long before, and there are as many as a reply has chunks.
pub(super) struct RequestTimer {
    sleep: Option<Pin<Box<Sleep>>>,
    total: Option<Instant>,
}

impl RequestTimer {
    /// Starts with the time that there is for everything.
    pub(super) fn new(total: Option<Duration>) -> Self {
        Self { sleep: None, total: total.and_then(from_now) }
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

/// The moment that lies so far ahead, if clocks go that far.
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
    fn what_is_there_is_not_waited_for() {
        run(async {
            let mut timer = RequestTimer::new(Some(Duration::ZERO));
            let done = timer.until(from_now(Duration::ZERO), TimeoutKind::Idle, ready(1)).await;
            assert_eq!(done, Ok(1));
            assert!(timer.sleep.is_none(), "a timer was set for nothing");
        });
    }

    #[test]
    fn a_timer_that_was_set_for_less_does_not_cut_a_wait_short() {
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
    fn a_timer_that_was_set_for_more_does_not_draw_a_wait_out() {
        run(async {
            let mut timer = RequestTimer::new(None);
            timer.until(from_now(LONG), TimeoutKind::Idle, yield_now()).await.unwrap();
            let begin = Instant::now();
            let waited = timer.until(from_now(SHORT), TimeoutKind::FirstByte, pending::<()>()).await;
            assert_eq!(waited, Err(TimeoutKind::FirstByte));
            assert!(begin.elapsed() < LONG);
        });
    }

    #[test]
    fn the_time_for_everything_counts_where_it_is_shorter() {
        run(async {
            let mut timer = RequestTimer::new(Some(SHORT));
            assert!(!timer.has(LONG) && !timer.has(Duration::MAX));
            let waited = timer.until(from_now(LONG), TimeoutKind::Idle, pending::<()>()).await;
            assert_eq!(waited, Err(TimeoutKind::Total));
            let waited = timer.until(from_now(Duration::MAX), TimeoutKind::Idle, pending::<()>()).await;
            assert_eq!(waited, Err(TimeoutKind::Total));
            assert!(RequestTimer::new(None).has(Duration::MAX));
        });
    }
}
