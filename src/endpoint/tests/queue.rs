//! The queue under all interleavings of a request and its reader.

use std::{future::poll_fn, sync::Arc, task::Poll};

use shuttle::{check_dfs, check_pct, check_random, future, rand::Rng};

use super::super::{
    event::Event,
    failure::{Failure, FailureKind},
    notify::Notify,
    queue::{Capacity, EventQueue, Wake},
};
use crate::message::{FinishReason, UsageUpdate};

/// The way in which a request stops using a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shutdown {
    /// The last event of the reply, and then a successful outcome.
    Finish,
    /// A failed outcome.
    Failure,
    /// No outcome, as for a request that is dropped.
    Drop,
}

/// A scenario with one request and one reader.
#[derive(Clone, Debug)]
struct Scenario {
    events: Vec<Event>,
    /// The number of events per chunk, put in before waiting for room.
    chunk: usize,
    shutdown: Shutdown,
    capacity: Capacity,
    /// The maximum number of events that the reader takes at once.
    limit: usize,
    /// True if the reader is woken by a callback.
    has_wake: bool,
    /// True if the request cancels a wait and starts it again, as after a timeout.
    cancels_wait: bool,
}

fn usage(tokens: u64) -> Event {
    Event::Usage(UsageUpdate { output_tokens: tokens, ..UsageUpdate::default() })
}

fn text(text: &str) -> Event {
    Event::Text(text.to_owned())
}

fn broken() -> Failure {
    Failure::new(FailureKind::Protocol, "nonsense")
}

async fn request(queue: Arc<EventQueue>, scenario: Scenario) {
    for chunk in scenario.events.chunks(scenario.chunk) {
        for event in chunk {
            queue.put(event.clone());
        }
        if scenario.cancels_wait {
            let mut room = std::pin::pin!(queue.room());
            let once = poll_fn(|context| Poll::Ready(room.as_mut().poll(context)));
            if once.await.is_ready() {
                continue;
            }
        }
        queue.room().await;
    }
    match scenario.shutdown {
        Shutdown::Finish => {
            queue.put(Event::Finish { reason: FinishReason::Stop, unknown: None });
            queue.end(Ok(()));
        }
        Shutdown::Failure => queue.end(Err(broken())),
        Shutdown::Drop => {}
    }
    queue.abandon();
}

/// Return all events that were read, with consecutive texts joined, and the outcome. A deadlock
/// fails the check.
async fn reader(
    queue: Arc<EventQueue>,
    wakeup: Option<Arc<Notify>>,
    limit: usize,
) -> (Vec<Event>, Result<(), Failure>) {
    let mut taken: Vec<Event> = Vec::new();
    loop {
        let found = queue.take(limit);
        assert!(found.events.len() <= limit);
        let none = found.events.is_empty();
        for event in found.events {
            match (taken.last_mut(), event) {
                (Some(Event::Text(text)), Event::Text(more)) => text.push_str(&more),
                (_, event) => taken.push(event),
            }
        }
        if let Some(end) = found.end {
            return (taken, end);
        }
        match &wakeup {
            Some(wakeup) if none => wakeup.notified().await,
            None if none => queue.ready().await,
            _ => {}
        }
    }
}

fn run_scenario(scenario: Scenario) {
    let wakeup = scenario.has_wake.then(|| Arc::new(Notify::default()));
    let wake = wakeup.clone().map(|wakeup| -> Wake { Box::new(move || wakeup.notify_one()) });
    let queue = Arc::new(EventQueue::new(scenario.capacity, wake));
    let mut expected = Vec::new();
    for event in &scenario.events {
        match (expected.last_mut(), event) {
            (Some(Event::Text(text)), Event::Text(more)) => text.push_str(more),
            (_, event) => expected.push(event.clone()),
        }
    }
    let end = match scenario.shutdown {
        Shutdown::Finish => {
            expected.push(Event::Finish { reason: FinishReason::Stop, unknown: None });
            Ok(())
        }
        Shutdown::Failure => Err(FailureKind::Protocol),
        Shutdown::Drop => Err(FailureKind::Cut),
    };
    let limit = scenario.limit;
    let request = future::spawn(request(Arc::clone(&queue), scenario));
    let (taken, ended) = future::block_on(reader(queue, wakeup, limit));
    assert_eq!(taken, expected);
    assert_eq!(ended.map_err(|failure| failure.kind), end);
    future::block_on(request).unwrap();
}

/// Return a random small scenario.
fn any_scenario() -> Scenario {
    let mut any = shuttle::rand::thread_rng();
    let events = (0..any.gen_range(0..7_u64))
        .map(|number| match any.gen_range(0..3) {
            0 => text("ab"),
            1 => text(""),
            _ => usage(number),
        })
        .collect();
    // By count, by bytes, or by whichever is reached first; zero is a valid capacity.
    let (few, small) = (any.gen_range(0..4), any.gen_range(0..400));
    let capacity = match any.gen_range(0..3) {
        0 => Capacity { events: few, bytes: usize::MAX },
        1 => Capacity { events: usize::MAX, bytes: small },
        _ => Capacity { events: few, bytes: small },
    };
    Scenario {
        events,
        chunk: any.gen_range(1..5),
        shutdown: [Shutdown::Finish, Shutdown::Failure, Shutdown::Drop][any.gen_range(0..3)],
        capacity,
        limit: any.gen_range(1..4),
        has_wake: any.r#gen(),
        cancels_wait: any.r#gen(),
    }
}

#[test]
fn random_schedules_end_and_lose_no_event() {
    check_random(|| run_scenario(any_scenario()), 1_500);
}

#[test]
fn schedules_with_few_preemptions_end() {
    check_pct(|| run_scenario(any_scenario()), 500, 3);
}

#[test]
fn every_schedule_of_a_full_queue_ends() {
    let full = |capacity, chunk, limit| Scenario {
        events: vec![usage(1), usage(2)],
        chunk,
        shutdown: Shutdown::Drop,
        capacity,
        limit,
        has_wake: true,
        cancels_wait: false,
    };
    let few = Capacity { events: 1, bytes: usize::MAX };
    let small = Capacity { events: usize::MAX, bytes: 1 };
    for (capacity, chunk, limit) in [(few, 1, 1), (few, 2, 2), (small, 1, 2), (small, 2, 1)] {
        let scenario = full(capacity, chunk, limit);
        check_dfs(move || run_scenario(scenario.clone()), Some(1_000));
    }
}
