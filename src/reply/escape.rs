//! Boundaries at which the text of arguments can be cut without cutting an escape.

use memchr::memchr;

use crate::parser::{Escape, EscapeStep, Faults, work};

/// Return the length of `text` without an incomplete escape at its end.
///
/// The high half of a surrogate pair is incomplete without the low one. `text` begins outside of an
/// escape.
pub(super) fn complete_prefix(text: &str) -> usize {
    let bytes = text.as_bytes();
    work::count(bytes.len() + 1);
    let mut at = 0;
    while let Some(found) = memchr(b'\\', &bytes[at..]) {
        let mut escape = Escape::new(at + found);
        at += found + 1;
        loop {
            let Some(&byte) = bytes.get(at) else { return escape.start };
            let step = escape.take(byte, at, &mut Faults::default());
            at += usize::from(step != EscapeStep::DoneBefore);
            if step != EscapeStep::More {
                break;
            }
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_escape_that_is_not_whole_is_held_back() {
        for (text, held) in [
            ("", ""),
            ("plain", ""),
            ("a\\n", ""),
            ("a\\", "\\"),
            ("a\\\\", ""),
            ("a\\\\\\", "\\"),
            ("\\u", "\\u"),
            ("\\u00e", "\\u00e"),
            ("\\u00e9", ""),
            ("\\\\u00e", ""),
            ("\\ud83d", "\\ud83d"),
            ("\\uD83D", "\\uD83D"),
            ("\\ud83d\\", "\\ud83d\\"),
            ("\\ud83d\\u", "\\ud83d\\u"),
            ("\\ud83d\\ude0", "\\ud83d\\ude0"),
            ("\\ud83d\\ude00", ""),
            ("\\ud83d\\ud83d", "\\ud83d"),
            ("\\ud83d\\n", ""),
            ("\\ud83dx", ""),
            ("\\ude00", ""),
            ("\\u00zz", ""),
            ("é\\u12", "\\u12"),
        ] {
            assert_eq!(&text[complete_prefix(text)..], held, "{text}");
        }
    }
}
