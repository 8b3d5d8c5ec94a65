//! Replies of `benches/replies.py` and `benches/attacks.py`, from the same data.

use serde::Deserialize;
use serde_json::{Map, Value};

const TOKEN_CHARS: usize = 4;

/// Cut a text into tokens of four characters.
pub(crate) fn cut(text: &str) -> Vec<&str> {
    let mut starts: Vec<usize> =
        text.char_indices().step_by(TOKEN_CHARS).map(|(at, _)| at).collect();
    starts.push(text.len());
    starts.windows(2).map(|edge| &text[edge[0]..edge[1]]).collect()
}

/// Data from which ordinary replies are built.
#[derive(Debug, Deserialize)]
pub(crate) struct Replies {
    tools: Map<String, Value>,
    prose: String,
    code: String,
    row: String,
}

impl Replies {
    pub(crate) fn load() -> Self {
        serde_json::from_str(include_str!("../replies.json")).unwrap()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// Return single calls: size, text of the call, and its payload.
    pub(crate) fn calls(&self) -> Vec<(&'static str, String, String)> {
        let small = r#"{"location": "Oslo", "unit": "celsius"}"#.to_owned();
        [
            ("small", "GetWeather", small),
            ("string 10 KB", "WriteFile", self.string(10_000)),
            ("array 10 KB", "Report", self.array(10_000)),
            ("array 100 KB", "Report", self.array(100_000)),
        ]
        .into_iter()
        .map(|(size, name, payload)| (size, call(name, &payload), payload))
        .collect()
    }

    /// Return all ordinary replies: case, size and text.
    pub(crate) fn all(&self) -> Vec<(&'static str, &'static str, String)> {
        let mut all = Vec::new();
        for (size, tokens) in [("1k", 1_000), ("10k", 10_000), ("100k", 100_000), ("1M", 1_000_000)]
        {
            all.push(("text", size, repeated(&self.prose, tokens * TOKEN_CHARS, 0)));
            all.push(("mixed", size, self.mixed(tokens)));
        }
        for (size, chars) in [("10 KB", 10_000), ("100 KB", 100_000), ("1 MB", 1_000_000)] {
            let string = call("WriteFile", &self.string(chars));
            all.push(("string", size, format!("I'll write the file.\n\n{string}")));
            let array = call("Report", &self.array(chars));
            all.push(("array", size, format!("Here is the report.\n\n{array}")));
        }
        all
    }

    fn mixed(&self, tokens: usize) -> String {
        let cities = ["Oslo", "Lima", "Rome", "Tokyo"];
        let mut text = String::new();
        let mut number = 0;
        while text.len() < tokens * TOKEN_CHARS {
            text.push_str(&repeated(&self.prose, 880, 880 * number));
            text.push_str("\n\n");
            let city = cities[number % cities.len()];
            let payload = format!(r#"{{"location": "{city}", "unit": "celsius"}}"#);
            text.push_str(&call("GetWeather", &payload));
            number += 1;
        }
        text
    }

    fn string(&self, chars: usize) -> String {
        let content = Value::from(repeated(&self.code, chars, 0));
        format!(r#"{{"path": "src/main.py", "content": {content}}}"#)
    }

    fn array(&self, chars: usize) -> String {
        let rows: Vec<_> = (0..chars / self.row.len())
            .map(|number| self.row.replace("{n}", &number.to_string()))
            .collect();
        format!(r#"{{"rows": [{}]}}"#, rows.join(", "))
    }
}

/// Return a call as a well-behaved model writes it.
fn call(name: &str, payload: &str) -> String {
    format!("<{name}>\n```json\n{payload}\n```\n</{name}>\n")
}

/// Repeat a text, from a position on, for `chars` characters.
fn repeated(text: &str, chars: usize, start: usize) -> String {
    text.chars().cycle().skip(start % text.chars().count()).take(chars).collect()
}

/// Hostile reply of any length.
#[derive(Debug, Deserialize)]
pub(crate) struct Attack {
    pub(crate) name: String,
    /// True if it arrives in a single chunk.
    #[serde(default)]
    pub(crate) whole: bool,
    repeat: String,
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
}

impl Attack {
    pub(crate) fn all() -> Vec<Self> {
        serde_json::from_str(include_str!("../attacks.json")).unwrap()
    }

    /// Return the reply with about `chars` characters.
    pub(crate) fn text(&self, chars: usize) -> String {
        let times = chars / self.repeat.chars().count();
        [&*self.before, &self.repeat.repeat(times), &self.after].concat()
    }
}
