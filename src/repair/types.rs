//! The types of JSON Schema.

use serde_json::{Number, Value};

/// Return true if `value` has the JSON Schema type `name`.
pub(super) fn is_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_number().is_some_and(is_whole),
        _ => false,
    }
}

fn is_whole(number: &Number) -> bool {
    let written = number.as_str();
    whole_digits(written).is_some()
        || (written.contains(['e', 'E'])
            && number.as_f64().is_some_and(|value| value.fract() == 0.0))
}

/// Return the digits of a number without a fraction: `4` for `4.0`. Exponents are not evaluated.
pub(super) fn whole_digits(written: &str) -> Option<&str> {
    let (digits, fraction) = written.split_once('.').unwrap_or((written, ""));
    let plain =
        digits.strip_prefix('-').unwrap_or(digits).bytes().all(|byte| byte.is_ascii_digit());
    (plain && fraction.bytes().all(|byte| byte == b'0')).then_some(digits)
}
