//! The matching cascade: from words about text to places in a reading.
//!
//! One driver, one row per tier. Ambiguity stops the cascade: a tier with more than one place ends the search, looser
//! tiers are not asked. Tier 0 is literal; every tier after it reports itself.

mod exact;
mod failure;

use crate::error::Result;
use crate::op::{Find, Pick, Settings};
use crate::snapshot::Snapshot;
use crate::span::Span;

/// A piece of a reading and the text that takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// What is replaced, in the reading.
    pub span: Span,
    /// The new text, `\n` line ends.
    pub text: String,
}

/// One place that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// What the caller's text stands for, in the reading.
    pub span: Span,
    /// What has to be written there so that the caller's new text results: only the difference.
    pub edits: Vec<TextEdit>,
}

/// What the cascade found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The tier that found it.
    pub tier: Tier,
    /// The places, in order; as many as the call asked for.
    pub hits: Vec<Hit>,
    /// What was forgiven or kept from the file, and warnings; empty for a plain exact match.
    pub notes: Vec<String>,
}

/// How much was forgiven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Tier {
    /// Nothing: the text occurs literally.
    #[default]
    Exact,
}

impl Tier {
    /// The number in the table of the format page.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The name for replies.
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Exact => "exact",
        }
    }
}

/// Finds `find.old` in the reading and works out what to write so that `new` stands in its place.
///
/// Errors: `match.not_found`, `match.ambiguous`, `match.count`.
pub fn find(base: &Snapshot, find: &Find, new: &str, _settings: Settings) -> Result<Found> {
    let places = exact::places(base.text(), &find.old, find.pick);
    if places.is_empty() {
        return Err(failure::not_found(base, find, new));
    }
    let wanted = match find.pick {
        Pick::Unique => 1,
        Pick::All => places.apart.len(),
        Pick::Exactly(count) => count,
    };
    if places.count != wanted && find.pick != Pick::All {
        return Err(failure::count(base, find, &places));
    }
    let hits: Vec<Hit> = places.apart.iter().map(|&span| exact::hit(base.text(), span, new)).collect();
    let notes = exact::notes(base.text(), &hits);
    Ok(Found { tier: Tier::Exact, hits, notes })
}
