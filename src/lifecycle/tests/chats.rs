//! Generators for random chats, and for JSON that resembles events.

use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

use crate::lifecycle::StreamEvent;

/// The start time of the tests, in milliseconds since 1970.
pub(super) const START: u64 = 1_790_000_000_000;

/// Create an object without its null members.
fn object(members: Value) -> Value {
    let Value::Object(members) = members else { return members };
    Value::Object(members.into_iter().filter(|(_, value)| !value.is_null()).collect())
}

fn id() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "call_0", "😀"])
}

fn reply() -> impl Strategy<Value = &'static str> {
    select(vec!["g", "h"])
}

fn text() -> impl Strategy<Value = String> {
    select(vec!["", " ", "x", "yz", "{}", "ß\u{301}", "😀"]).prop_map(str::to_owned)
}

fn call() -> impl Strategy<Value = Value> {
    let invalid = Just(json!({"reason": "schema_violation", "message": "no"}));
    (id(), 0..3_u8, option::weighted(0.2, invalid), any::<bool>()).prop_map(
        |(id, index, invalid, bare)| {
            let bare = bare && invalid.is_some();
            object(json!({
                "toolCallId": id,
                "name": format!("tool_{id}"),
                "arguments": if bare { Value::Null } else { json!({"i": index}) },
                "index": index,
                "invalid": invalid,
            }))
        },
    )
}

fn result(id: &str, text: &str, code: Option<&str>) -> Value {
    object(
        json!({"toolCallId": id, "name": "t", "result": text, "isError": code.is_some(), "errorCode": code}),
    )
}

fn code() -> impl Strategy<Value = Option<&'static str>> {
    option::weighted(0.3, select(vec!["denied", "interrupted", "timeout", "tool_error", "new"]))
}

/// Generate the fields of an event, without its number and time.
fn body() -> impl Strategy<Value = Value> {
    let texts = (select(vec!["text", "reasoning"]), reply(), 0..2_u8, text(), any::<bool>());
    let fragment = (option::of(id()), option::of(0..3_u8), option::of(text()), option::of(text()))
        .prop_map(|(id, index, name, args)| {
            object(json!({
                "toolCallId": id, "index": index, "functionName": name, "functionArgs": args,
            }))
        })
        .prop_filter("a fragment says something", |update| update != &json!({}));
    let finished = (id(), text(), code(), any::<bool>(), 0..3_u8, reply());
    let states = select(vec![
        "running",
        "awaiting_approval",
        "approved",
        "denied",
        "awaiting_answer",
        "deferred",
        "levitating",
    ]);
    prop_oneof![
        6 => texts.prop_map(|(kind, reply, part, delta, done)| json!({
            "kind": kind, "messageId": format!("{reply}.{part}"), "delta": delta, "done": done,
            "generationId": reply, "runId": format!("run_{reply}"),
        })),
        4 => (reply(), vec(fragment, 0..3)).prop_map(|(reply, updates)| json!({
            "kind": "tools_call_update", "messageId": format!("{reply}.calls"),
            "generationId": reply, "runId": format!("run_{reply}"), "toolCallUpdates": updates,
        })),
        4 => (reply(), vec(call(), 0..3)).prop_map(|(reply, calls)| json!({
            "kind": "tools_call", "messageId": format!("{reply}.calls"), "generationId": reply,
            "runId": format!("run_{reply}"), "toolCalls": calls,
        })),
        4 => finished.prop_map(|(id, text, code, done, owner, reply)| {
            let event = result(id, &text, code);
            let mut event = event.as_object().unwrap().clone();
            event.extend([("kind".to_owned(), "tool_result".into()), ("done".to_owned(), done.into())]);
            match owner {
                0 => event.insert("messageId".into(), format!("{reply}.calls_result_{id}").into()),
                1 => event.insert("generationId".into(), reply.into()),
                _ => None,
            };
            Value::Object(event)
        }),
        3 => (reply(), id(), states, option::of(text()), option::of(text())).prop_map(
            |(reply, id, state, key, decided_by)| object(json!({
                "kind": "tool_state", "messageId": format!("{reply}.calls"), "toolCallId": id,
                "state": state, "key": key, "decidedBy": decided_by,
            })),
        ),
        2 => (reply(), call(), option::of((text(), code()))).prop_map(|(reply, mut call, answer)| {
            call["arguments"] = json!({});
            let id = call["toolCallId"].as_str().unwrap().to_owned();
            let results: Vec<_> = answer.iter().map(|(text, code)| result(&id, text, *code)).collect();
            json!({
                "kind": "tools_aggregate", "messageId": format!("{reply}.calls"), "done": true,
                "runId": format!("run_{reply}"), "toolCalls": [call], "toolResults": results,
            })
        }),
        2 => (reply(), select(vec!["started", "finished"]), option::of(select(vec!["completed", "deferred"])))
            .prop_map(|(reply, status, reason)| object(json!({
                "kind": "run", "runId": format!("run_{reply}"), "status": status, "stopReason": reason,
            }))),
        1 => (reply(), 0..100_u64).prop_map(|(reply, tokens)| json!({
            "kind": "usage", "messageId": format!("{reply}.usage"), "inputTokens": tokens,
        })),
        1 => (option::of(reply()), text()).prop_map(|(reply, delta)| object(json!({
            "kind": "raw", "generationId": reply, "delta": delta,
        }))),
        1 => Just(json!({"kind": "error", "message": "no"})),
        1 => Just(json!({"kind": "scene", "step": {"status": "new", "a": [null]}})),
        1 => Just(json!({"kind": "selection", "ranking": [{"tool": "t", "score": 3}]})),
        1 => Just(json!({"kind": "hologram", "beams": [1, null]})),
    ]
}

/// Generate the events of a chat, numbered from 1.
pub(super) fn chat() -> impl Strategy<Value = Vec<StreamEvent>> {
    vec((body(), option::weighted(0.9, 0..1000_u64), option::weighted(0.1, Just("other"))), 0..40)
        .prop_map(|bodies| {
            let events = bodies.into_iter().enumerate().map(|(at, (mut event, time, chat))| {
                event["sequenceNumber"] = (at + 1).into();
                event["chatId"] = chat.unwrap_or("chat").into();
                if let Some(time) = time {
                    event["timestampUtc"] = (START + time).into();
                }
                StreamEvent::from_json_value(event).unwrap()
            });
            events.collect()
        })
}

/// Generate JSON that resembles an event.
pub(super) fn lookalike() -> impl Strategy<Value = Value> {
    let names = select(vec![
        "kind",
        "chatId",
        "sequenceNumber",
        "timestampUtc",
        "messageId",
        "runId",
        "generationId",
        "role",
        "fromAgent",
        "done",
        "metadata",
        "delta",
        "toolCallUpdates",
        "toolCalls",
        "toolResults",
        "toolCallId",
        "index",
        "functionName",
        "functionArgs",
        "name",
        "arguments",
        "invalid",
        "reason",
        "decidedBy",
        "message",
        "repairs",
        "path",
        "result",
        "isError",
        "errorCode",
        "duration",
        "inputTokens",
        "cost",
        "status",
        "state",
        "step",
        "ranking",
        "tool",
        "x",
    ]);
    let kinds = vec![
        "text",
        "tools_call_update",
        "tools_call",
        "tool_result",
        "tools_aggregate",
        "usage",
        "error",
        "run",
        "tool_state",
        "scene",
        "selection",
        "raw",
        "started",
        "assistant",
        "a",
    ];
    let leaf = prop_oneof![
        4 => select(kinds.clone()).prop_map(Value::from),
        1 => Just(Value::Null),
        1 => any::<bool>().prop_map(Value::from),
        1 => any::<u64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::Array),
            vec((names.clone(), inner), 0..8)
                .prop_map(|members| members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    });
    (value, option::weighted(0.8, select(kinds))).prop_map(|(mut value, kind)| {
        if let (Value::Object(members), Some(kind)) = (&mut value, kind) {
            members.insert("kind".to_owned(), kind.into());
        }
        value
    })
}
