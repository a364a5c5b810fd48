//! Resolution of anchors to line numbers, with every check that an edit by anchors has to pass.

use super::{AnchorMap, AnchorWord, copied};
use crate::advice;
use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::line_edits::{self, AnchorRange, LineEdit, LineTarget};
use crate::locate::op::{Locator, Op};
use crate::note::Notes;
use crate::text::snapshot::Snapshot;
use std::borrow::Cow;
use std::collections::HashMap;

/// A reference of a caller to a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorRef {
    /// The word.
    pub word: AnchorWord,
    /// The text of the line as the caller gives it, without a line end.
    pub line: Option<String>,
}

/// The lines that an edit replaces, or next to which it inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnchorTarget {
    /// Replaces these lines.
    Lines {
        /// The first line.
        from: AnchorRef,
        /// The last line.
        to: AnchorRef,
    },
    /// Inserts rows before this line.
    Before(AnchorRef),
    /// Inserts rows after this line.
    After(AnchorRef),
}

/// An edit by anchors. [`Op::text`] has the new rows, each with a line end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnchorEdit {
    /// The target.
    pub place: AnchorTarget,
    /// Index of the edit in the call.
    pub index: usize,
}

impl AnchorEdit {
    /// The words of the lines that the edit names.
    fn named_words(&self) -> Vec<AnchorWord> {
        match &self.place {
            AnchorTarget::Before(line) | AnchorTarget::After(line) => vec![line.word],
            AnchorTarget::Lines { from, to } => vec![from.word, to.word],
        }
    }
}

/// The edit by anchors in an operation, if it is one.
pub fn of(op: &Op) -> Option<&AnchorEdit> {
    match &op.at {
        Locator::AnchorWords(worded) => Some(worded),
        _ => None,
    }
}

/// True when all operations are edits by anchors.
pub fn are_anchor_edits(ops: &[Op]) -> bool {
    !ops.is_empty() && ops.iter().all(|op| of(op).is_some())
}

/// A version with the anchors of its lines.
pub struct AnchorPage<'a> {
    of: &'a Snapshot,
    words: &'a [AnchorWord],
    /// The line of each word. Every line of the file is inserted in each call, so a fast hash is used.
    lines: HashMap<AnchorWord, usize, foldhash::fast::RandomState>,
    /// The map that has the tombstones.
    earlier: Option<&'a AnchorMap>,
}

/// The reason why an edit cannot be placed.
#[derive(Debug)]
pub struct PlacementError {
    /// The error.
    pub error: Error,
    /// The lines (1-based, first and last) to show to the caller.
    pub show: Option<(usize, usize)>,
}

impl<'a> AnchorPage<'a> {
    /// Creates a page; `words` are the anchors of the lines of `of`.
    pub fn new(of: &'a Snapshot, words: &'a [AnchorWord]) -> AnchorPage<'a> {
        AnchorPage { of, words, lines: words.iter().copied().zip(1..).collect(), earlier: None }
    }

    /// Adds the tombstones, so that errors can show the lines at the position of a deleted one.
    #[must_use]
    pub fn with_tombstones(self, words: &'a AnchorMap) -> AnchorPage<'a> {
        AnchorPage { earlier: Some(words), ..self }
    }

    /// The 1-based number of the line that has this word.
    pub fn line_of(&self, word: AnchorWord) -> Option<usize> {
        self.lines.get(&word).copied()
    }

    /// The words of lines `from..=to`.
    pub fn words(&self, from: usize, to: usize) -> &'a [AnchorWord] {
        self.words.get(from.saturating_sub(1)..to).unwrap_or(&[])
    }

    fn text(&self, line: usize) -> &'a str {
        let text = self.of.text();
        let line = &text[self.of.lines().span_of(text, line, line).range()];
        line.strip_suffix('\n').unwrap_or(line)
    }

    /// Returns an edit without the words that were copied before its new rows, and notes that. Not for calls that want
    /// every character as it is.
    ///
    /// Errors: rows that begin with a word that may be meant literally, or may be copied.
    pub fn without_copied_words<'o>(&self, op: &'o Op, notes: &mut Notes) -> Result<Cow<'o, Op>, PlacementError> {
        let named = match &op.at {
            Locator::AnchorWords(edit) => edit.named_words(),
            Locator::Lines(rows) => rows.anchors.words(),
            _ => return Ok(Cow::Borrowed(op)),
        };
        let subject = || match &op.at {
            Locator::AnchorWords(edit) => format!("edits[{}]: ", edit.index),
            _ => line_edits::of(op).map(LineEdit::describe).unwrap_or_default(),
        };
        if let Some((word, rest)) = copied::named_word(&op.text, &named)
            && let Some(line) = self.line_of(word)
        {
            if !copied::is_certain(rest, self.text(line)) {
                let what = format!("{}the new text begins with {word}, which is the word of a line.", subject());
                return Err(words_refusal(what, &op.text));
            }
            notes.push(format!("{}the words in front of the new lines were removed.", subject()));
            return Ok(Cow::Owned(Op { at: op.at.clone(), text: copied::without_words(&op.text, &named) }));
        }
        match op.text.lines().find(|row| of(op).is_some() && self.is_marked(row)) {
            Some(row) => {
                let what = format!("{}text has the word of a line before the line itself.", subject());
                Err(words_refusal(what, row))
            }
            None => Ok(Cow::Borrowed(op)),
        }
    }

    /// Converts an edit by anchors to one by line number. `is_spent` returns true if a line had that word before.
    pub fn to_line_edit(&self, op: &Op, is_spent: impl Fn(AnchorWord) -> bool) -> Result<Op, PlacementError> {
        let Some(worded) = of(op) else {
            let error = Error::new(Code::InternalBug, "Edits by words cannot be placed together with others.");
            return Err(PlacementError { error, show: None });
        };
        let prefix = format!("edits[{}]", worded.index);
        let place = match &worded.place {
            AnchorTarget::Before(anchor) => LineTarget::Before(self.line_for(anchor, &prefix, &is_spent)?),
            AnchorTarget::After(anchor) => LineTarget::After(self.line_for(anchor, &prefix, &is_spent)?),
            AnchorTarget::Lines { from, to } => {
                let (first, last) = (self.line_for(from, &prefix, &is_spent)?, self.line_for(to, &prefix, &is_spent)?);
                if first > last {
                    let what =
                        format!("{prefix}: {} comes after {}: a range begins with its upper line.", from.word, to.word);
                    let error = Error::new(Code::CallInvalid, what).next("Swap the two if that range is meant.");
                    return Err(PlacementError { error, show: Some((last, first)) });
                }
                LineTarget::Lines { from: first, to: last }
            }
        };
        let words = AnchorRange::default();
        let rows = LineEdit {
            target: place,
            anchors: words,
            check: None,
            old: Vec::new(),
            context: Vec::new(),
            cut_to: None,
            paste: None,
            source_text: prefix,
            source_line: 0,
        };
        Ok(Op { at: Locator::Lines(Box::new(rows)), text: op.text.clone() })
    }

    /// Returns the line number of an anchor; `prefix` begins the message of an error.
    fn line_for(
        &self,
        anchor: &AnchorRef,
        prefix: &str,
        is_spent: &impl Fn(AnchorWord) -> bool,
    ) -> Result<usize, PlacementError> {
        self.line(anchor, is_spent)
            .map_err(|it| PlacementError { error: it.error.prefixed(&format!("{prefix}: ")), ..it })
    }

    /// True if a row of new text is a line of the file as it was shown, with its word.
    fn is_marked(&self, row: &str) -> bool {
        let Some((word, text)) = row.split_once([':', '\t']) else { return false };
        let line = word.parse().ok().and_then(|word| self.line_of(word));
        line.is_some_and(|line| !text.is_empty() && self.text(line) == text)
    }

    /// Returns the number of the line that an anchor names.
    pub fn line(&self, anchor: &AnchorRef, is_spent: &impl Fn(AnchorWord) -> bool) -> Result<usize, PlacementError> {
        let word = anchor.word;
        let Some(line) = self.line_of(word) else {
            // The line may still exist, with another word.
            let text = anchor.line.as_deref().filter(|text| !text.trim().is_empty());
            let mut lines = self.of.text().split_terminator('\n').zip(1..);
            let found = text.and_then(|text| lines.find(|(line, _)| *line == text)).map(|(_, line)| line);
            let error = if is_spent(word) {
                Error::new(
                    Code::StaleChanged,
                    format!("The line of {word} no longer exists: it was changed or removed."),
                )
            } else {
                Error::new(Code::MatchNotFound, format!("{word} is not the word of a line of this file."))
            };
            let show =
                found.map(|line| (line, line)).or_else(|| self.earlier.and_then(|past| past.former_position(word)));
            let error = error.next(match (found, show) {
                (Some(_), _) => {
                    "A line with that text is shown above under its word: use that if it is the one you mean.".into()
                }
                (None, Some(_)) => "The lines now in its place are shown above: use their words.".into(),
                (None, None) => read_words("Read the lines again", "and copy their words."),
            });
            return Err(PlacementError { error, show });
        };
        match &anchor.line {
            Some(stated) if *stated != self.text(line) => {
                let error = Error::new(
                    Code::MatchNotFound,
                    format!("{word} is a line of this file, but its text differs from what you sent."),
                )
                .evidence(format!("said:  {:?}\nis:    {:?}", shortened(stated), shortened(self.text(line))))
                .next("Send the word alone, or with the line as it is, if that line is meant.");
                Err(PlacementError { error, show: Some((line, line)) })
            }
            _ => Ok(line),
        }
    }
}

/// Refuses new text with words that may have been copied; `text` begins with the row in question.
fn words_refusal(what: String, text: &str) -> PlacementError {
    let row = text.lines().find(|row| !row.trim().is_empty()).unwrap_or_default();
    let error = Error::new(Code::CallInvalid, what).evidence(row.chars().take(80).collect::<String>()).next(
        Advice::named(
            "Write new lines without words; if the word belongs to the text, repeat the call with {match=\"exact\"}.",
        )
        .or("Write new lines without words."),
    );
    PlacementError { error, show: None }
}

/// Returns the advice to read lines with their anchors, for clients that have to request anchors.
pub(crate) fn read_words(first: &str, then: &str) -> Advice {
    advice![format!("{first} with "), Phrase::FieldOf("read", "format"), format!(" anchors, {then}")]
        .or(format!("{first}, {then}"))
}

/// Returns at most 200 characters of a text.
fn shortened(text: &str) -> String {
    text.chars().take(200).collect::<String>()
}
