//! Backpressure: sinks without room, and timeouts while a request waits for them.

use std::{
    future::{Future, pending, ready},
    time::Duration,
};

use futures_util::future::Either;
use toolweave::{
    endpoint::{
        Client, Event, EventSink, Failure, FailureKind, TimeoutKind, Timeouts, stream_reply,
    },
    message::FinishReason,
};

use super::{
    DONE, STOP, Server, chunk, finish, request, runtime, server::TEST_TIMEOUT, settings, text,
};

const SOON: Duration = Duration::from_millis(10);

/// A sink that misses its first wakeups: `room` stays pending this many times.
struct StuckSink {
    log: Vec<Event>,
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

/// Send a request for a one-word reply to a sink that misses this many wakeups.
fn exchange(times: usize, timeouts: Timeouts) -> (Vec<Event>, Result<(), Failure>) {
    let server = Server::new(vec![Box::new(|connection| {
        connection.stream(&[&chunk("Hi"), STOP, DONE]);
        connection.end();
    })]);
    let client = Client::new(&settings()).unwrap();
    let mut request = request(&server.url());
    request.timeouts = timeouts;
    let mut silent = StuckSink { log: Vec::new(), times };
    let done = runtime().block_on(async {
        let exchange = stream_reply(&client, &request, None, &mut silent);
        tokio::time::timeout(TEST_TIMEOUT, exchange).await.expect("the request never ends")
    });
    (silent.log, done)
}

#[test]
fn the_total_timeout_runs_while_there_is_no_room() {
    let total = Some(5 * SOON);
    let timeouts = Timeouts { first_byte: TEST_TIMEOUT, idle: TEST_TIMEOUT, total };
    let (events, done) = exchange(usize::MAX, timeouts);
    assert_eq!(text(&events), "Hi");
    let failure = done.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Timeout(TimeoutKind::Total));
    assert!(failure.message.starts_with("the reply of acme took longer than 0.05 s"), "{failure}");
}

#[test]
fn a_lost_wakeup_is_recovered_and_backpressure_is_not_an_idle_server() {
    let timeouts = Timeouts { first_byte: TEST_TIMEOUT, idle: SOON, total: None };
    let (events, done) = exchange(4, timeouts);
    assert_eq!((text(&events).as_str(), done), ("Hi", Ok(())));
    assert_eq!(finish(&events), Some(FinishReason::Stop));
}
