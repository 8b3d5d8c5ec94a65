//! Numbers by their digits: what JSON says of them, without arithmetic on large numbers.

use std::{borrow::Cow, str::FromStr};

use serde_json::{Number, Value};

/// Number of characters that a number has that is short for any purpose.
const SHORT: usize = 40;

/// A JSON number as `digits * 10^exponent`. Equal numbers are spelled in one way: no zeros at
/// either end of the digits, and zero has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal<'a> {
    negative: bool,
    /// The digits are these two parts, one after the other.
    head: &'a str,
    tail: &'a str,
    exponent: i64,
}

impl<'a> Decimal<'a> {
    /// Return the number that `text` spells, which is JSON.
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

    /// Return the number of digits that stand before the point.
    fn whole(&self) -> usize {
        usize::try_from(signed(self.count()) + self.exponent).unwrap_or(0)
    }

    /// Return the number of digits that stand behind the point.
    fn decimals(&self) -> usize {
        usize::try_from(-self.exponent).unwrap_or(0)
    }

    /// Return true if nothing stands behind the point.
    pub(super) fn is_integer(&self) -> bool {
        self.exponent >= 0
    }

    /// Append the number as bytes that only equal numbers share, and that none begins with.
    pub(super) fn write_key(&self, key: &mut Vec<u8>) {
        key.push(u8::from(self.negative));
        key.extend(self.exponent.to_le_bytes());
        key.extend(self.head.as_bytes());
        key.extend(self.tail.as_bytes());
        key.push(b';');
    }

    /// The digits `from..to`, counted from the left of the point (negative) to its right, with
    /// zeros where the number has none.
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

/// Return true if `number` is one without a fraction, however it is spelled.
pub(super) fn is_integer(number: &Number) -> bool {
    let text = number.as_str();
    !text.as_bytes().iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
        || Decimal::of(text).is_integer()
}

/// Return the number of characters that `number` has as it stands or written out without an
/// exponent, whichever is more.
pub(super) fn expanded_len(number: &Number) -> usize {
    let text = number.as_str();
    let decimal = Decimal::of(text);
    text.len().max(decimal.whole().saturating_add(decimal.decimals()))
}

/// How finely the numbers of a schema look at those of a value.
///
/// A limit of three digits cannot tell one number of a thousand digits from another, and
/// `multipleOf` sees no more than a remainder and how many decimals there are. So a short number
/// can stand for a long one: it is on the same side of every limit, equal to as few and a
/// multiple of as many. Comparing and dividing thousands of digits takes a time that grows with
/// their square.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// Number of digits that the longest number has before its point.
    whole: usize,
    /// Number of digits that the longest number has behind its point.
    decimals: usize,
    /// A multiple of all divisors, without their points; 0 if that would be too large.
    modulus: u64,
    /// Number of digits that the longest `const` has before its point.
    constant: usize,
}

impl Scale {
    /// That of a schema without numbers.
    pub(super) const PLAIN: Self = Self { whole: 20, decimals: 0, modulus: 1, constant: 0 };

    /// Add a number of the schema, which stands under `key`.
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

    /// Return the number of digits that the longest number has behind its point.
    pub(super) fn decimals(&self) -> usize {
        self.decimals
    }

    /// Return the number of digits that the longest `const` has before its point.
    pub(super) fn constant(&self) -> usize {
        self.constant
    }

    /// Return a short number that the schema cannot tell from `number`.
    pub(super) fn shorten<'a>(&self, number: &'a Number) -> Cow<'a, Number> {
        let text = number.as_str();
        // An exponent spells in a few characters what the crate writes out.
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
            // Past every limit, with the same remainder.
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

/// The largest exponent: sums of a few still have room.
const MAX_EXPONENT: i64 = i64::MAX / 8;

/// Return a count of digits, to be added to exponents.
fn signed(count: usize) -> i64 {
    i64::try_from(count).map_or(MAX_EXPONENT, |count| count.min(MAX_EXPONENT))
}

/// Return the exponent that `text` spells, at most [`MAX_EXPONENT`].
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

/// All numbers in `value`, with the key that each stands under.
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
