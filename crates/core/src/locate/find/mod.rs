//! The matching cascade: finds the occurrences of a caller's text in a decoded text.
//!
//! There is one driver, and one table row per tier. Ambiguity ends the cascade: if a tier finds more than one
//! occurrence, looser tiers are not tried; occurrences are counted by position. Tier 0 is literal. Every tier after it
//! works on whole lines (tier 1 within one line), requires a minimum of letters and digits, writes only the difference
//! between the old and the new text into the file's own text, and adds a note. A line that is to be changed is never
//! matched by likeness, which only explains failures.

mod align;
mod anchor_rivals;
mod anchors;
mod copied_numbers;
mod failure;
mod file_lines;
pub(crate) mod hunk;
mod indent;
mod literal;
mod match_site;
mod refusal;
mod retyped;
mod rivals;
mod search;
mod select;
mod similar_lines;
mod target_indent;
#[cfg(test)]
pub(in crate::locate) mod testing;
mod tier;
mod transplant;
mod typo;

use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::omission;
use crate::locate::op::{ExpectedMatches, Hunk, Matching, ResolveSettings, TextQuery};
use crate::note::{Note, Notes};
use crate::text::fold;
use crate::text::snapshot::Snapshot;
use crate::text::span::Span;
use crate::work::{self, STEP_BYTES};
pub(crate) use anchors::between;
pub(crate) use copied_numbers::{
    are_read_rows, check_new_file, is_literal, numbered, uncopied_insertion, uncopied_rows, without_copied_numbers,
};
pub(crate) use literal::{occurs, of_ops};
use match_site::CandidateSites;
use refusal::{MatchRefusal, RefusalReason};
use retyped::PlainBlanks;
use search::MatchSearch;
pub(crate) use search::SearchIndex;
pub(in crate::locate) use tier::elision::is_gap;
use tier::windows::{self, WindowRule};
pub(crate) use tier::{EncodedText, ProvenEscape, ProvenEscapes, is_padded, removed_row, without_entities};

/// Maximum number of occurrences that all edits of one call may change.
pub const CHANGED_PLACES_MAX: usize = 500_000;

/// Maximum bytes of new text that one edit may insert at several places together.
pub const INSERTED_BYTES_MAX: usize = 64 << 20;

/// Maximum number of lines above each of several occurrences that are searched for its heading.
pub const HEADING_LINES_MAX: usize = 200;

/// A replacement of a part of the decoded text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextEdit {
    /// The replaced span of the decoded text.
    pub span: Span,
    /// The new text, with `\n` line ends.
    pub text: String,
}

/// One match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextMatch {
    /// The span of the decoded text that matches the caller's text.
    pub span: Span,
    /// The edits that produce the caller's new text; they contain only the difference.
    pub edits: Vec<TextEdit>,
}

/// The result of the cascade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextMatches {
    /// The tier that found the matches.
    pub tier: Tier,
    /// The matches in order, as many as the call asked for.
    pub matches: Vec<TextMatch>,
    /// Tolerances, text kept from the file, and warnings; empty for a plain exact match.
    pub notes: Notes,
}

impl TextMatches {
    /// Records that blanks of the request were made plain before the search.
    fn in_plain_blanks(mut self) -> TextMatches {
        self.tier = self.tier.max(Tier::Punctuation);
        self.notes.push_front(PlainBlanks::NOTE);
        self
    }
}

/// The tolerance of a match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Tier {
    /// No tolerance: the text occurs literally.
    #[default]
    Exact,
    /// Unicode punctuation within one line differs.
    Punctuation,
    /// Trailing whitespace differs.
    TrailingBlanks,
    /// Unicode punctuation in several lines differs.
    LinesAlike,
    /// All lines are indented by the same amount more or less.
    IndentShift,
    /// The indentation has tabs instead of spaces, or other widths.
    IndentWidths,
    /// The length of blank runs inside a line differs.
    BlankRuns,
    /// Blank lines at either end differ.
    BlankEdges,
    /// Line numbers were copied with the text.
    LineNumbers,
    /// The text has one level of escapes too many, or HTML entities.
    Escapes,
    /// Elision lines (`...`) represent lines that are kept.
    Elision,
    /// Blank lines or context lines differ.
    Drift,
    /// Lines inside a block that is replaced as a whole differ.
    Block,
}

/// A row of the table of tiers: the tier, its search and its conditions.
struct TierRow {
    tier: Tier,
    name: &'static str,
    search: TierSearch,
    /// The note about a match of this tier.
    note: &'static str,
}

/// The search of a tier, and the minimum number of letters and digits of its old text.
enum TierSearch {
    /// Whole lines, one to one.
    Window(&'static WindowRule),
    Own {
        run: for<'a> fn(&MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal>,
        min_alnum: usize,
    },
}

static TIERS: [TierRow; 13] = [
    TierRow {
        tier: Tier::Exact,
        name: "exact",
        search: TierSearch::Own { run: tier::exact::run, min_alnum: 0 },
        note: "",
    },
    TierRow {
        tier: Tier::Punctuation,
        name: "punctuation",
        search: TierSearch::Own { run: tier::punctuation::run, min_alnum: tier::punctuation::ALNUM_MIN },
        note: "Found although quotes, dashes or other punctuation look different; the file's own characters were kept.",
    },
    TierRow {
        tier: Tier::TrailingBlanks,
        name: "trailing_blanks",
        search: TierSearch::Window(&tier::trailing::RULE),
        note: "Found although the whitespace at line ends differs; unchanged lines keep the file's.",
    },
    TierRow {
        tier: Tier::LinesAlike,
        name: "lines_alike",
        search: TierSearch::Window(&tier::lines_alike::RULE),
        note: "Found although quotes, dashes or other punctuation look different; the file's own characters were kept.",
    },
    TierRow {
        tier: Tier::IndentShift,
        name: "indent_shift",
        search: TierSearch::Window(&tier::shift::RULE),
        note: "Found at another indentation; the new text was shifted to the file's.",
    },
    TierRow {
        tier: Tier::IndentWidths,
        name: "indent_widths",
        search: TierSearch::Window(&tier::widths::RULE),
        note: "Found with different indentation (tabs, spaces or width); the new text was converted to the file's.",
    },
    TierRow {
        tier: Tier::BlankRuns,
        name: "blank_runs",
        search: TierSearch::Window(&tier::runs::RULE),
        note: "Found although the amount of whitespace inside lines differs; the file's was kept.",
    },
    TierRow {
        tier: Tier::BlankEdges,
        name: "blank_edges",
        search: TierSearch::Own { run: tier::edges::run, min_alnum: 6 },
        note: "Found without the blank lines at the edges of the old text; the file's blank lines were kept.",
    },
    TierRow {
        tier: Tier::LineNumbers,
        name: "line_numbers",
        search: TierSearch::Own { run: tier::numbers::run, min_alnum: 4 },
        note: "Found after removing line numbers that were copied with the text; they were not written.",
    },
    TierRow {
        tier: Tier::Escapes,
        name: "escapes",
        search: TierSearch::Own { run: tier::escapes::run, min_alnum: 2 },
        note: "Found after decoding escapes that the file does not have; they were decoded in the new text too.",
    },
    TierRow {
        tier: Tier::Elision,
        name: "elision",
        search: TierSearch::Own { run: tier::elision::run, min_alnum: 4 },
        note: "The lines that `...` replaces were kept as they are in the file.",
    },
    TierRow {
        tier: Tier::Drift,
        name: "drift",
        search: TierSearch::Own { run: tier::drift::run, min_alnum: 6 },
        note: "Context lines of the old text differ from the file; only the change was written, the file's context was kept.",
    },
    TierRow {
        tier: Tier::Block,
        name: "block",
        search: TierSearch::Own { run: tier::block::run, min_alnum: 12 },
        note: "Found by the first and last line of the old text; lines between them differ in part, and the whole block was replaced.",
    },
];

/// The note about a match of the last part of tier 6, which is tried when all tiers have failed.
const LINE_BREAKS_NOTE: &str =
    "Found although the line breaks differ; the file's were kept, and only the change was written.";

impl Tier {
    /// Every tier, the most exact first.
    pub const ALL: [Tier; 13] = [
        Tier::Exact,
        Tier::Punctuation,
        Tier::TrailingBlanks,
        Tier::LinesAlike,
        Tier::IndentShift,
        Tier::IndentWidths,
        Tier::BlankRuns,
        Tier::BlankEdges,
        Tier::LineNumbers,
        Tier::Escapes,
        Tier::Elision,
        Tier::Drift,
        Tier::Block,
    ];

    /// The number of the tier in the documentation of the formats.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The name of the tier in replies.
    pub fn name(self) -> &'static str {
        TIERS[usize::from(self.number())].name
    }
}

impl TierRow {
    /// Finds the places that match by this tier.
    fn run<'a>(&self, search: &MatchSearch<'a>) -> Result<CandidateSites<'a>, MatchRefusal> {
        match self.search {
            TierSearch::Window(rule) => windows::run(search, rule),
            TierSearch::Own { run, .. } => run(search),
        }
    }

    /// True if a few lines that say little match as well.
    fn finds_short_lines(&self) -> bool {
        self.tier == Tier::LineNumbers || matches!(self.search, TierSearch::Window(_))
    }

    /// True when the tier applies to this search.
    fn is_open(&self, search: &MatchSearch<'_>, settings: ResolveSettings) -> bool {
        let last = match settings.matching {
            Matching::Exact => Tier::Exact,
            Matching::Strict => Tier::LinesAlike,
            Matching::Standard if settings.stale => Tier::Escapes,
            Matching::Standard => Tier::Block,
        };
        let (TierSearch::Window(&WindowRule { min_alnum, .. }) | TierSearch::Own { min_alnum, .. }) = self.search;
        let several = matches!(search.find.expected, ExpectedMatches::All | ExpectedMatches::Exactly(2..));
        self.tier <= last
            && !(several && self.tier > Tier::IndentWidths)
            && !(search.find.lines && self.tier == Tier::Punctuation)
            && !(self.tier == Tier::Block && search.find.expected != ExpectedMatches::Unique)
            && (min_alnum == 0
                || search.pattern.alnum(min_alnum) >= min_alnum
                || (self.finds_short_lines() && windows::is_short(&search.pattern))
                || (self.tier == Tier::Punctuation && fold::has_quotes(&search.find.old)))
    }
}

/// Places the hunks of one file, in the order of the patch. Line numbers that were copied with added lines are removed.
pub(crate) fn place_hunks(
    index: &SearchIndex<'_>,
    hunks: &[&Hunk],
    settings: ResolveSettings,
) -> Vec<Result<TextMatches>> {
    let tolerant = settings.matching == Matching::Standard;
    let plain: Vec<Option<Hunk>> =
        hunks.iter().map(|hunk| tolerant.then(|| PlainBlanks::converted_hunk(index, hunk)).flatten()).collect();
    let hunks: Vec<&Hunk> = hunks.iter().zip(&plain).map(|(hunk, plain)| plain.as_ref().unwrap_or(hunk)).collect();
    let bare: Vec<Option<Hunk>> =
        hunks.iter().map(|hunk| if tolerant { copied_numbers::uncopied_hunk(hunk) } else { None }).collect();
    let bare_hunks: Vec<&Hunk> = hunks.iter().zip(&bare).map(|(hunk, bare)| bare.as_ref().unwrap_or(hunk)).collect();
    let mut placed = hunk::place_all(index, &bare_hunks, settings);
    for (found, bare) in placed.iter_mut().zip(&bare) {
        if let (Ok(found), Some(_)) = (found, bare) {
            found.notes.push_front(Note::CopiedNumbers);
        }
    }
    let placed = placed.into_iter().zip(&plain);
    placed.map(|(found, plain)| if plain.is_some() { found.map(TextMatches::in_plain_blanks) } else { found }).collect()
}

/// Finds `find.old` in the decoded text and computes the edits that replace it by `new`.
///
/// Errors: `match.not_found`, `match.ambiguous`, `match.count`, `edit.omission`, `edit.would_misindent`.
pub fn find(base: &Snapshot, find: &TextQuery, new: &str, settings: ResolveSettings) -> Result<TextMatches> {
    find_in(&SearchIndex::new(base), find, new, settings, None)
}

/// Runs [`find`] with the state shared by other searches in the same text. `literal` has the occurrences of tier 0, if
/// they are known.
pub(crate) fn find_in(
    index: &SearchIndex<'_>,
    find: &TextQuery,
    new: &str,
    settings: ResolveSettings,
    literal: Option<&[Span]>,
) -> Result<TextMatches> {
    omission::check(find, new, settings)?;
    let search = TextSearch { index, find, new, settings, literal };
    if settings.matching == Matching::Standard
        && !find.old.is_ascii()
        && let Some(found) = search.found_in_plain_blanks()
    {
        return found;
    }
    search.found_without_numbers()
}

/// The search for one old text, and the text that replaces it.
#[derive(Clone, Copy)]
struct TextSearch<'s> {
    index: &'s SearchIndex<'s>,
    find: &'s TextQuery,
    new: &'s str,
    settings: ResolveSettings,
    /// The occurrences of tier 0, if they are known.
    literal: Option<&'s [Span]>,
}

impl TextSearch<'_> {
    /// Finds an old text that is indented by typographic blanks; `None` for any other.
    #[cold]
    fn found_in_plain_blanks(&self) -> Option<Result<TextMatches>> {
        let blanks = PlainBlanks::new(self.index, work::lines(&self.find.old))?;
        let (find, new) = blanks.convert_query(self.find, self.new);
        let found = TextSearch { find: &find, new: &new, literal: None, ..*self }.found_without_numbers();
        Some(found.map(TextMatches::in_plain_blanks))
    }

    /// Finds a text with the blanks of the file. Line numbers that were copied with it are removed from the new text.
    fn found_without_numbers(&self) -> Result<TextMatches> {
        if !self.settings.deletes_literally()
            && let Some(bare) = copied_numbers::uncopied_replacement(self.index.base, &self.find.old, self.new)?
        {
            let mut found = TextSearch { new: &bare, ..*self }.found_as_given()?;
            found.notes.push_front(Note::CopiedNumbers);
            return Ok(found);
        }
        self.found_as_given()
    }

    /// Finds the text by the first tier that has a place for it.
    fn found_as_given(&self) -> Result<TextMatches> {
        let TextSearch { index, find, new, settings, literal } = *self;
        let mut search = MatchSearch::new(index, find, new);
        search.literal = literal;
        search.literal_deletion = settings.deletes_literally();
        search.exact_only = settings.matching == Matching::Exact && !settings.emptied_lines;
        search.literal_only = settings.deletes_literally() || find.lines;
        let (mut reached, mut refused) = (Tier::Exact, None);
        for row in TIERS.iter().filter(|row| row.is_open(&search, settings)) {
            reached = row.tier;
            work::spend(1 + index.text.len() / (4 * STEP_BYTES))?;
            let candidates = match row.run(&search) {
                Ok(candidates) => candidates,
                // The lines to be changed may be inside a block that is replaced as a whole, which a later tier finds.
                Err(refusal) if row.tier == Tier::Drift => {
                    refused = Some(refusal);
                    continue;
                }
                Err(refusal) => return Err(failure::refused(&search, row.tier, &refusal)),
            };
            if !candidates.places.is_empty() {
                return match selected_matches(&search, row.tier, row.note, candidates) {
                    Err(error) if error.code() == Code::EditMisindent => {
                        verbatim(&search, settings).unwrap_or(Err(error))
                    }
                    settled => settled,
                };
            }
        }
        let row = &TIERS[usize::from(Tier::BlankRuns.number())];
        let is_free = refused.as_ref().is_none_or(|refusal| refusal.reason == RefusalReason::Unlike);
        if is_free && row.is_open(&search, settings) && settings.matching == Matching::Standard && !settings.stale {
            work::spend(1 + index.text.len() / (4 * STEP_BYTES))?;
            let candidates = tier::spacing::run(&search);
            if !candidates.places.is_empty() {
                return selected_matches(&search, row.tier, row.note, candidates);
            }
            let candidates = tier::line_breaks::run(&search);
            if !candidates.places.is_empty() {
                return selected_matches(&search, row.tier, LINE_BREAKS_NOTE, candidates);
            }
        }
        // The failure is certain only if the search was not ended early.
        work::spend(1)?;
        Err(match refused {
            Some(refusal) => failure::refused(&search, Tier::Drift, &refusal),
            None => failure::not_found(&search, reached.min(Tier::Drift)),
        })
    }
}

/// Returns the place that has all lines verbatim, in case another alignment would shift some of them.
fn verbatim(search: &MatchSearch<'_>, settings: ResolveSettings) -> Option<Result<TextMatches>> {
    let row = TIERS.iter().find(|row| row.tier == Tier::Drift && row.is_open(search, settings))?;
    let candidates = tier::drift::verbatim(search).ok().filter(|candidates| !candidates.places.is_empty())?;
    Some(selected_matches(search, row.tier, row.note, candidates))
}

/// Selects the occurrences that the call asked for, and computes their edits.
fn selected_matches(
    search: &MatchSearch<'_>,
    tier: Tier,
    note: &'static str,
    candidates: CandidateSites<'_>,
) -> Result<TextMatches> {
    within(candidates.places.len(), search.new.len())?;
    let fitted = candidates.fitted;
    let select::SelectedSites { mut places, note: choice } = select::select(search, tier, candidates)?;
    if tier > Tier::Punctuation
        && search.find.at.is_none()
        && let Some(rival) = rivals::rival_of_places(search, tier, &places)
    {
        return Err(failure::rivals(search, tier, &places, rival.lines));
    }
    if tier >= Tier::Drift
        && let Some(refusal) = places.iter().find_map(|place| tier::escapes::kept_escape(search, place.span))
    {
        return Err(failure::refused(search, tier, &refusal));
    }
    let doubled = target_indent::strip_doubled_indent(search, &mut places);
    let mut hits = Vec::with_capacity(places.len());
    for place in &places {
        work::spend(1 + place.span.len() / STEP_BYTES)?;
        hits.push(place.to_match(search).map_err(|refusal| failure::refused(search, tier, &refusal))?);
    }
    let emptied = tier::exact::emptied_lines(search, &places, &hits);
    let crossing = hits.windows(2).any(|pair| pair[0].span.clashes(pair[1].span));
    if crossing {
        // Deletions that would remove the same whole line are made literally.
        hits = places
            .iter()
            .map(|place| {
                let edits = vec![TextEdit { span: place.span, text: search.new.to_owned() }];
                TextMatch { span: place.span, edits }
            })
            .collect();
    }
    let shifted = matches!(tier, Tier::IndentShift | Tier::IndentWidths);
    let optional_notes = [
        (note, !(fitted && shifted)),
        (target_indent::WRITTEN_AS_IS_NOTE, fitted),
        (target_indent::DOUBLED_INDENT_NOTE, doubled),
    ];
    let optional_notes = optional_notes.into_iter().filter(|(note, is)| *is && !note.is_empty());
    let mut notes: Notes = optional_notes.map(|(note, _)| note).collect();
    if tier <= Tier::Punctuation {
        notes.extend(tier::exact::notes(search.text, &hits));
    }
    notes.extend(tier::exact::unended_line(search, tier, &places));
    notes.extend(choice);
    notes.extend(emptied.filter(|_| !crossing));
    Ok(TextMatches { tier, matches: hits, notes })
}

/// Refuses an edit that would need more memory than any file has.
///
/// Errors: `edit.too_much_work`.
fn within(places: usize, each: usize) -> Result<()> {
    check_amount(places, if places > 1 { places.saturating_mul(each) } else { 0 })
}

/// Checks the limits on the number of places that the edits of a call change, and on the bytes of text that they insert
/// at several places, before any of the text is built.
///
/// Errors: `edit.too_much_work`.
pub fn check_amount(places: usize, fresh: usize) -> Result<()> {
    let what = match () {
        () if places > CHANGED_PLACES_MAX => {
            format!("The edits of the call would change more than {CHANGED_PLACES_MAX} places together")
        }
        () if fresh > INSERTED_BYTES_MAX => {
            format!(
                "All places together would get {fresh} new bytes or more, and at most {INSERTED_BYTES_MAX} are allowed"
            )
        }
        () => return Ok(()),
    };
    Err(Error::new(Code::EditTooMuchWork, format!("{what}; that is too much for one call."))
        .next("Name fewer places in one call: a longer text to replace or a narrower pattern, a part of the file, or fewer edits."))
}

#[cfg(test)]
mod tests {
    use super::{CHANGED_PLACES_MAX, INSERTED_BYTES_MAX, TIERS, Tier, within};

    #[test]
    fn tiers_are_indexed_by_their_number() {
        for (at, row) in TIERS.iter().enumerate() {
            assert_eq!(usize::from(row.tier.number()), at);
            assert_eq!(row.tier.name(), row.name);
        }
        assert_eq!(Tier::Drift.number(), 11);
    }

    #[test]
    fn changed_places_of_a_call_are_limited() {
        assert!(within(CHANGED_PLACES_MAX, 1).is_ok() && within(CHANGED_PLACES_MAX + 1, 0).is_err());
        assert!(within(2, INSERTED_BYTES_MAX / 2).is_ok() && within(2, INSERTED_BYTES_MAX / 2 + 1).is_err());
        assert!(within(1, INSERTED_BYTES_MAX + 1).is_ok());
        // Counting stops once the limit is exceeded.
        let text = "a".repeat(CHANGED_PLACES_MAX + 100);
        assert_eq!(super::tier::exact::occurrences(&text, "a", None).len(), CHANGED_PLACES_MAX + 1);
        assert_eq!(super::tier::exact::occurrences(&text, "a", Some(usize::MAX)).len(), CHANGED_PLACES_MAX + 1);
    }
}
