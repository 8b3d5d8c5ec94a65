//! The choices that led to a sample, and the next ones to try.

/// A path through all samples of a schema. Each [`advance`](Choices::advance) leads to one that
/// was not seen before, so that a search over them ends.
#[derive(Debug, Default)]
pub(super) struct Choices {
    choices: Vec<Choice>,
    next: usize,
}

#[derive(Debug)]
struct Choice {
    selected: usize,
    options: usize,
    /// The place in the sample that it is about, as a JSON Pointer.
    path: String,
}

impl Choice {
    fn is_open(&self) -> bool {
        self.selected + 1 < self.options
    }
}

impl Choices {
    /// Goes back to the first choice; those made are made again the same way.
    pub(super) fn rewind(&mut self) {
        self.next = 0;
    }

    /// One of `options`, counted from zero.
    pub(super) fn choose(&mut self, options: usize, path: &str) -> usize {
        if options <= 1 {
            return 0;
        }
        let at = self.next;
        self.next += 1;
        if let Some(choice) = self.choices.get(at) {
            return choice.selected;
        }
        self.choices.push(Choice { selected: 0, options, path: path.to_owned() });
        0
    }

    /// Takes the next option of the last open choice about one of the `failing` places; if there
    /// is none, of the last open one. False when every choice is exhausted.
    pub(super) fn advance(&mut self, failing: &[String]) -> bool {
        self.choices.truncate(self.next);
        let open = || self.choices.iter().enumerate().rev().filter(|(_, choice)| choice.is_open());
        let about = |wanted: fn(&str, &str) -> bool| {
            open().find(|(_, choice)| failing.iter().any(|place| wanted(place, &choice.path)))
        };
        let chosen = about(|place, path| place == path)
            .or_else(|| about(|place, path| is_inside(path, place)))
            .or_else(|| about(is_inside))
            .or_else(|| open().next());
        let Some((at, _)) = chosen else { return false };
        self.choices.truncate(at + 1);
        if let Some(choice) = self.choices.last_mut() {
            choice.selected += 1;
        }
        true
    }
}

/// Whether the JSON Pointer `inner` leads into what `outer` points to.
fn is_inside(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}
