//! Rewards of edits, from 0.0 to 1.0.

use emendate_core::{AppliedText, Code, Error, NewText, Result, Tier};
use emendate_syntax::{Language, ParseLimits, parse};
use std::collections::BTreeMap;
use std::path::Path;

/// The measure by which the text after an edit is rewarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewardMeasure {
    /// 1 for the expected text.
    Exact,
    /// 1 for an edit that can be applied.
    Applied,
    /// The ratio of the characters, as Python's `difflib` computes it.
    Similarity,
    /// The ratio of the lines.
    LineSimilarity,
    /// 1 for a text without syntax errors; none for a text whose language is not known.
    Parses,
}

impl RewardMeasure {
    /// Every measure by its name.
    pub const NAMES: [(&'static str, RewardMeasure); 5] = [
        ("exact", RewardMeasure::Exact),
        ("applied", RewardMeasure::Applied),
        ("similarity", RewardMeasure::Similarity),
        ("line_similarity", RewardMeasure::LineSimilarity),
        ("parses", RewardMeasure::Parses),
    ];

    /// Returns the measure of that name.
    ///
    /// Errors: `call.invalid`.
    pub fn from_name(name: &str) -> Result<RewardMeasure> {
        RewardMeasure::NAMES.iter().find(|(known, _)| *known == name).map(|(_, measure)| *measure).ok_or_else(|| {
            let names: Vec<&str> = RewardMeasure::NAMES.iter().map(|(name, _)| *name).collect();
            Error::new(Code::CallInvalid, format!("`{name}` is not a reward."))
                .next(format!("Use one of: {}.", names.join(", ")))
        })
    }

    /// True if it compares with an expected text.
    pub fn compares(self) -> bool {
        !matches!(self, RewardMeasure::Applied | RewardMeasure::Parses)
    }
}

/// A measure, and what is subtracted for tolerances.
#[derive(Clone, Debug, PartialEq)]
pub struct RewardRule {
    /// The measure.
    pub measure: RewardMeasure,
    /// Subtracted if a tolerance was needed whose tier has no penalty of its own.
    pub penalty: f64,
    /// Penalties of tiers by name; that of `exact` is subtracted from edits without a tolerance.
    pub penalties: BTreeMap<String, f64>,
}

impl RewardRule {
    /// Creates a rule.
    ///
    /// Errors: `call.invalid` for a name that no tier has, and for a penalty that is not from 0.0 to 1.0.
    pub fn new(measure: RewardMeasure, penalty: f64, penalties: BTreeMap<String, f64>) -> Result<RewardRule> {
        let tiers = Tier::ALL.map(Tier::name);
        if let Some(number) = penalties.values().chain([&penalty]).find(|number| !(0.0..=1.0).contains(*number)) {
            return Err(Error::new(Code::CallInvalid, format!("A penalty of {number} is out of range."))
                .next("Give a number from 0.0 to 1.0."));
        }
        match penalties.keys().find(|name| !tiers.contains(&name.as_str())) {
            Some(name) => Err(Error::new(Code::CallInvalid, format!("`{name}` is not a tier of tolerance."))
                .next(format!("Use some of: {}.", tiers.join(", ")))),
            None => Ok(RewardRule { measure, penalty, penalties }),
        }
    }

    /// Rewards the result of an edit; `None` if the measure does not apply.
    ///
    /// Errors: `call.too_much_work`.
    pub(super) fn of(&self, applied: &AppliedText<NewText>, expected: &str, path: Option<&str>) -> Result<Option<f64>> {
        let text = || applied.text.joined();
        let reward = match self.measure {
            RewardMeasure::Applied => Some(1.0),
            RewardMeasure::Exact => Some(f64::from(text() == expected)),
            RewardMeasure::Similarity => Some(emendate_core::similarity(&text(), expected)?),
            RewardMeasure::LineSimilarity => Some(emendate_core::line_similarity(&text(), expected)?),
            RewardMeasure::Parses => parses(&text(), path).map(f64::from),
        };
        Ok(reward.map(|reward| (reward - self.penalty_of(applied.tier)).clamp(0.0, 1.0)))
    }

    fn penalty_of(&self, tier: Tier) -> f64 {
        let usual = if tier == Tier::Exact { 0.0 } else { self.penalty };
        self.penalties.get(tier.name()).copied().unwrap_or(usual)
    }
}

/// True if a text has no syntax error. `None` if its language is not known, or it is too large to be parsed.
fn parses(text: &str, path: Option<&str>) -> Option<bool> {
    let first_line = text.lines().next().unwrap_or_default();
    let language = Language::of(Path::new(path?), first_line)?;
    Some(parse(text, language, ParseLimits::ASKED)?.is_clean())
}
