//! Stream events: bytes are parsed or rejected with a location; snapshots depend neither on the
//! order nor on repetition nor on earlier snapshots; no text is lost, and calls of finished runs
//! have final states.

#![no_main]

use std::collections::{BTreeMap, HashMap};

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use toolweave::lifecycle::{CallState, EventBody, RunStatus, StreamEvent, StreamReducer};

const START: u64 = 1_790_000_000_000;

fuzz_target!(|data: &[u8]| {
    let events = match str::from_utf8(data) {
        Ok(text) if text.starts_with('{') => text.lines().filter_map(line).collect(),
        _ => chosen(data),
    };
    // In the order of arrival; of events with one number, only the first.
    let mut known = BTreeMap::new();
    for event in &events {
        if let Some(number) = event.head.sequence_number {
            known.entry(number).or_insert(event);
        }
    }
    let sorted: Vec<_> = known.values().copied().cloned().collect();
    let mut plain = reduce(&sorted, false);
    let mut shaken = reduce(&events, true);
    let expected = plain.snapshot(Some(START + 500));
    let mut found = shaken.snapshot(Some(START + 500));
    if found.problems.len() < 100 {
        found.problems.retain(|problem| problem.kind.as_str() != "conflict");
        assert_eq!(found, expected);
    }
    assert_eq!(shaken.messages(None), plain.messages(None));
    assert_eq!(shaken.missing(), plain.missing());
    assert!(expected.missing.len() <= 100 && expected.problems.len() <= 100);

    let mut texts: HashMap<(&str, &str), String> = HashMap::new();
    for event in sorted.iter().filter(|event| {
        let chat = event.head.chat_id.as_ref();
        chat.is_none() || chat == expected.chat_id.as_ref()
    }) {
        if let EventBody::Text(text) = &event.body {
            let id = event.head.message_id.as_deref().expect("texts have one");
            texts.entry((event.body.kind(), id)).or_default().push_str(&text.delta);
        }
    }
    for message in &expected.messages {
        if message.kind == "text" {
            let joined = &texts[&(&*message.kind, &*message.message_id)];
            assert_eq!(message.text.as_ref(), Some(joined));
        }
        let run = expected.runs.iter().find(|run| Some(&run.run_id) == message.run_id.as_ref());
        for call in message.tool_calls.iter().flatten() {
            let waits =
                matches!(call.state, CallState::AwaitingApproval | CallState::AwaitingAnswer);
            let deferred = call.state == CallState::Deferred;
            let over = run.is_some_and(|run| run.status == RunStatus::Finished);
            let resumes = run.is_some_and(|run| run.stop_reason.as_deref() == Some("deferred"));
            assert!(!over || call.state.is_final() || deferred || (waits && resumes), "{call:?}");
            assert!(call.progress.len() <= 20);
        }
    }
});

/// Parse the event on a line, and check that it round-trips.
fn line(text: &str) -> Option<StreamEvent> {
    let event = match StreamEvent::from_json(text) {
        Ok(event) => event,
        Err(err) => {
            assert!(err.to_string().starts_with("event"), "{err}");
            return None;
        }
    };
    assert_eq!(StreamEvent::from_json(&event.to_json()).as_ref(), Ok(&event), "{text}");
    Some(event)
}

fn reduce(events: &[StreamEvent], look: bool) -> StreamReducer {
    let mut reducer = StreamReducer::with_pending_timeout(Some(300));
    for (position, event) in events.iter().enumerate() {
        let known = reducer.push(event.clone());
        assert_eq!(known.is_err(), event.head.sequence_number.is_none());
        if look && position % 8 == 0 {
            reducer.snapshot(Some(START));
            reducer.messages(Some("run_g"));
        }
    }
    reducer
}

/// Generate related events.
fn chosen(data: &[u8]) -> Vec<StreamEvent> {
    let mut bytes = Unstructured::new(data);
    let mut events = Vec::new();
    while events.len() < 100 && !bytes.is_empty() {
        let Ok(mut event) = choose(&mut bytes) else { break };
        if let Some(members) = event.as_object_mut() {
            members.retain(|_, value| !value.is_null());
        }
        events.push(StreamEvent::from_json_value(event).expect("it is made by the rules"));
    }
    events
}

fn choose(bytes: &mut Unstructured<'_>) -> Result<Value> {
    let reply = *bytes.choose(&["g", "h"])?;
    let id = *bytes.choose(&["a", "b", "call_0", "😀"])?;
    let text = *bytes.choose(&["", " ", "x", "{", "}", "é😀"])?;
    let maybe = |bytes: &mut Unstructured<'_>, value: Value| -> Result<Value> {
        Ok(if bytes.ratio(1, 3)? { Value::Null } else { value })
    };
    let call = json!({"toolCallId": id, "name": text, "arguments": {}, "index": bytes.int_in_range(0..=2)?});
    let code = bytes.choose(&[None, None, Some("denied"), Some("timeout"), Some("new")])?;
    let result = json!({"toolCallId": id, "name": "t", "result": text, "errorCode": code});
    let calls = format!("{reply}.calls");
    let mut event = match bytes.int_in_range(0..=11)? {
        0 | 1 => {
            json!({"kind": "text", "messageId": reply, "delta": text, "done": bytes.ratio(1, 4)?})
        }
        2 => json!({"kind": "reasoning", "messageId": reply, "delta": text}),
        3 | 4 => {
            let index = bytes.int_in_range(0..=2)?;
            json!({"kind": "tools_call_update", "messageId": calls, "toolCallUpdates": [{
                "toolCallId": maybe(bytes, id.into())?, "index": maybe(bytes, index.into())?,
                "functionName": maybe(bytes, text.into())?, "functionArgs": maybe(bytes, text.into())?,
            }]})
        }
        5 => json!({"kind": "tools_call", "messageId": calls, "toolCalls": [call]}),
        6 => json!({
            "kind": "tools_aggregate", "messageId": calls, "done": true, "toolCalls": [call],
            "toolResults": if bytes.arbitrary()? { vec![result] } else { vec![] },
        }),
        7 | 8 => {
            let owner = maybe(bytes, format!("{calls}_result_{id}").into())?;
            json!({
                "kind": "tool_result", "messageId": owner, "toolCallId": id, "result": text,
                "done": bytes.ratio(2, 3)?, "errorCode": code,
            })
        }
        9 => json!({
            "kind": "tool_state", "messageId": calls, "toolCallId": id, "key": text,
            "state": bytes.choose(&["running", "awaiting_approval", "approved", "denied", "deferred", "new"])?,
        }),
        10 => json!({
            "kind": "run", "status": bytes.choose(&["started", "finished"])?,
            "stopReason": bytes.choose(&["completed", "deferred"])?,
        }),
        _ => json!({"kind": "new", "x": text}),
    };
    event["runId"] = format!("run_{reply}").into();
    event["sequenceNumber"] = bytes.int_in_range(1..=60)?.into();
    event["timestampUtc"] = (START + u64::from(bytes.arbitrary::<u8>()?)).into();
    event["generationId"] = maybe(bytes, reply.into())?;
    Ok(event)
}
