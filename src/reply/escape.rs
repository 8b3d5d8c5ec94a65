//! Boundaries at which the text of arguments can be cut without cutting an escape.

use crate::parser::work;

/// Length of the longest incomplete escape, `\ud83d\u000`, in bytes.
const MAX_PARTIAL_ESCAPE: usize = 11;

/// Return the length of `text` without an incomplete escape at its end.
///
/// The high half of a surrogate pair is incomplete without the low one. `text` begins outside of an
/// escape.
pub(super) fn complete_prefix(text: &str) -> usize {
    let bytes = text.as_bytes();
    let from = bytes.len().saturating_sub(MAX_PARTIAL_ESCAPE);
    let half = |at: &usize| {
        bytes[*at] == b'\\' && starts_escape(bytes, *at) && is_incomplete(&bytes[at + 1..])
    };
    (from..bytes.len()).find(half).unwrap_or(bytes.len())
}

/// Return true if the backslash at `at` begins an escape: it is not the second one of a pair.
fn starts_escape(bytes: &[u8], at: usize) -> bool {
    let slashes = bytes[..at].iter().rev().take_while(|&&byte| byte == b'\\').count();
    work::count(slashes + 1);
    slashes.is_multiple_of(2)
}

/// Return true if the escape with this text after its backslash is incomplete.
fn is_incomplete(rest: &[u8]) -> bool {
    match rest {
        [] => true,
        [b'u', digits @ ..] if digits.len() < 4 => are_digits(digits),
        [b'u', digits @ ..] => {
            let (first, second) = digits.split_at(4);
            let high = matches!(first, [b'd' | b'D', b'8' | b'9' | b'a' | b'b' | b'A' | b'B', ..]);
            let continues = match second {
                [] | [b'\\'] => true,
                [b'\\', b'u', digits @ ..] => digits.len() < 4 && are_digits(digits),
                _ => false,
            };
            high && are_digits(first) && continues
        }
        _ => false,
    }
}

fn are_digits(bytes: &[u8]) -> bool {
    bytes.iter().all(u8::is_ascii_hexdigit)
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
