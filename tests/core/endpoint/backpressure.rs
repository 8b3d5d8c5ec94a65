//! Outlets that have no room, and how long a request waits for them.

use std::{
    future::{Future, pending, ready},
    time::Duration,
};

use futures_util::future::Either;
use toolweave::{
    endpoint::{Client, Event, Failure, FailureKind, EventSink, Timeouts, TimeoutKind, stream_reply},
    message::FinishReason,
};

use super::{
    DONE, EventLog, STOP, Server, chunk, finish, request, runtime, server::TEST_TIMEOUT, settings, text,
};

const SOON: Duration = Duration::from_millis(10);

/// Never answers the first so many times that it is asked for room.
struct StuckSink {
    log: EventLog,
    times: usize,
}

impl EventSink for StuckSink {
    fn put(&mut self, event: Event) {
        self.log.put(event);
    }

    fn room(&mut self) -> impl Future<Output = ()> + Send {
        match self.times.checked_sub(1) {
            None => Either::Left(ready(())),
            Some(left) => {
                self.times = left;
                Either::Right(pending())
            }
        }
    }
}

/// What came of a reply of one word, into an outlet that is silent so many times.
fn requests(times: usize, timeouts: Timeouts) -> (Vec<Event>, Result<(), Failure>) {
    let server = Server::new(vec![Box::new(|connection| {
        connection.stream(&[&chunk("Hi"), STOP, DONE]);
        connection.end();
    })]);
    let client = Client::new(&settings()).unwrap();
    let mut request = request(&server.url());
    request.timeouts = timeouts;
    let mut silent = StuckSink { log: EventLog::default(), times };
    let done = runtime().block_on(async {
        let replies = stream_reply(&client, &request, None, &mut silent);
        tokio::time::timeout(TEST_TIMEOUT, replies).await.expect("the request waits for ever")
    });
    (silent.log.0, done)
}

#[test]
fn the_time_for_everything_runs_while_there_is_no_room() {
    let total = Some(5 * SOON);
    let timeouts = Timeouts { first_byte: TEST_TIMEOUT, idle: TEST_TIMEOUT, total };
    let (events, done) = requests(usize::MAX, timeouts);
    assert_eq!(text(&events), "Hi");
    let failure = done.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout(TimeoutKind::Total));
    assert!(failure.message.starts_with("the reply of acme took longer than 0.05 s"), "{failure}");
}

#[test]
fn a_wake_up_that_is_lost_costs_a_moment_and_a_pause_is_no_silence_of_the_server() {
    let timeouts = Timeouts { first_byte: TEST_TIMEOUT, idle: SOON, total: None };
    let (events, done) = requests(4, timeouts);
    assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())));
    assert_eq!(finish(&events), Some(FinishReason::Stop));
}
