//! A queue for the events of a reply that have not been read yet.
//!
//! A [`EventQueue`] connects a request, which puts events in, with its single reader, which takes
//! them out. Either may have to wait: the reader for events, the request for room. The waiting side
//! sets a flag under the lock, and the other side reads the flag under the same lock, so no wakeup
//! is lost. The tests run with the locks and signals of a model checker, which explores the
//! interleavings of two threads.

#[cfg(not(test))]
use std::sync::{Mutex, MutexGuard};
use std::{
    collections::VecDeque,
    fmt,
    mem::{size_of, take},
    sync::PoisonError,
};

#[cfg(test)]
use shuttle::sync::{Mutex, MutexGuard};
#[cfg(not(test))]
use tokio::sync::Notify;

#[cfg(test)]
use super::notify::Notify;
use super::{
    event::Event,
    failure::{Failure, FailureKind},
};
use crate::message::ToolCallUpdate;

/// A callback that wakes the reader, if it does not wait for [`EventQueue::ready`].
pub(crate) type Wake = Box<dyn Fn() + Send + Sync>;

/// The capacity of a queue. A batch of events that arrives at once may exceed it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    /// Maximum number of events.
    pub(crate) events: usize,
    /// Maximum number of bytes.
    pub(crate) bytes: usize,
}

/// Maximum size of a batch in bytes; its last event may exceed it.
const MAX_BATCH_BYTES: usize = 64 << 10;

/// The events of one reply that have not been read, and the outcome of the reply.
pub(crate) struct EventQueue {
    state: Mutex<QueueState>,
    capacity: Capacity,
    /// Called when there are events for a waiting reader. Without it, the reader awaits `ready`.
    wake: Option<Wake>,
    ready: Notify,
    room: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    events: VecDeque<Event>,
    bytes: usize,
    /// True if the reader waits for an event.
    reader_waiting: bool,
    /// True if the request waits for room.
    writer_waiting: bool,
    end: Option<Result<(), Failure>>,
}

/// A batch of events taken from a queue.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The events; often empty.
    pub(crate) events: Vec<Event>,
    /// The outcome of the reply, if no events are left.
    pub(crate) end: Option<Result<(), Failure>>,
}

impl fmt::Debug for EventQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl EventQueue {
    pub(crate) fn new(capacity: Capacity, wake: Option<Wake>) -> Self {
        Self {
            state: Mutex::new(QueueState::default()),
            capacity,
            wake,
            ready: Notify::default(),
            room: Notify::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Take the events that are there, at most `limit`. If there are none, the reader is woken for
    /// the next one.
    pub(crate) fn take(&self, limit: usize) -> Batch {
        let mut state = self.state();
        let events = state.pop(limit);
        let has_room = !state.is_full(self.capacity) && take(&mut state.writer_waiting);
        let end = if state.events.is_empty() { state.end.clone() } else { None };
        state.reader_waiting = events.is_empty() && end.is_none();
        drop(state);
        if has_room {
            self.room.notify_one();
        }
        Batch { events, end }
    }

    /// Wait until there is an event, or the reply has ended.
    pub(crate) async fn ready(&self) {
        let is_ready = |state: &mut QueueState| {
            state.reader_waiting = state.events.is_empty() && state.end.is_none();
            !state.reader_waiting
        };
        while !is_ready(&mut self.state()) {
            self.ready.notified().await;
        }
    }

    /// Put an event in, even if the queue is full.
    pub(crate) fn put(&self, event: Event) {
        self.update(|state| state.push(event));
    }

    /// Set the outcome of the reply, unless it is set already.
    pub(crate) fn end(&self, end: Result<(), Failure>) {
        self.update(|state| {
            state.end.get_or_insert(end);
        });
    }

    /// Close the queue for writing. If the outcome is not set, the reply counts as broken off.
    pub(crate) fn abandon(&self) {
        let message = "the request was dropped before its reply was complete";
        self.end(Err(Failure::new(FailureKind::Cut, message)));
    }

    /// Wait until there is room. An empty queue always has room.
    pub(crate) async fn room(&self) {
        let is_full = |state: &mut QueueState| {
            state.writer_waiting = state.is_full(self.capacity);
            state.writer_waiting
        };
        while is_full(&mut self.state()) {
            self.room.notified().await;
        }
    }

    /// Change the state, and wake the reader if it waits.
    fn update(&self, change: impl FnOnce(&mut QueueState)) {
        let reader_waiting = {
            let mut state = self.state();
            change(&mut state);
            take(&mut state.reader_waiting)
        };
        match &self.wake {
            _ if !reader_waiting => {}
            Some(wake) => wake(),
            None => self.ready.notify_one(),
        }
    }
}

impl QueueState {
    fn is_full(&self, capacity: Capacity) -> bool {
        let is_over = self.bytes >= capacity.bytes || self.events.len() >= capacity.events;
        is_over && !self.events.is_empty()
    }

    fn pop(&mut self, limit: usize) -> Vec<Event> {
        let mut taken = Vec::new();
        let mut bytes = 0;
        while taken.len() < limit && bytes < MAX_BATCH_BYTES {
            let Some(event) = self.events.pop_front() else { break };
            bytes += weight(&event);
            taken.push(event);
        }
        self.bytes -= bytes;
        taken
    }

    fn push(&mut self, event: Event) {
        if matches!(event, Event::Finish { .. }) {
            // The request keeps running for a short time, to make its connection reusable.
            self.end.get_or_insert(Ok(()));
        }
        let alone = match self.events.back_mut() {
            Some(last) => join(last, event, &mut self.bytes),
            None => Some(event),
        };
        if let Some(event) = alone {
            self.bytes += weight(&event);
            self.events.push_back(event);
        }
    }
}

/// Append a delta to the last event and add its length to `bytes`, or return an event that cannot
/// be joined.
fn join(last: &mut Event, event: Event, bytes: &mut usize) -> Option<Event> {
    let (text, more) = match (last, event) {
        (Event::Text(text), Event::Text(more))
        | (Event::Reasoning(text), Event::Reasoning(more)) => (text, more),
        (Event::Delta { index, fragment }, Event::Delta { index: of, fragment: more })
            if *index == of =>
        {
            (fragment, more)
        }
        (
            Event::Fragment(ToolCallUpdate {
                tool_call_id, index, function_args: Some(text), ..
            }),
            Event::Fragment(ToolCallUpdate {
                tool_call_id: id,
                index: of,
                function_name: None,
                function_args: Some(more),
            }),
        ) if *tool_call_id == id && *index == of => (text, more),
        (_, event) => return Some(event),
    };
    text.push_str(&more);
    *bytes += more.len();
    None
}

/// Estimate the size of an event in bytes.
fn weight(event: &Event) -> usize {
    let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    size_of::<Event>()
        + match event {
            Event::Text(text) | Event::Reasoning(text) => text.len(),
            Event::Fragment(update) => {
                length(&update.tool_call_id)
                    + length(&update.function_name)
                    + length(&update.function_args)
            }
            Event::Start { id, name, .. } => {
                let id = id.as_ref().map_or("", |id| id.as_deref().text());
                id.len() + name.len()
            }
            Event::Delta { fragment, .. } => fragment.len(),
            // The parsed values are several times as large as the text of the call.
            Event::End { name, raw, .. } => name.len() + 4 * raw.len(),
            Event::Discarded { raw, .. } => raw.len(),
            Event::Fabricated { name, raw } => length(name) + raw.len(),
            Event::Usage(_) => 0,
            Event::Finish { unknown, .. } => length(unknown),
        }
}
