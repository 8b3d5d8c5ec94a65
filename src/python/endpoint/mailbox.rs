//! What has been read of a reply and nobody has taken yet.

use std::{
    collections::VecDeque,
    future::Future,
    mem::size_of,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use super::{bell::Rope, runtime::has_ended};
use crate::{
    endpoint::{Event, Failure, FailureKind, Outlet},
    message::ToolCallUpdate,
};

/// How many events may wait, however small they are.
const MOST_EVENTS: usize = 1024;

/// How many bytes one look into the mailbox takes out, but for the event that passes it.
const BYTES_AT_ONCE: usize = 64 << 10;

/// The events of one reply that wait to be taken, and why there are no more.
#[derive(Debug)]
pub(super) struct Mailbox {
    queue: Mutex<Queue>,
    /// How many bytes may wait.
    capacity: usize,
    /// Rung where somebody waits for events; without one, whoever waits does so for `ready`.
    rope: Option<Rope>,
    ready: Notify,
    room: Notify,
}

#[derive(Debug, Default)]
struct Queue {
    events: VecDeque<Event>,
    bytes: usize,
    /// Whether somebody waits for the next event.
    wanted: bool,
    end: Option<Result<(), Failure>>,
}

/// What is found in a mailbox.
#[derive(Debug)]
pub(super) struct Found {
    /// What has come; often nothing yet.
    pub(super) events: Vec<Event>,
    /// How it ended, where nothing is left.
    pub(super) end: Option<Result<(), Failure>>,
}

impl Mailbox {
    pub(super) fn new(capacity: usize, rope: Option<Rope>) -> Self {
        Self { queue: Mutex::default(), capacity, rope, ready: Notify::new(), room: Notify::new() }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes out what is there, up to `most` events. Where there is nothing, the next one is told.
    pub(super) fn take(&self, most: usize) -> Found {
        let mut queue = self.queue();
        let mut taken = Vec::new();
        let mut bytes = 0;
        while taken.len() < most && bytes < BYTES_AT_ONCE {
            let Some(event) = queue.events.pop_front() else { break };
            bytes += weight(&event);
            taken.push(event);
        }
        let was_full = self.is_full(&queue);
        queue.bytes -= bytes;
        if was_full && !self.is_full(&queue) {
            self.room.notify_one();
        }
        let end = if queue.events.is_empty() { queue.end.clone() } else { None };
        queue.wanted = taken.is_empty() && end.is_none();
        Found { events: taken, end }
    }

    /// Waits until something is there, or nothing will come any more.
    pub(super) async fn ready(&self) {
        loop {
            {
                let mut queue = self.queue();
                if !queue.events.is_empty() || queue.end.is_some() {
                    return;
                }
                queue.wanted = true;
            }
            self.ready.notified().await;
        }
    }

    fn is_full(&self, queue: &Queue) -> bool {
        queue.bytes >= self.capacity || queue.events.len() >= MOST_EVENTS
    }

    /// Tells whoever waits.
    fn tell(&self, wanted: bool) {
        if wanted {
            match &self.rope {
                Some(rope) => rope.pull(),
                None => self.ready.notify_one(),
            }
        }
    }

    fn put(&self, event: Event) {
        let wanted = {
            let mut queue = self.queue();
            let Queue { events, bytes, end, .. } = &mut *queue;
            if matches!(event, Event::Finish(_)) {
                // The request goes on for a moment, to get its connection ready for the next one.
                end.get_or_insert(Ok(()));
            }
            let alone = match events.back_mut() {
                Some(last) => join(last, event, bytes),
                None => Some(event),
            };
            if let Some(event) = alone {
                *bytes += weight(&event);
                events.push_back(event);
            }
            std::mem::take(&mut queue.wanted)
        };
        self.tell(wanted);
    }

    fn end(&self, end: Result<(), Failure>) {
        let wanted = {
            let mut queue = self.queue();
            queue.end.get_or_insert(end);
            std::mem::take(&mut queue.wanted)
        };
        self.tell(wanted);
    }

    async fn room(&self) {
        while self.is_full(&self.queue()) {
            self.room.notified().await;
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

/// The end of a mailbox that a request fills.
#[derive(Debug)]
pub(super) struct Slot(pub(super) Arc<Mailbox>);

impl Slot {
    /// Says how the reply ended.
    pub(super) fn end(self, end: Result<(), Failure>) {
        self.0.end(end);
    }
}

impl Outlet for Slot {
    fn put(&mut self, event: Event) {
        self.0.put(event);
    }

    fn room(&mut self) -> impl Future<Output = ()> + Send {
        self.0.room()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        // At the end of the interpreter only daemons are left to read, and they are to stay silent.
        if has_ended() {
            return;
        }
        // Where the request has not been able to say.
        let message = "the request was given up before its reply was over".to_owned();
        self.0.end(Err(Failure::new(FailureKind::Cut, message)));
    }
}
