//! Words of a text.

/// Return the words of a text, as the index defines them.
///
/// Words are split at punctuation, digits and changes of case. Parts that are separated only by
/// digits or case also count in pairs and as a whole: `GitHub` is *git*, *hub* and *github*. Case
/// is ignored, and so is a final *s*. In scripts without spaces between words, such as Chinese and
/// Japanese, each character counts, and each pair of adjacent characters.
///
/// ```
/// # use toolweave::search::words;
/// assert_eq!(words("Send_mails2"), ["send", "mail", "2", "mails2"]);
/// ```
pub fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for run in text.split(|ch: char| !ch.is_alphanumeric()).filter(|run| !run.is_empty()) {
        let parts = parts(run);
        words.extend(parts.iter().map(|part| stem(part)));
        words.extend(parts.windows(2).map(|pair| stem(&pair.concat())));
        if parts.len() > 2 && !run.contains(is_unspaced) {
            words.push(stem(run));
        }
    }
    words
}

/// The class of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Digit,
    Upper,
    Letter,
    Unspaced,
}

fn kind(ch: char) -> Kind {
    if ch.is_numeric() {
        Kind::Digit
    } else if is_unspaced(ch) {
        Kind::Unspaced
    } else if ch.is_uppercase() {
        Kind::Upper
    } else {
        Kind::Letter
    }
}

/// Return true if a character belongs to a script without spaces: Han, Kana, Thai, Lao, Myanmar and
/// Khmer.
fn is_unspaced(ch: char) -> bool {
    matches!(ch,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{2fdf}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Split a run of letters and digits.
fn parts(run: &str) -> Vec<&str> {
    let characters: Vec<(usize, Kind)> =
        run.char_indices().map(|(at, ch)| (at, kind(ch))).collect();
    let mut parts = Vec::new();
    let mut start = 0;
    for (number, pair) in characters.windows(2).enumerate() {
        let [(_, before), (at, after)] = [pair[0], pair[1]];
        let next = characters.get(number + 2).map(|(_, kind)| *kind);
        let is_edge = match (before, after) {
            // `HTTPServer`: the last capital begins the next word.
            (Kind::Upper, Kind::Upper) => next == Some(Kind::Letter),
            (Kind::Upper, Kind::Letter) => false,
            (Kind::Unspaced, Kind::Unspaced) => true,
            _ => before != after,
        };
        if is_edge {
            parts.push(&run[start..at]);
            start = at;
        }
    }
    parts.push(&run[start..]);
    parts
}

/// Return a word in lower case, without a plural *s*.
fn stem(word: &str) -> String {
    let mut word = if word.is_ascii() {
        word.to_ascii_lowercase()
    } else {
        // To upper case and back, as in full case folding: `ß` and `ẞ` become `ss`, and `ς` becomes
        // `σ`.
        let lower = word.chars().flat_map(char::to_lowercase);
        lower.flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
    };
    let is_plural = word.ends_with('s') && !word.ends_with("ss") && word.chars().count() > 3;
    if is_plural {
        word.pop();
    }
    word
}
