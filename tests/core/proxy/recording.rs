//! Replies in the file of `--record`.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};
use toolweave::proxy::{Mode, Settings};

use super::{
    CALL_TEXT, ask, completes, natural, request, responds, start, streams, streams_in_pieces,
};

/// A file that is removed at the end of a test.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str) -> Self {
        let name = format!("toolweave-{name}-{}.jsonl", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.0).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn replies_are_recorded_as_they_were_sent() {
    let file = TemporaryFile::new("recorded");
    let replies = [
        format!("<think>Hm.</think>\nLet me see.\n{CALL_TEXT} </orphan>"),
        "<get_weather>{city: 'Oslo'".to_owned(),
        "<tool_response name=\"get_weather\">sun</tool_response> \u{e9}\u{1f600}".to_owned(),
        "```json\n<get_weather>{}</get_weather>\n```".to_owned(),
        "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"
            .to_owned(),
    ];
    for size in [1, 5, 1000] {
        let scripts = replies.iter().map(|reply| streams_in_pieces(reply, size)).collect();
        let (server, _upstream) = start(scripts, |settings: &mut Settings| {
            natural(settings);
            settings.retries = 0;
            settings.record = Some(file.0.clone());
        });
        for _ in &replies {
            ask(&server, json!({"stream": true}));
        }
    }
    let lines = file.lines();
    assert_eq!(lines.len(), 3 * replies.len());
    for (line, reply) in lines.iter().zip(replies.iter().cycle()) {
        assert_eq!(line["text"], *reply);
        assert_eq!((&line["way"], &line["mode"]), (&json!("natural"), &json!("natural")));
        assert_eq!((&line["model"], &line["finish"].is_string()), (&json!("acme-1"), &true));
        assert_eq!(line["tools"], request(json!({}))["tools"]);
        assert_eq!((&line["prompt_tokens"], &line["completion_tokens"]), (&json!(10), &json!(5)));
    }
}

#[test]
fn native_calls_corrections_and_failures_are_recorded() {
    let file = TemporaryFile::new("native");
    let call = json!({
        "id": "n0", "type": "function", "function": {"name": "get_weather", "arguments": "{}"},
    });
    let message = json!({"role": "assistant", "content": "Look.", "tool_calls": [call]});
    let error = "{\"error\": {\"message\": \"wrong key sk-upstream-key\"}}";
    let fails = responds("401 Unauthorized", "content-type: application/json\r\n", error);
    let (server, _upstream) =
        start(vec![completes(&message), streams(CALL_TEXT), fails], |settings| {
            settings.mode = Some(Mode::Recover);
            settings.record = Some(file.0.clone());
        });
    ask(&server, json!({}));
    ask(&server, json!({"stream": true}));
    let lines = file.lines();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0]["text"], "Look.");
    let expected = json!([{"id": "n0", "name": "get_weather", "arguments": "{}"}]);
    assert_eq!(lines[0]["native_calls"], expected);
    assert_eq!(lines[0]["way"], "native");
    assert_eq!(lines[1]["case"], format!("{}.1", lines[0]["case"].as_str().unwrap()));
    assert_eq!(lines[1]["text"], CALL_TEXT);
    assert!(lines[2]["error"].as_str().unwrap().contains("wrong key"));
    assert!(!fs::read_to_string(&file.0).unwrap().contains("upstream-key"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_cannot_be_written_ends_no_reply() {
    let (server, _upstream) = start(vec![streams(CALL_TEXT)], |settings| {
        natural(settings);
        settings.record = Some("/dev/full".into());
    });
    for _ in 0..2 {
        assert_eq!(ask(&server, json!({"stream": true})).reply().1.len(), 1);
    }
}

#[test]
fn a_file_that_cannot_be_opened_is_an_error_at_the_start() {
    let mut settings = Settings::new("http://127.0.0.1:1/v1".parse().unwrap());
    settings.record = Some("/nowhere/replies.jsonl".into());
    let error = toolweave::proxy::Server::start(settings).unwrap_err().to_string();
    assert!(error.contains("cannot record replies in \"/nowhere/replies.jsonl\""), "{error}");
}
