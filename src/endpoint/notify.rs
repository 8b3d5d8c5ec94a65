//! A signal for tests, whose lock is a scheduling point of the model checker.

use std::{
    future::{Future, poll_fn},
    mem::take,
    task::{Poll, Waker},
};

use shuttle::sync::Mutex;

/// A single permit and its waiter, like `tokio::sync::Notify` with one task.
#[derive(Default)]
pub(super) struct Notify(Mutex<(bool, Option<Waker>)>);

impl Notify {
    pub(super) fn notify_one(&self) {
        let waker = {
            let mut permit = self.0.lock().unwrap();
            permit.0 = true;
            permit.1.take()
        };
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    pub(super) fn notified(&self) -> impl Future<Output = ()> + Send {
        poll_fn(|context| {
            let mut permit = self.0.lock().unwrap();
            if take(&mut permit.0) {
                return Poll::Ready(());
            }
            permit.1 = Some(context.waker().clone());
            Poll::Pending
        })
    }
}
