//! The names of tools that a dialect can write.

/// Return `name` as calls in the dialect refer to it; `None` if they cannot.
pub(in crate::parser) fn written<'n>(dialect: &str, name: &'n str) -> Option<&'n str> {
    let is_python =
        |name: &str| name.split('.').all(|part| !part.is_empty() && part.chars().all(is_word));
    match dialect {
        "pythonic" | "lfm2" => {
            (is_python(name) && !name.starts_with(|ch: char| ch.is_ascii_digit())).then_some(name)
        }
        // The name ends with a brace or a parenthesis.
        "gemma4" | "functiongemma" => (!name.contains(['{', '}', '(', ')'])).then_some(name),
        // The name is what follows the last colon, or stands before it.
        "kimi_k2" => (!name.contains(['{', '}', ':', '|']))
            .then(|| name.strip_prefix("functions.").unwrap_or(name)),
        "harmony" => (!name.contains(['{', '}', '|']))
            .then(|| name.strip_prefix("functions.").unwrap_or(name)),
        "mistral_v11" => (!name.contains(['{', '[', ']'])).then_some(name),
        "deepseek_v3" | "deepseek_v31" => (!name.contains(['{', '}', '\u{ff5c}'])).then_some(name),
        _ => Some(name),
    }
}

fn is_word(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_'
}
