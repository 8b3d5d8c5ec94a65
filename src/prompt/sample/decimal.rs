//! Exact decimal numbers, as in JSON, without floating-point rounding.

/// The number `digits` times ten to the power of minus `scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: i128,
    scale: u32,
}

/// Maximum number of digits; longer numbers are left to the validator.
const MAX_DIGITS: usize = 30;

impl Decimal {
    pub(super) const ONE: Self = Self { digits: 1, scale: 0 };
    /// The sample for a number without bounds.
    pub(super) const PLAIN: Self = Self { digits: 15, scale: 1 };

    /// Parse a JSON number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.len() + fraction.len() > MAX_DIGITS || exponent.abs() > 30 {
            return None;
        }
        let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
        let scale = i32::try_from(fraction.len()).ok()? - exponent;
        if scale >= 0 {
            return Some(Self { digits, scale: scale.unsigned_abs() });
        }
        let digits = digits.checked_mul(10_i128.checked_pow(scale.unsigned_abs())?)?;
        Some(Self { digits, scale: 0 })
    }

    /// Return both numbers as multiples of the same unit.
    fn aligned(self, other: Self) -> Option<(i128, i128, u32)> {
        let scale = self.scale.max(other.scale);
        let at =
            |number: Self| number.digits.checked_mul(10_i128.checked_pow(scale - number.scale)?);
        Some((at(self)?, at(other)?, scale))
    }

    pub(super) fn less_than(self, other: Self) -> Option<bool> {
        let (a, b, _) = self.aligned(other)?;
        Some(a < b)
    }

    pub(super) fn plus(self, other: Self) -> Option<Self> {
        let (a, b, scale) = self.aligned(other)?;
        Some(Self { digits: a.checked_add(b)?, scale })
    }

    pub(super) fn minus(self, other: Self) -> Option<Self> {
        let (a, b, scale) = self.aligned(other)?;
        Some(Self { digits: a.checked_sub(b)?, scale })
    }

    pub(super) fn times(self, factor: i128) -> Option<Self> {
        Some(Self { digits: self.digits.checked_mul(factor)?, ..self })
    }

    /// Return a sixteenth of the number, exactly.
    pub(super) fn sixteenth(self) -> Option<Self> {
        Some(Self { digits: self.digits.checked_mul(625)?, scale: self.scale + 4 })
    }

    /// Return the smallest multiple of `step` that is not less than this.
    pub(super) fn up_to_multiple(self, step: Self) -> Option<Self> {
        let (a, b, scale) = self.aligned(step)?;
        let below = a.checked_div_euclid(b)?;
        let count = if below.checked_mul(b)? == a { below } else { below.checked_add(1)? };
        Some(Self { digits: count.checked_mul(b)?, scale })
    }

    /// Return the largest multiple of `step` that is not greater than this.
    pub(super) fn down_to_multiple(self, step: Self) -> Option<Self> {
        let (a, b, scale) = self.aligned(step)?;
        Some(Self { digits: a.checked_div_euclid(b)?.checked_mul(b)?, scale })
    }

    /// Return the smallest positive common multiple.
    pub(super) fn common_multiple(self, other: Self) -> Option<Self> {
        let (a, b, scale) = self.aligned(other)?;
        let (mut x, mut y) = (a.checked_abs()?, b.checked_abs()?);
        while y != 0 {
            (x, y) = (y, x.checked_rem(y)?);
        }
        Some(Self {
            digits: a.checked_abs()?.checked_div(x)?.checked_mul(b.checked_abs()?)?,
            scale,
        })
    }

    pub(super) fn is_positive(self) -> bool {
        self.digits > 0
    }

    /// Format the number as JSON, without trailing zeros.
    pub(super) fn to_json(mut self) -> String {
        while self.scale > 0 && self.digits % 10 == 0 {
            self.digits /= 10;
            self.scale -= 1;
        }
        let digits = self.digits.unsigned_abs().to_string();
        let sign = if self.digits < 0 { "-" } else { "" };
        let scale = self.scale as usize;
        if scale == 0 {
            return format!("{sign}{digits}");
        }
        let digits = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        format!("{sign}{whole}.{fraction}")
    }
}
