//! Indented lines, as many as a prompt can bear.

/// How many lines one contract may take before its example.
const MAX_LINES: usize = 2000;

/// Markdown in the making.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    count: usize,
}

impl Lines {
    /// Adds a line, `indent` spaces in. Past the limit one line says that more is left out.
    pub(super) fn push(&mut self, indent: usize, line: &str) {
        self.count += 1;
        let line = match self.count {
            ..MAX_LINES => line,
            MAX_LINES => "(more is left out here)",
            _ => return,
        };
        self.text.extend(std::iter::repeat_n(' ', indent));
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a blank line, if the last one is not blank.
    pub(super) fn blank(&mut self) {
        if !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
