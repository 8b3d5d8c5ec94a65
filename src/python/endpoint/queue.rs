//! The queue between a request and its reader, from the request's side.

use std::{future::Future, sync::Arc};

use super::{runtime::has_ended, wakeup::Notifier};
use crate::endpoint::{Capacity, Event, EventQueue, EventSink, Failure, Wake};

/// Maximum number of queued events, however small.
const MAX_EVENTS: usize = 1024;

/// Return a queue that holds up to `bytes` bytes and wakes its reader with `notifier`, if given.
pub(super) fn queue(bytes: usize, notifier: Option<Notifier>) -> EventQueue {
    let wake = notifier.map(|notifier| -> Wake { Box::new(move || notifier.notify()) });
    EventQueue::new(Capacity { events: MAX_EVENTS, bytes }, wake)
}

/// The writing end of a queue.
#[derive(Debug)]
pub(super) struct QueueWriter(pub(super) Arc<EventQueue>);

impl QueueWriter {
    /// Close the queue with the outcome of the request.
    pub(super) fn end(self, end: Result<(), Failure>) {
        self.0.end(end);
    }
}

impl EventSink for QueueWriter {
    fn put(&mut self, event: Event) {
        self.0.put(event);
    }

    fn room(&mut self) -> impl Future<Output = ()> + Send {
        self.0.room()
    }
}

impl Drop for QueueWriter {
    fn drop(&mut self) {
        // At interpreter shutdown only daemon threads are left to read; they must not see an error.
        if !has_ended() {
            self.0.abandon();
        }
    }
}
