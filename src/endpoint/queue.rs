//! What has been read of a reply and nobody has taken yet.
//!
//! A [`EventQueue`] stands between a request, which puts events in, and the one reader that takes
//! them out. Each of them may have to wait for the other: the reader for events, the request for
//! room. Whoever waits notes so under the lock, and whoever ends the wait reads the note under the
//! same lock, so that no wake-up is lost between the two. What they lock and wait with are
//! [`Primitives`]: the tests put others in their place, which try out the orders in which two
//! threads can meet.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    mem::{size_of, take},
    sync::{Mutex, PoisonError},
};

use tokio::sync::Notify;

use super::{
    event::Event,
    failure::{Failure, FailureKind},
};
use crate::message::ToolCallUpdate;

/// What a mailbox locks and waits with.
pub(crate) trait Primitives {
    /// What holds a value for one thread at a time.
    type Lock<T: Send>: Lock<T>;
    /// What one task waits for.
    type Signal: Signal;
}

/// A value that is used by one thread at a time.
pub(crate) trait Lock<T>: Send + Sync {
    fn new(value: T) -> Self;

    /// Uses the value.
    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R;
}

/// A signal to one task. One that is given while nobody waits ends the next wait.
pub(crate) trait Signal: Send + Sync {
    fn new() -> Self;

    fn notify(&self);

    fn notified(&self) -> impl Future<Output = ()> + Send;
}

/// The primitives of real threads.
#[derive(Debug)]
pub(crate) struct Native;

impl Primitives for Native {
    type Lock<T: Send> = Mutex<T>;
    type Signal = Notify;
}

impl<T: Send> Lock<T> for Mutex<T> {
    fn new(value: T) -> Self {
        Self::new(value)
    }

    fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        work(&mut self.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Signal for Notify {
    fn new() -> Self {
        Self::new()
    }

    fn notify(&self) {
        self.notify_one();
    }

    fn notified(&self) -> impl Future<Output = ()> + Send {
        self.notified()
    }
}

/// Wakes the reader, where it does not wait for [`EventQueue::ready`].
pub(crate) type Wake = Box<dyn Fn() + Send + Sync>;

/// How much may wait in a mailbox; what is read at once may pass it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    /// How many events, however small they are.
    pub(crate) events: usize,
    /// How many bytes.
    pub(crate) bytes: usize,
}

/// How many bytes one look into the mailbox takes out, but for the event that passes it.
const MAX_BATCH_BYTES: usize = 64 << 10;

/// The events of one reply that wait to be taken, and why there are no more.
pub(crate) struct EventQueue<P: Primitives = Native> {
    state: P::Lock<QueueState>,
    capacity: Capacity,
    /// Called when there is something for a reader that waits; without one, such a reader waits
    /// for `ready`.
    wake: Option<Wake>,
    ready: P::Signal,
    room: P::Signal,
}

#[derive(Debug, Default)]
struct QueueState {
    events: VecDeque<Event>,
    bytes: usize,
    /// Whether the reader waits for the next event.
    reader_waiting: bool,
    /// Whether the request waits for room.
    writer_waiting: bool,
    end: Option<Result<(), Failure>>,
}

/// What is found in a mailbox.
#[derive(Debug)]
pub(crate) struct Batch {
    /// What has come; often nothing yet.
    pub(crate) events: Vec<Event>,
    /// How it ended, where nothing is left.
    pub(crate) end: Option<Result<(), Failure>>,
}

impl<P: Primitives> fmt::Debug for EventQueue<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl<P: Primitives> EventQueue<P> {
    pub(crate) fn new(capacity: Capacity, wake: Option<Wake>) -> Self {
        let state = P::Lock::new(QueueState::default());
        Self { state, capacity, wake, ready: P::Signal::new(), room: P::Signal::new() }
    }

    /// Takes out what is there, up to `most` events. Where there is nothing, the reader is woken
    /// by the next one.
    pub(crate) fn take(&self, most: usize) -> Batch {
        let (found, has_room) = self.state.with(|state| {
            let events = state.pop(most);
            let has_room = !state.is_full(self.capacity) && take(&mut state.writer_waiting);
            let end = if state.events.is_empty() { state.end.clone() } else { None };
            state.reader_waiting = events.is_empty() && end.is_none();
            (Batch { events, end }, has_room)
        });
        if has_room {
            self.room.notify();
        }
        found
    }

    /// Waits until something is there, or nothing will come any more.
    pub(crate) async fn ready(&self) {
        let is_ready = |state: &mut QueueState| {
            state.reader_waiting = state.events.is_empty() && state.end.is_none();
            !state.reader_waiting
        };
        while !self.state.with(is_ready) {
            self.ready.notified().await;
        }
    }

    /// Puts an event in, whether or not there is room.
    pub(crate) fn put(&self, event: Event) {
        let reader_waiting = self.state.with(|state| {
            state.push(event);
            take(&mut state.reader_waiting)
        });
        self.wake_reader(reader_waiting);
    }

    /// Says how the reply ended, unless that is known.
    pub(crate) fn end(&self, end: Result<(), Failure>) {
        let reader_waiting = self.state.with(|state| {
            state.end.get_or_insert(end);
            take(&mut state.reader_waiting)
        });
        self.wake_reader(reader_waiting);
    }

    /// Says that nobody puts anything in any more, where nobody has said how the reply ended.
    pub(crate) fn abandon(&self) {
        let message = "the request was given up before its reply was over";
        self.end(Err(Failure::new(FailureKind::Cut, message)));
    }

    /// Waits until there is room. There is where nothing waits, whatever the capacity.
    pub(crate) async fn room(&self) {
        let is_full = |state: &mut QueueState| {
            state.writer_waiting = state.is_full(self.capacity);
            state.writer_waiting
        };
        while self.state.with(is_full) {
            self.room.notified().await;
        }
    }

    /// Wakes the reader, where it waits.
    fn wake_reader(&self, reader_waiting: bool) {
        match &self.wake {
            _ if !reader_waiting => {}
            Some(wake) => wake(),
            None => self.ready.notify(),
        }
    }
}

impl QueueState {
    fn is_full(&self, capacity: Capacity) -> bool {
        let is_over = self.bytes >= capacity.bytes || self.events.len() >= capacity.events;
        is_over && !self.events.is_empty()
    }

    fn pop(&mut self, most: usize) -> Vec<Event> {
        let mut taken = Vec::new();
        let mut bytes = 0;
        while taken.len() < most && bytes < MAX_BATCH_BYTES {
            let Some(event) = self.events.pop_front() else { break };
            bytes += weight(&event);
            taken.push(event);
        }
        self.bytes -= bytes;
        taken
    }

    fn push(&mut self, event: Event) {
        if matches!(event, Event::Finish(_)) {
            // The request goes on for a moment, to get its connection ready for the next one.
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

/// Adds a delta to the one before it, and its length to `bytes`; an event that is not more of the
/// same comes back.
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

/// About how many bytes an event holds.
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
            Event::Start { id, name, .. } => length(id) + name.len(),
            Event::Delta { fragment, .. } => fragment.len(),
            // Besides the text of the call, what it says: values are several times as large.
            Event::End { name, raw, .. } => name.len() + 4 * raw.len(),
            Event::Discarded { raw, .. } => raw.len(),
            Event::Fabricated { name, raw } => length(name) + raw.len(),
            Event::Usage(_) | Event::Finish(_) => 0,
        }
}
