//! A look at the next bytes for one of several short texts.

use super::step::Input;
use crate::parser::work;

/// The result of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead<T> {
    /// A text, up to `end`.
    Found { text: T, end: usize },
    /// The input ends within one of the texts.
    More,
    /// None of the texts.
    None,
}

/// Look at `at` for one of these texts, each in parts, of which none begins with another.
pub(super) fn ahead<'p, T, const N: usize>(
    input: Input<'_>,
    at: usize,
    texts: impl IntoIterator<Item = (T, [&'p [u8]; N])>,
) -> Ahead<T> {
    let bytes = input.from(at);
    let mut more = false;
    for (text, parts) in texts {
        match starts(bytes, &parts) {
            Some(true) => {
                let end = at + parts.iter().map(|part| part.len()).sum::<usize>();
                work::count(end - at);
                return Ahead::Found { text, end };
            }
            Some(false) => {}
            None => more = true,
        }
    }
    if more && input.ending.is_none() { Ahead::More } else { Ahead::None }
}

/// Return true if `bytes` begin with the parts, one after another; `None` if they end too early.
pub(super) fn starts(mut bytes: &[u8], parts: &[&[u8]]) -> Option<bool> {
    for part in parts {
        if let Some(rest) = bytes.strip_prefix(*part) {
            bytes = rest;
        } else if part.starts_with(bytes) {
            return None;
        } else {
            return Some(false);
        }
    }
    Some(true)
}

/// Return the number of bytes at the start that fulfil a condition.
pub(super) fn count(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|&&byte| is(byte)).count()
}
