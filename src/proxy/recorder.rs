//! Replies as the upstream sent them, in a file that `toolweave eval --rescore` reads.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
    sync::{Mutex, PoisonError},
};

use serde_json::{Map, Value};

use super::settings::Settings;
use crate::endpoint::Secrets;

/// A file of replies, one JSON object a line. Only its owner can read it.
#[derive(Debug)]
pub(super) struct Recorder {
    file: Mutex<File>,
    secrets: Secrets,
}

impl Recorder {
    /// Open the file of the settings, if they name one. An incomplete last line is removed.
    pub(super) fn open(settings: &Settings) -> io::Result<Option<Self>> {
        let Some(path) = &settings.record else { return Ok(None) };
        let mut secrets = Secrets::default();
        for key in [&settings.upstream_key, &settings.api_key].into_iter().flatten() {
            secrets.add(key);
        }
        Ok(Some(Self { file: Mutex::new(private(path)?), secrets }))
    }

    /// Append a reply.
    ///
    /// # Errors
    /// Fails if the file cannot be written; it has no part of the reply then.
    pub(super) fn append(&self, mut reply: Map<String, Value>) -> io::Result<()> {
        reply.values_mut().for_each(|value| self.hide(value));
        let line = Value::Object(reply).to_string() + "\n";
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let end = file.metadata()?.len();
        file.write_all(line.as_bytes()).inspect_err(|_| {
            // Whoever reads the file tells an incomplete line from a complete one.
            let _ = file.set_len(end);
        })
    }

    /// Redact keys in all texts of a value.
    fn hide(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.secrets.hide(text).into_owned(),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.hide(member)),
            _ => {}
        }
    }
}

/// Open a file for appending that only its owner can read.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).read(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    // A pipe or a terminal has neither lines to keep nor permissions to change.
    if file.metadata()?.is_file() {
        #[cfg(unix)]
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
        let end = end_of_lines(&mut file)?;
        file.set_len(end)?;
    }
    Ok(file)
}

/// Return the length of a file up to its last line break.
fn end_of_lines(file: &mut File) -> io::Result<u64> {
    const BLOCK: u64 = 4096;
    let mut end = file.metadata()?.len();
    while end > 0 {
        let begin = end.saturating_sub(BLOCK);
        file.seek(SeekFrom::Start(begin))?;
        let mut block = Vec::new();
        Read::by_ref(file).take(end - begin).read_to_end(&mut block)?;
        if let Some(last) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + last as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn lines_are_appended_without_keys_after_the_last_complete_one() {
        let path = std::env::temp_dir().join(format!("toolweave-{}.jsonl", fastrand::u64(..)));
        let long = format!("{{\"text\":\"{}\"}}\n", "x".repeat(9000));
        fs::write(&path, format!("{long}{{\"incomplete{}", "y".repeat(5000))).unwrap();
        let mut settings = Settings::new("http://127.0.0.1:1/v1".parse().unwrap());
        settings.record = Some(path.clone());
        settings.api_key = Some("tw-client-key".to_owned());
        let recorder = Recorder::open(&settings).unwrap().unwrap();
        let reply =
            json!({"text": "my key is tw-client-key", "tools": [{"name": "tw-client-key"}]});
        recorder.append(reply.as_object().unwrap().clone()).unwrap();
        let written = fs::read_to_string(&path).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        fs::remove_file(&path).unwrap();
        let expected = "{\"text\":\"my key is [key]\",\"tools\":[{\"name\":\"[key]\"}]}\n";
        assert_eq!(written, long + expected);
    }
}
