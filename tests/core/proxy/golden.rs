//! Golden cases of the APIs: requests to the upstream's, and parts of replies to bodies.

use serde_json::{Value, json};
use toolweave::{
    message::{FinishReason, UsageUpdate},
    parser::Dialect,
    proxy::{
        ApiError, Call, ChatRequest, Choice, Mode, Notice, Part, ReplyWriter,
        chat::{self, ChatBody, ReplyHead},
        messages, responses, upstream_body,
    },
};

use crate::golden::cases;

fn error(error: &ApiError) -> Value {
    json!({"status": error.status, "param": error.param, "message": error.message})
}

fn summary(request: &ChatRequest) -> Value {
    let names: Vec<_> = request.contracts.iter().map(|tool| tool.name.as_str()).collect();
    json!({
        "model": request.model,
        "tools": names,
        "required": request.choice == Choice::Required,
        "parallel": request.parallel,
        "stream": request.stream,
        "include_usage": request.include_usage,
    })
}

/// Check the cases of a file, each of which has a request and what is expected of it.
fn check_requests(file: &str, read: impl Fn(&Value, String) -> Value) {
    for case in cases(file) {
        let found = read(&case, case["request"].to_string());
        assert_eq!(found, case["expected"], "{file}, {}\n{found}", case["name"]);
    }
}

#[test]
fn requests_for_chat_completions_are_read_as_in_the_cases() {
    check_requests("proxy/chat_requests.json", |case, body| {
        match chat::read(body.clone().into()) {
            Ok(ChatBody::Tools(request)) => {
                let mut found = json!({"read": summary(&request)});
                if request.aliases.is_empty() {
                    assert_eq!(request.native, body);
                } else {
                    found["native"] = serde_json::from_slice(&request.native).unwrap();
                }
                if let Some(dialect) = case["dialect"].as_str() {
                    let dialect = Dialect::named(dialect).unwrap();
                    found["natural"] = match upstream_body(&request, Mode::Natural, dialect) {
                        Ok(body) => serde_json::from_slice(&body).unwrap(),
                        Err(err) => json!({"error": error(&err)}),
                    };
                }
                found
            }
            Ok(ChatBody::Plain { is_native, .. }) => json!({"plain": {"is_native": is_native}}),
            Err(err) => json!({"error": error(&err)}),
        }
    });
}

/// Return what the request of another API was read as.
fn converted(read: Result<ChatRequest, ApiError>) -> Value {
    match read {
        Ok(request) => {
            let body: Value = serde_json::from_slice(&request.native).unwrap();
            assert_eq!(json!(request.body), body);
            request.conversation().unwrap();
            json!({"read": summary(&request), "body": body})
        }
        Err(err) => json!({"error": error(&err)}),
    }
}

#[test]
fn requests_for_messages_are_read_as_in_the_cases() {
    let read = |_: &Value, body: String| converted(messages::read(&body.into()));
    check_requests("proxy/messages_requests.json", read);
}

#[test]
fn requests_for_responses_are_read_as_in_the_cases() {
    let read = |_: &Value, body: String| converted(responses::read(&body.into()));
    check_requests("proxy/responses_requests.json", read);
}

/// A part of a case, with the notice that it borrows.
struct CasePart {
    part: Value,
    notice: Option<Notice>,
}

impl CasePart {
    fn new(part: &Value) -> Self {
        let text = |name: &str| part[name].as_str().unwrap_or_default().to_owned();
        let notice = match part["notice"].as_str() {
            Some("omitted") => Some(Notice::OmittedToolCall { name: text("name") }),
            Some("missing") => Some(Notice::MissingToolCall { message: text("message") }),
            Some("fabricated") => Some(Notice::FabricatedResult { name: None }),
            _ => None,
        };
        Self { part: part.clone(), notice }
    }

    fn part(&self) -> Part<'_> {
        if let Some(notice) = &self.notice {
            return Part::Notice(notice);
        }
        let (name, value) = self.part.as_object().unwrap().iter().next().unwrap();
        match name.as_str() {
            "text" => Part::Text(value.as_str().unwrap()),
            "reasoning" => Part::Reasoning(value.as_str().unwrap()),
            "call" => Part::Call(Call {
                index: index(value),
                id: value["id"].as_str().unwrap(),
                name: value["name"].as_str().unwrap(),
                arguments: value["arguments"].as_str().unwrap(),
            }),
            "start" => Part::CallStart {
                index: index(value),
                id: value["id"].as_str().unwrap(),
                name: value["name"].as_str().unwrap(),
            },
            "delta" => Part::CallDelta {
                index: index(value),
                fragment: value["fragment"].as_str().unwrap(),
            },
            "end" => Part::CallEnd { index: index(value), is_complete: value["complete"] == true },
            "finish" => Part::Finish {
                reason: FinishReason::from_wire(value.as_str().unwrap()).unwrap(),
                usage: self.part["usage"].as_array().map(|counts| {
                    let count = |index: usize| counts[index].as_u64().unwrap();
                    UsageUpdate {
                        input_tokens: count(0),
                        output_tokens: count(1),
                        cached_input_tokens: count(2),
                        reasoning_tokens: counts.get(3).and_then(Value::as_u64).unwrap_or(0),
                    }
                }),
            },
            other => panic!("{other}"),
        }
    }
}

fn index(part: &Value) -> usize {
    usize::try_from(part["index"].as_u64().unwrap()).unwrap()
}

fn write(mut writer: impl ReplyWriter, parts: &Value) -> String {
    let mut out = Vec::new();
    for part in parts.as_array().unwrap() {
        writer.write(CasePart::new(part).part(), &mut out);
    }
    String::from_utf8(out).unwrap()
}

/// Check the cases of a file, each of which has the parts of a reply, and its two forms; documents
/// have no calls that are streamed as they are written.
fn check_replies<S: ReplyWriter, D: ReplyWriter>(
    file: &str,
    stream: impl Fn(&Value) -> S,
    document: impl Fn() -> D,
) {
    for case in cases(file) {
        let text = write(stream(&case), &case["parts"]);
        let events: Vec<&str> = text.split_terminator("\n\n").collect();
        assert_eq!(json!(events), case["events"], "{file}, {}\n{:#}", case["name"], json!(events));
        if case.get("document").is_none() {
            continue;
        }
        let document: Value = serde_json::from_str(&write(document(), &case["parts"])).unwrap();
        assert_eq!(document, case["document"], "{file}, {}\n{document:#}", case["name"]);
    }
}

fn head(id: &str) -> ReplyHead {
    ReplyHead { id: id.into(), created: 7, model: "m".into() }
}

#[test]
fn chat_completions_are_written_as_in_the_cases() {
    let stream =
        |case: &Value| chat::StreamWriter::new(&head("chatcmpl-1"), case["include_usage"] == true);
    let document = || chat::DocumentWriter::new(head("chatcmpl-1"));
    check_replies("proxy/chat_replies.json", stream, document);
}

#[test]
fn messages_are_written_as_in_the_cases() {
    let stream = |_: &Value| messages::StreamWriter::new("msg_1".into(), "m".into());
    let document = || messages::DocumentWriter::new("msg_1".into(), "m".into());
    check_replies("proxy/messages_replies.json", stream, document);
}

#[test]
fn responses_are_written_as_in_the_cases() {
    let stream = |_: &Value| responses::StreamWriter::new(head("resp_1"));
    let document = || responses::DocumentWriter::new(head("resp_1"));
    check_replies("proxy/responses_replies.json", stream, document);
}
