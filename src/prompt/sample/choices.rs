//! The choices that led to a sample, with backtracking.

/// A path through all samples of a schema. Each [`advance`](Choices::advance) leads to a new one,
/// so the search terminates.
#[derive(Debug, Default)]
pub(super) struct Choices {
    choices: Vec<Choice>,
    next: usize,
}

#[derive(Debug)]
struct Choice {
    selected: usize,
    options: usize,
    /// The location in the sample that the choice affects, as a JSON Pointer.
    path: String,
}

impl Choice {
    fn is_open(&self) -> bool {
        self.selected + 1 < self.options
    }
}

impl Choices {
    /// Choose one of `options`, counted from zero.
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

    /// Take the next option of the last open choice that affects one of the failing locations or,
    /// if there is none, of the last open choice, and go back to the first choice: those already
    /// made are repeated. Return false if all choices are exhausted.
    pub(super) fn advance(&mut self, failing: &[String]) -> bool {
        self.choices.truncate(std::mem::take(&mut self.next));
        let open = || self.choices.iter().enumerate().rev().filter(|(_, choice)| choice.is_open());
        let about = |is_related: fn(&str, &str) -> bool| {
            open().find(|(_, choice)| failing.iter().any(|place| is_related(place, &choice.path)))
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

/// Return true if the JSON Pointer `inner` points into the target of `outer`.
fn is_inside(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('/'))
}
