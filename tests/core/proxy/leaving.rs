//! Clients that leave, in every API and at every moment of the upstream's reply.

use std::{
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use toolweave::proxy::Mode;

use super::{CHAT, Script, client, request, requests, start, streams, text};
use crate::endpoint::server::{Connection, STREAM, TEST_TIMEOUT};

/// The progress of the upstream's reply when the client leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Moment {
    /// The upstream has received the request.
    Asked,
    /// The head of its response has been sent.
    Head,
    /// Text has been sent.
    Text,
    /// The correction of its first reply has been asked for.
    Correction,
}

const MOMENTS: [Moment; 4] = [Moment::Asked, Moment::Head, Moment::Text, Moment::Correction];

/// The time in which the upstream must see that the client has left, on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(5);

/// Return a script that replies up to a moment and then waits. Its receiver gets `true` once it waits,
/// and then whether the connection was closed.
fn waits(moment: Moment) -> (Script, Receiver<bool>) {
    let (send, receive) = channel();
    let script = move |connection: &mut Connection| {
        match moment {
            Moment::Asked | Moment::Correction => {}
            Moment::Head => connection.send(STREAM),
            Moment::Text => connection.stream(&[&text("one")]),
        }
        let _ = send.send(true);
        let _ = send.send(connection.wait_for_close());
    };
    (Box::new(script), receive)
}

#[test]
fn a_client_that_leaves_at_any_moment_ends_the_request_to_the_upstream() {
    let invalid = "<get_weather>{\"days\": 3}</get_weather>";
    let without_tools = |stream| (CHAT, request(json!({"tools": [], "stream": stream})));
    for stream in [true, false] {
        let requests: Vec<(&str, Value)> =
            requests(stream).into_iter().chain([without_tools(stream)]).collect();
        for (path, body) in requests {
            for moment in MOMENTS {
                let is_passed_on = path == CHAT && body["tools"] == json!([]);
                if is_passed_on && moment == Moment::Correction {
                    continue;
                }
                let (script, receive) = waits(moment);
                let first = (moment == Moment::Correction).then(|| streams(invalid));
                let scripts = first.into_iter().chain([script]).collect();
                let (server, _upstream) =
                    start(scripts, |settings| settings.mode = Some(Mode::Natural));
                let connection =
                    client::open(server.address(), "POST", path, "", &body.to_string());
                assert!(receive.recv_timeout(TEST_TIMEOUT).unwrap());
                let left = Instant::now();
                drop(connection);
                let is_closed = receive.recv_timeout(TEST_TIMEOUT);
                assert_eq!(is_closed, Ok(true), "{path}, {moment:?}");
                assert!(left.elapsed() < AT_ONCE, "{path}, {moment:?}: {:?}", left.elapsed());
                let is_over = || client::get(server.address(), "/metrics").text();
                client::eventually(|| is_over().contains("in_flight 0"));
            }
        }
    }
}
