//! Numbers as written: decimal and exact if possible, so that 0.3 is a multiple of 0.1.

use std::cmp::Ordering;

/// A number.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    /// `digits · 10^power`, without trailing zeros in the digits.
    Exact { digits: i128, power: i32 },
    /// A number with too many digits, or one that is not finite.
    Approximate(f64),
}

/// Largest exponent of an exact number; beyond, the approximation is used.
const EXPONENT_MAX: i32 = 400;

impl Number {
    /// Parses decimal notation; `None` if it is not a number.
    pub(crate) fn decimal(text: &str) -> Option<Number> {
        let near: f64 = text.parse().ok()?;
        Some(exact(text).unwrap_or(Number::Approximate(near)))
    }

    pub(crate) fn whole(value: i128) -> Number {
        trimmed(value, 0)
    }

    pub(crate) fn is_integer(self) -> bool {
        match self {
            Number::Exact { power, .. } => power >= 0,
            Number::Approximate(value) => value.is_finite() && value.fract() == 0.0,
        }
    }

    fn to_f64(self) -> f64 {
        match self {
            Number::Exact { digits, power } => format!("{digits}e{power}").parse().unwrap_or(f64::NAN),
            Number::Approximate(value) => value,
        }
    }

    pub(crate) fn compare(self, other: Number) -> Option<Ordering> {
        match aligned(self, other) {
            Some((one, two)) => Some(one.cmp(&two)),
            None => self.to_f64().partial_cmp(&other.to_f64()),
        }
    }

    /// True also if rounding makes the result uncertain, so that nothing is rejected because of it.
    pub(crate) fn is_multiple_of(self, of: Number) -> bool {
        let rest = aligned(self, of).and_then(|(value, of)| value.checked_rem(of));
        rest.is_none_or(|rest| rest == 0)
    }

    /// Returns bytes that are equal for equal numbers.
    pub(crate) fn key(self) -> [u8; 21] {
        let mut key = [0; 21];
        match self {
            Number::Exact { digits, power } => {
                key[1..17].copy_from_slice(&digits.to_le_bytes());
                key[17..].copy_from_slice(&power.to_le_bytes());
            }
            Number::Approximate(value) => {
                key[0] = 1;
                key[1..9].copy_from_slice(&value.to_bits().to_le_bytes());
            }
        }
        key
    }

    /// Returns it as a small count; `None` if it is not one.
    pub(crate) fn count(self) -> Option<usize> {
        match self {
            Number::Exact { digits, power } if (0..=18).contains(&power) => {
                usize::try_from(digits.checked_mul(10i128.pow(power.unsigned_abs()))?).ok()
            }
            _ => None,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {
            Number::Exact { digits, power } if (0..=18).contains(&power) => {
                write!(f, "{digits}{:0<1$}", "", power.unsigned_abs() as usize)
            }
            _ => write!(f, "{}", self.to_f64()),
        }
    }
}

fn trimmed(mut digits: i128, mut power: i32) -> Number {
    if digits == 0 {
        return Number::Exact { digits: 0, power: 0 };
    }
    while digits % 10 == 0 {
        digits /= 10;
        power += 1;
    }
    Number::Exact { digits, power }
}

fn exact(text: &str) -> Option<Number> {
    let (body, power) = match text.split_once(['e', 'E']) {
        Some((body, power)) => (body, power.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (negative, body) = match body.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, body.strip_prefix('+').unwrap_or(body)),
    };
    let (whole, fraction) = body.split_once('.').unwrap_or((body, ""));
    let mut digits: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        digits = digits.checked_mul(10)?.checked_add(i128::from(char::from(digit).to_digit(10)?))?;
    }
    let power = power.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let digits = if negative { -digits } else { digits };
    ((-EXPONENT_MAX..=EXPONENT_MAX).contains(&power)).then(|| trimmed(digits, power))
}

/// Scales two numbers to the same power of ten.
fn aligned(one: Number, two: Number) -> Option<(i128, i128)> {
    let (Number::Exact { digits: a, power: p }, Number::Exact { digits: b, power: q }) = (one, two) else {
        return None;
    };
    let least = p.min(q);
    Some((scaled(least, a, p)?, scaled(least, b, q)?))
}

/// Returns the digits in units of the smaller power of ten.
fn scaled(least: i32, digits: i128, power: i32) -> Option<i128> {
    10i128.checked_pow(power.abs_diff(least))?.checked_mul(digits)
}

#[cfg(test)]
mod tests {
    use super::Number;
    use std::cmp::Ordering;

    fn n(text: &str) -> Number {
        Number::decimal(text).unwrap()
    }

    #[test]
    fn numbers_are_exact() {
        assert!(n("0.3").is_multiple_of(n("0.1")) && !n("0.35").is_multiple_of(n("0.1")));
        assert!(n("9007199254740993").is_multiple_of(n("3")) && !n("9007199254740993").is_multiple_of(n("2")));
        assert_eq!(n("1e2").key(), n("100.0").key());
        assert_eq!(n("-0").key(), n("0.0").key());
        assert!(n("1e2").is_integer() && n("1.0").is_integer() && !n("1.5").is_integer());
        assert_eq!(n("1e300").compare(n("1e299")), Some(Ordering::Greater));
        assert_eq!(n("0.1").compare(n("0.10000000000000001")), Some(Ordering::Less));
        assert_eq!((n("1e3").count(), n("1.5").count(), n("-1").count()), (Some(1000), None, None));
        assert_eq!((n("1e3").to_string(), n("2.50").to_string()), ("1000".to_owned(), "2.5".to_owned()));
        assert!(n("1e999999").compare(n("1")).is_some() && Number::decimal("1_0").is_none());
    }
}
