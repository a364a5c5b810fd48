//! Counts the instructions of the functions on text in memory, next to those of the matching cascade alone.

use crate::text::{changed, lines, mark};
use emendate::core::{ApplyOptions, ExpectedMatches, ResolveSettings, Snapshot, TextQuery, Tier, edit, find};
use std::hint::black_box;

/// Number of lines in 4 KB.
const LINES: usize = 112;
/// The unique line in the middle of the replaced text.
const AT: usize = 75;

/// A text with a block of five lines to be replaced.
struct TextEdits {
    text: String,
    old: String,
    new: String,
}

impl TextEdits {
    /// The block has other indentation in the call than in the text, as models write it.
    fn new() -> TextEdits {
        let text = lines(LINES);
        let block: Vec<&str> = text.lines().skip(AT - 2).take(5).collect();
        let old: String = block.iter().map(|line| format!("      {line}\n")).collect();
        let new = old.replace(&mark(AT), &changed(AT));
        TextEdits { text, old, new }
    }
}

/// Edits a text of 4 KB with the pure function: from the text to the new text, with spans and counts.
pub(crate) fn whole() -> Box<dyn FnMut()> {
    let TextEdits { text, old, new } = TextEdits::new();
    let options = ApplyOptions::new();
    Box::new(move || {
        let edited = edit(&text, &old, &new, &options).unwrap_or_else(|error| panic!("{error}"));
        assert!(edited.tier == Tier::IndentShift && edited.text.len() != text.len());
        black_box(edited);
    })
}

/// Finds the same block in the same text: the matching cascade alone.
pub(crate) fn matching() -> Box<dyn FnMut()> {
    let TextEdits { text, old, new } = TextEdits::new();
    Box::new(move || {
        let base = Snapshot::from_text(&text);
        let query = TextQuery::new(&old, ExpectedMatches::Unique);
        let found = find(&base, &query, &new, ResolveSettings::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(found.tier, Tier::IndentShift);
        black_box(found);
    })
}
