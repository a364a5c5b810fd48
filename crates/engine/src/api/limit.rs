//! One row of the table of limits.

use emendate_core::Code;

/// Nesting levels of lists and objects in a call's input, as limited by the JSON parser.
pub(crate) const JSON_NESTING_MAX: u64 = 127;

/// A limit.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The limited quantity, in a word or two.
    pub name: &'static str,
    /// The largest allowed number.
    pub most: u64,
    /// The unit of the number.
    pub unit: &'static str,
    /// The error code; `None` if nothing is refused but the reply is shortened, with a remark.
    pub code: Option<Code>,
    /// Advice to the caller, or a remark.
    pub next: &'static str,
}

impl Limit {
    /// Creates a row that does not say yet what happens beyond the limit.
    pub(super) const fn of(name: &'static str, most: u64, unit: &'static str) -> Limit {
        Limit { name, most, unit, code: None, next: "" }
    }

    /// Refuses a call beyond the limit with this code and advice.
    pub(super) const fn refused(self, code: Code, next: &'static str) -> Limit {
        Limit { code: Some(code), next, ..self }
    }

    /// Shortens the reply beyond the limit, with this remark.
    pub(super) const fn noted(self, next: &'static str) -> Limit {
        Limit { next, ..self }
    }
}
