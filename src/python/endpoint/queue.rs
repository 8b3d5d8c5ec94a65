//! The end of a mailbox that a request fills.

use std::{future::Future, sync::Arc};

use super::{wakeup::Notifier, runtime::has_ended};
use crate::endpoint::{Capacity, Event, Failure, EventQueue, EventSink, Wake};

/// How many events may wait, however small they are.
const MAX_EVENTS: usize = 1024;

/// A mailbox for so many bytes, whose reader hears of them by a rope, if there is one.
pub(super) fn queue(bytes: usize, notifier: Option<Notifier>) -> EventQueue {
    let wake = notifier.map(|notifier| -> Wake { Box::new(move || notifier.notify()) });
    EventQueue::new(Capacity { events: MAX_EVENTS, bytes }, wake)
}

/// The end of a mailbox that a request fills.
#[derive(Debug)]
pub(super) struct QueueWriter(pub(super) Arc<EventQueue>);

impl QueueWriter {
    /// Says how the reply ended.
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
        // At the end of the interpreter only daemons are left to read, and they are to stay silent.
        if !has_ended() {
            self.0.abandon();
        }
    }
}
