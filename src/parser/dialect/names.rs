//! The names of tools that a dialect can write.

/// Return `name` as calls in the dialect refer to it; `None` if they cannot.
pub(in crate::parser) fn written<'n>(dialect: &str, name: &'n str) -> Option<&'n str> {
    let is_python =
        |name: &str| name.split('.').all(|part| !part.is_empty() && part.chars().all(is_word));
    let is_plain = name.bytes().all(is_name_byte);
    match dialect {
        "pythonic" | "lfm2" => {
            (is_python(name) && !name.starts_with(|ch: char| ch.is_ascii_digit())).then_some(name)
        }
        "gemma4" | "functiongemma" | "hunyuan" | "mistral_v11" => is_plain.then_some(name),
        "glm45" | "glm47" => {
            (is_plain && name.bytes().next().is_some_and(begins_name)).then_some(name)
        }
        // The name is what follows the last colon, or stands before it.
        "kimi_k2" => (is_plain && !name.contains(':'))
            .then(|| name.strip_prefix("functions.").unwrap_or(name)),
        "harmony" => (!name.contains(['{', '}', '|']))
            .then(|| name.strip_prefix("functions.").unwrap_or(name)),
        "deepseek_v3" | "deepseek_v31" => (is_plain && !name.contains('\u{ff5c}')).then_some(name),
        _ => Some(name),
    }
}

/// Return true if the name of a tool may contain the byte where neither a quote nor a tag encloses
/// it.
pub(in crate::parser) fn is_name_byte(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b':' | b'/')
}

/// Return true if such a name may begin with the byte, where only that shows that it is one.
pub(in crate::parser) fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn is_word(ch: char) -> bool {
    ch.is_alphanumeric() || ch == '_'
}

/// Return true if calls in the dialect can name a parameter in this way.
pub(in crate::parser) fn is_parameter(dialect: &str, name: &str) -> bool {
    let has = |chars: &[char]| name.contains(chars) || name.chars().any(char::is_control);
    let is_trimmed = !name.is_empty() && name.trim() == name;
    match dialect {
        "pythonic" | "lfm2" => {
            let starts = |ch: char| ch.is_alphabetic() || ch == '_';
            name.starts_with(starts) && name.chars().all(is_word)
        }
        // A key ends with a colon or, as some models write it, an equals sign.
        "gemma4" | "functiongemma" => {
            let structure = ['{', '}', '[', ']', '(', ')', '<', '>', ':', ',', '=', '"', '\''];
            is_trimmed && !has(&structure)
        }
        // A tag, an attribute, or the text of a tag.
        "qwen3_coder" | "seed_oss" | "glm45" | "glm47" | "hunyuan" | "deepseek_v32"
        | "minimax_m2" | "minimax_m3" | "anthropic_xml" | "kimi_k3" => {
            is_trimmed && !has(&['<', '>', '"', '\'', '&', '='])
        }
        _ => true,
    }
}
