//! Tokens common to both dialects: whitespace, numbers, ranges, and the end of an operation line.

use super::dialect::{HashlineDialect, OpLineError};
use crate::locate::anchor_map::AnchorWord;
use crate::locate::line_edits::{AnchorRange, LineTarget, Register};
use crate::text::content::HeaderStyle;

/// The action of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OpKind {
    /// Writes the rows below the operation.
    Body,
    /// Removes lines.
    Take,
    /// Pastes a register.
    Paste,
    /// Deletes the file.
    Remove,
    /// Moves the file to this path.
    Move(String),
}

/// A parsed operation line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpLine {
    pub(super) kind: OpKind,
    pub(super) place: LineTarget,
    /// Anchors in place of the line numbers.
    pub(super) words: AnchorRange,
    /// Text expected on the first line.
    pub(super) check: Option<String>,
    /// The first row of the body, written on the same line.
    pub(super) inline: Option<String>,
    pub(super) keep: Option<Register>,
    pub(super) paste: Option<Register>,
    /// True if the operation ends with a colon.
    pub(super) colon: bool,
    /// The note about a repaired mistake.
    pub(super) lenient: Option<&'static str>,
}

impl OpLine {
    pub(super) fn new(kind: OpKind, place: LineTarget) -> OpLine {
        OpLine {
            kind,
            place,
            words: AnchorRange::default(),
            check: None,
            inline: None,
            keep: None,
            paste: None,
            colon: false,
            lenient: None,
        }
    }

    /// Sets anchors in place of line numbers.
    pub(super) fn named(self, words: AnchorRange) -> OpLine {
        OpLine { words, ..self }
    }

    /// True if the operation does not cut to a named register.
    pub(super) fn unnamed(&self) -> bool {
        self.keep.as_ref().is_none_or(|register| register.0.is_none())
    }
}

/// True for whitespace of the format: ASCII only, without NBSP and other Unicode spaces.
pub(super) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0B | 0x0C | b'\r')
}

/// Trims the whitespace at both ends of a line.
pub(super) fn trimmed(line: &str) -> &str {
    line.trim_matches(|ch| u8::try_from(ch).is_ok_and(is_blank))
}

/// A scanner for one line, from left to right.
#[derive(Clone, Copy)]
pub(super) struct LineScanner<'a> {
    pub(super) rest: &'a str,
}

/// A range of lines by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineNumberRange {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Anchors in place of the numbers.
    pub(super) words: AnchorRange,
    /// True if the range is written in the dialect's own form.
    pub(super) strict: bool,
    /// True if the range has a separator but no last line.
    pub(super) open: bool,
}

impl LineNumberRange {
    /// Returns a range of one line, which may have an anchor.
    fn one_line(line: usize, word: Option<AnchorWord>, strict: bool) -> LineNumberRange {
        LineNumberRange { from: line, to: line, words: AnchorRange { from: word, to: word }, strict, open: false }
    }
}

impl<'a> LineScanner<'a> {
    pub(super) fn new(line: &'a str) -> LineScanner<'a> {
        LineScanner { rest: trimmed(line) }
    }

    pub(super) fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Skips whitespace; returns true if there was some.
    pub(super) fn skip_whitespace(&mut self) -> bool {
        let before = self.rest.len();
        self.rest = self.rest.trim_start_matches(|ch: char| u8::try_from(ch).is_ok_and(is_blank));
        self.rest.len() < before
    }

    pub(super) fn eat(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Accepts a word that is followed by whitespace or nothing.
    pub(super) fn word(&mut self, word: &str) -> bool {
        let mut next = *self;
        let found = next.eat(word) && (next.skip_whitespace() || next.at_end());
        if found {
            *self = next;
        }
        found
    }

    /// Parses a line number without sign or leading zero; one that is too large becomes the maximum.
    pub(super) fn number(&mut self) -> Option<usize> {
        let digits = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || self.rest.starts_with('0') {
            return None;
        }
        let (number, rest) = self.rest.split_at(digits);
        self.rest = rest;
        Some(number.parse().unwrap_or(usize::MAX))
    }

    /// Parses a reference to a line: its number, or its anchor with the number 0. Text that only resembles an anchor
    /// gives the number 0 without an anchor.
    pub(super) fn line(&mut self) -> Option<(usize, Option<AnchorWord>)> {
        if let Some(number) = self.number() {
            return Some((number, None));
        }
        let letters = self.rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (word, rest) = self.rest.split_at(letters);
        let capitals = word.bytes().filter(u8::is_ascii_uppercase).count();
        let shaped = word.starts_with(|first: char| first.is_ascii_uppercase()) && capitals <= 2 && word.len() > 2;
        if !shaped {
            return None;
        }
        self.rest = rest;
        Some((0, word.parse().ok()))
    }

    /// Parses one line or a range, with any separator made of spaces, tabs, `-`, `.`, `=` and `…`. Between anchors,
    /// whitespace alone is not a separator.
    pub(super) fn range(&mut self, dialect: &HashlineDialect) -> Option<LineNumberRange> {
        let (from, first) = self.line()?;
        let mut next = *self;
        next.rest = next
            .rest
            .trim_start_matches(|ch| matches!(ch, '-' | '.' | '=' | '…') || u8::try_from(ch).is_ok_and(is_blank));
        let between = &self.rest[..self.rest.len() - next.rest.len()];
        let written = !trimmed(between).is_empty();
        if between.is_empty() {
            return Some(LineNumberRange::one_line(from, first, true));
        }
        let strict = between == dialect.between;
        if let Some((to, last)) = next.line().filter(|(to, _)| written || from > 0 && *to > 0) {
            *self = next;
            return Some(LineNumberRange {
                from,
                to,
                words: AnchorRange { from: first, to: last },
                strict,
                open: false,
            });
        }
        if written {
            // Nothing follows the separator.
            *self = next;
            return Some(LineNumberRange { open: true, ..LineNumberRange::one_line(from, first, false) });
        }
        Some(LineNumberRange::one_line(from, first, true))
    }

    /// Parses a register's name with its `@`; `Some(Err)` for an invalid one.
    pub(super) fn register(&mut self) -> Option<Result<Register, ()>> {
        let mut next = *self;
        next.skip_whitespace();
        if !next.eat("@") {
            return None;
        }
        let len =
            next.rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')).count();
        let (name, rest) = next.rest.split_at(len);
        next.rest = rest;
        *self = next;
        Some(if (1..=64).contains(&len) { Ok(Register(Some(name.to_owned()))) } else { Err(()) })
    }

    /// Parses the rest of an operation line: `|expected text|`, a colon, the first row. Returns false for anything
    /// else.
    pub(super) fn tail(&mut self, op: &mut OpLine) -> bool {
        self.skip_whitespace();
        if let Some(rest) = self.rest.strip_prefix('|') {
            let Some(end) = rest.rfind('|').filter(|end| !trimmed(&rest[..*end]).is_empty()) else { return false };
            op.check = Some(rest[..end].to_owned());
            self.rest = &rest[end + 1..];
            self.skip_whitespace();
        }
        op.colon = self.eat(":");
        self.skip_whitespace();
        if let (true, Some(row)) = (op.colon, self.rest.strip_prefix('+')) {
            op.inline = Some(row.to_owned());
            op.lenient = Some("A row on the line of its operation was taken as the first of its body.");
            self.rest = "";
        }
        self.at_end()
    }
}

/// Returns the error for a name that no line can have.
pub(super) fn unknown_word(op: &OpLine) -> Option<OpLineError> {
    let wrong = match op.place {
        LineTarget::Lines { from, to } => from == 0 && op.words.from.is_none() || to == 0 && op.words.to.is_none(),
        LineTarget::Block(line) | LineTarget::Before(line) | LineTarget::After(line) | LineTarget::AfterBlock(line) => {
            line == 0 && op.words.from.is_none()
        }
        LineTarget::Head | LineTarget::Tail => false,
    };
    wrong.then(|| OpLineError {
        what: "a line is named by a word that no line of any file has.".to_owned(),
        next: "Name lines by their numbers, or by the words that read prints with format anchors.".to_owned(),
    })
}

/// Returns the error for a range that ends before it starts, or that has a separator and no last line. The current
/// dialect tolerates the latter, the seed's does not.
pub(super) fn misplaced(op: &OpLine, range: LineNumberRange, dialect: &HashlineDialect) -> Option<OpLineError> {
    if range.open && dialect.header == HeaderStyle::Pilcrow {
        let from = range.words.from.map_or_else(|| range.from.to_string(), |word| word.to_string());
        return Some(OpLineError {
            what: format!("the range that starts at {from} has no last line."),
            next: format!(
                "Name the last line: {from}{0}{from} for line {from} alone, or {from}{0}M up to line M.",
                dialect.between
            ),
        });
    }
    reversed(op, range, dialect)
}

fn reversed(op: &OpLine, range: LineNumberRange, dialect: &HashlineDialect) -> Option<OpLineError> {
    // If an anchor names a line, only the file shows which line is the upper one.
    (range.from > 0 && range.to > 0 && range.to < range.from).then(|| OpLineError {
        what: format!("range {}..{} ends before it starts.", range.from, range.to),
        next: format!(
            "Both numbers are lines of the file, never a count: `{}`, or `{}` if {} lines were meant.",
            dialect.written_for(op, range.to, range.from),
            dialect.written_for(op, range.from, range.from.saturating_add(range.to - 1)),
            range.to
        ),
    })
}

/// The note for a range that was not written in the dialect's form.
pub(super) const SEPARATOR_NOTE: &str =
    "A range was written with another separator; it was read as first and last line.";
/// The note for a missing colon.
pub(super) const COLON_NOTE: &str = "A missing `:` after an operation was added.";
