//! JSON numbers as decimal digits, without arithmetic on large numbers.

use std::{borrow::Cow, str::FromStr};

use serde_json::{Number, Value};

/// Number of characters up to which a number is cheap for all operations.
const SHORT: usize = 40;

/// A JSON number as `digits * 10^exponent`. The form is unique: the digits have no zeros at either
/// end, and zero has no digits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal<'a> {
    negative: bool,
    /// The first part of the digits; `tail` is the rest.
    head: &'a str,
    tail: &'a str,
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// Create the decimal of `text`, a JSON number.
    pub(super) fn of(text: &'a str) -> Self {
        let (negative, text) = text.strip_prefix('-').map_or((false, text), |text| (true, text));
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], exponent_of(&text[at + 1..])),
            None => (text, 0),
        };
        let (head, tail) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let significant = tail.trim_end_matches('0');
        let mut this = Self {
            negative,
            head: head.trim_start_matches('0'),
            tail: significant,
            exponent: exponent - signed(significant.len()),
        };
        if this.tail.is_empty() {
            let significant = this.head.trim_end_matches('0');
            this.exponent += signed(this.head.len() - significant.len());
            this.head = significant;
        }
        if this.head.is_empty() {
            this.tail = this.tail.trim_start_matches('0');
            if this.tail.is_empty() {
                this.negative = false;
                this.exponent = 0;
            }
        }
        this
    }

    fn count(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    fn digits(&self) -> impl Iterator<Item = u8> + 'a {
        self.head.bytes().chain(self.tail.bytes())
    }

    /// Return the number of digits before the point.
    fn whole(&self) -> usize {
        usize::try_from(signed(self.count()) + self.exponent).unwrap_or(0)
    }

    /// Return the number of digits after the point.
    fn decimals(&self) -> usize {
        usize::try_from(-self.exponent).unwrap_or(0)
    }

    /// Return true if there are no digits after the point.
    pub(super) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Append bytes that are equal for equal numbers only, and of which none is a prefix of
    /// another.
    pub(super) fn write_key(&self, key: &mut Vec<u8>) {
        key.push(u8::from(self.negative));
        key.extend(self.exponent.to_le_bytes());
        key.extend(self.head.as_bytes());
        key.extend(self.tail.as_bytes());
        key.push(b';');
    }

    /// Write the digits `from..to`, counted from the point, negative to its left, with zeros where
    /// the number has no digits.
    fn write_digits(&self, text: &mut String, from: i64, to: i64) {
        let first = -(signed(self.count()) + self.exponent);
        let known = self.digits().map(char::from).zip(first..);
        text.extend((from..to.min(first)).map(|_| '0'));
        text.extend(
            known
                .skip_while(|(_, at)| *at < from)
                .take_while(|(_, at)| *at < to)
                .map(|(digit, _)| digit),
        );
        text.extend((from.max(-self.exponent)..to).map(|_| '0'));
    }
}

impl PartialEq for Decimal<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.negative == other.negative
            && self.exponent == other.exponent
            && self.count() == other.count()
            && self.digits().eq(other.digits())
    }
}

/// Return true if two numbers are equal: `1`, `1.0` and `10e-1` are.
pub(super) fn equal(left: &Number, right: &Number) -> bool {
    left.as_str() == right.as_str() || Decimal::of(left.as_str()) == Decimal::of(right.as_str())
}

/// Return true if `number` has no fraction, however it is written.
pub(super) fn is_integer(number: &Number) -> bool {
    let text = number.as_str();
    !text.as_bytes().iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
        || Decimal::of(text).is_integer()
}

/// Return the length of `number` in characters, as written or without an exponent, whichever is
/// more.
pub(super) fn expanded_len(number: &Number) -> usize {
    let text = number.as_str();
    let decimal = Decimal::of(text);
    text.len().max(decimal.whole().saturating_add(decimal.decimals()))
}

/// The precision with which a schema can distinguish numbers.
///
/// A limit of three digits cannot distinguish two numbers of a thousand digits, and `multipleOf`
/// depends only on a remainder and the number of decimals. So a short number can replace a long
/// one: it has the same order relative to every limit, the same equalities and the same divisors.
/// Comparing and dividing thousands of digits would take quadratic time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Number of digits before the point, in the longest number.
    whole: usize,
    /// Number of digits after the point, in the longest number.
    decimals: usize,
    /// A common multiple of all divisors, without their points; 0 if it would be too large.
    modulus: u64,
    /// Number of digits before the point, in the longest `const`.
    constant: usize,
}

impl Scale {
    /// The scale of a schema without numbers.
    pub(super) const PLAIN: Self = Self { whole: 20, decimals: 0, modulus: 1, constant: 0 };

    /// Add a number of the schema under `key`.
    pub(super) fn add(&mut self, key: &str, number: &Number) {
        let number = Decimal::of(number.as_str());
        self.whole = self.whole.max(number.whole());
        self.decimals = self.decimals.max(number.decimals());
        if key == "const" {
            self.constant = self.constant.max(number.whole());
        }
        if key == "multipleOf" {
            self.modulus = least_common_multiple(self.modulus, &number).unwrap_or(0);
        }
    }

    /// Return the number of digits after the point, in the longest number.
    pub(super) fn decimals(&self) -> usize {
        self.decimals
    }

    /// Return the number of digits before the point, in the longest `const`.
    pub(super) fn constant(&self) -> usize {
        self.constant
    }

    /// Return a short number that the schema cannot distinguish from `number`.
    pub(super) fn shorten<'a>(&self, number: &'a Number) -> Cow<'a, Number> {
        let text = number.as_str();
        // An exponent takes few characters, but the crate expands it.
        if text.len() <= SHORT && !text.as_bytes().iter().any(|byte| matches!(byte, b'e' | b'E')) {
            return Cow::Borrowed(number);
        }
        if expanded_len(number) <= SHORT {
            return Cow::Borrowed(number);
        }
        let short = self.substitute(&Decimal::of(text));
        Number::from_str(&short).map_or(Cow::Borrowed(number), Cow::Owned)
    }

    fn substitute(&self, number: &Decimal<'_>) -> String {
        let mut text = String::from(if number.negative { "-" } else { "" });
        let point = -signed(number.whole());
        if number.whole() == 0 {
            text.push('0');
        } else if self.modulus == 0 || number.whole() <= self.whole + 2 * SHORT {
            number.write_digits(&mut text, point, 0);
        } else {
            // Beyond every limit, with the same remainder.
            let mut whole = String::new();
            number.write_digits(&mut whole, point, 0);
            let rest = whole.bytes().fold(0, |rest, digit| {
                (rest * 10 + u128::from(digit - b'0')) % u128::from(self.modulus)
            });
            text.push_str(&self.modulus.to_string());
            let rest = rest.to_string();
            text.extend(std::iter::repeat_n('0', (self.whole + 1).saturating_sub(rest.len())));
            text.push_str(&rest);
        }
        let decimals = number.decimals();
        if decimals > 0 {
            text.push('.');
            number.write_digits(&mut text, 0, signed(decimals.min(self.decimals)));
            if decimals > self.decimals {
                // More decimals than any number of the schema.
                text.push('1');
            }
        }
        text
    }
}

/// The largest exponent, such that sums of a few do not overflow.
const MAX_EXPONENT: i64 = i64::MAX / 8;

/// Convert a count of digits, to be added to exponents.
fn signed(count: usize) -> i64 {
    i64::try_from(count).map_or(MAX_EXPONENT, |count| count.min(MAX_EXPONENT))
}

/// Parse an exponent, clamped to [`MAX_EXPONENT`].
fn exponent_of(text: &str) -> i64 {
    let most = if text.starts_with('-') { -MAX_EXPONENT } else { MAX_EXPONENT };
    text.parse().map_or(most, |exponent: i64| exponent.clamp(-MAX_EXPONENT, MAX_EXPONENT))
}

fn least_common_multiple(modulus: u64, divisor: &Decimal<'_>) -> Option<u64> {
    let factor = divisor.digits().try_fold(0_u64, |value, digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })?;
    let factor =
        factor.checked_mul(10_u64.checked_pow(divisor.exponent.max(0).try_into().ok()?)?)?;
    let (mut left, mut right) = (modulus, factor);
    while right != 0 {
        (left, right) = (right, left % right);
    }
    modulus.checked_div(left)?.checked_mul(factor)
}

/// Add all numbers in `value` to `scale`, with their keys.
pub(super) fn scale_of(scale: &mut Scale, key: &str, value: &Value) {
    match value {
        Value::Number(number) => scale.add(key, number),
        Value::Array(items) => items.iter().for_each(|item| scale_of(scale, key, item)),
        Value::Object(members) => {
            members.iter().for_each(|(key, member)| scale_of(scale, key, member));
        }
        _ => {}
    }
}
