//! Patches without any flaw, as `diff -u` writes them: only file headers, numbered hunks and their lines, with the right
//! counts. All of their lines are the format's, and each has one meaning: they are read in one pass, without the states,
//! the lookahead and the wrappers of other patches. What is read is what the parser would read.

use super::body::{NumberedHunk, first_line};
use super::both_sides::BothSides;
use super::header;
use super::mistakes::UnifiedDiffMistakes;
use super::name::{self, HeaderSide};
use super::parser::request_of;
use super::patch::FilePatch;
use super::range::{self, HunkHeader};
use crate::formats::envelope;
use crate::formats::line_parser::{ParseOptions, TextEncoding};
use crate::locate::op::{EDITS_PER_CALL_MAX, Hunk, HunkLine, HunkLineKind, Request};
use crate::work;

/// Lines of a hunk for which memory is reserved, at most: its counts may be anything.
const RESERVED_LINES_MAX: usize = 64;

/// A text that turned out not to be such a patch. The parser decides what it is.
struct NotPlain;

type Plain<T> = Result<T, NotPlain>;

/// A part of a plain patch.
enum PlainPart<'t> {
    File(PlainNames<'t>),
    Hunk(PlainRange),
    Line(HunkLineKind, &'t str),
}

/// The headers of a file.
struct PlainNames<'t> {
    /// The names after `diff --git`, and the line `index` below it.
    git: Option<(&'t str, Option<&'t str>)>,
    old: &'t str,
    new: &'t str,
    /// The one-based numbers of the first and the last of these lines.
    lines: (usize, usize),
}

/// The header of a hunk.
struct PlainRange {
    header: HunkHeader,
    /// The numbers of its lines on both sides, neither of them zero.
    counts: (usize, usize),
    /// The one-based number of the line.
    line: usize,
}

/// Reads a text part by part.
struct PlainReader<'t, I: Iterator<Item = &'t str>> {
    rest: I,
    /// The number of the current line, one-based.
    number: usize,
    /// The numbers of lines that the hunk still has on both sides.
    left: (usize, usize),
    hunks: usize,
    /// True directly after the headers of a file.
    is_named: bool,
}

/// Returns the number of lines of a text, if it is a plain patch. Other patches may be valid as well; the parser decides.
pub(super) fn plain_lines(text: &str) -> Option<usize> {
    let mut reader = open(text)?;
    while reader.next_part().ok()?.is_some() {}
    Some(reader.number)
}

/// Parses a plain patch. Returns `None` for any other text, and for a patch with an error.
pub(super) fn parse_plain(text: &str, options: &ParseOptions) -> Option<Request> {
    let mut reader = open(text)?;
    let mut files: Vec<FilePatch> = Vec::new();
    while let Some(part) = reader.next_part().ok()? {
        match part {
            PlainPart::File(names) => files.push(names.into_patch()?),
            PlainPart::Hunk(range) => files.last_mut()?.hunks.push(range.into_hunk()),
            PlainPart::Line(kind, text) => {
                files.last_mut()?.hunks.last_mut()?.hunk.lines.push(HunkLine { kind, text: text.to_owned() });
            }
        }
    }
    request_of(files, options, UnifiedDiffMistakes::default()).ok()
}

/// Begins to read a text; `None` if its first characters are not those of a plain patch.
fn open(text: &str) -> Option<PlainReader<'_, impl Iterator<Item = &str>>> {
    let may_be = text.starts_with(['-', 'd']) && memchr::memchr(b'\r', text.as_bytes()).is_none();
    may_be.then(|| PlainReader { rest: work::lines(text), number: 0, left: (0, 0), hunks: 0, is_named: false })
}

impl<'t, I: Iterator<Item = &'t str>> PlainReader<'t, I> {
    /// Reads the next part; `None` at the end of the text.
    fn next_part(&mut self) -> Plain<Option<PlainPart<'t>>> {
        let Some(line) = self.line() else {
            let is_complete = self.left == (0, 0) && self.hunks > 0 && !self.is_named;
            return if is_complete { Ok(None) } else { Err(NotPlain) };
        };
        if self.left != (0, 0) {
            return self.hunk_line(line).map(Some);
        }
        if !line.starts_with('@') && !self.is_named {
            return self.names(line).map(|names| Some(PlainPart::File(names)));
        }
        self.range(line).map(|range| Some(PlainPart::Hunk(range)))
    }

    fn line(&mut self) -> Option<&'t str> {
        let line = self.rest.next()?;
        self.number += 1;
        Some(line)
    }

    /// Reads the headers of a file, which begin with this line.
    fn names(&mut self, mut line: &'t str) -> Plain<PlainNames<'t>> {
        let first = self.number;
        let mut git = None;
        if let Some(pair) = line.strip_prefix("diff --git ").filter(|pair| are_plain(pair)) {
            line = self.line().ok_or(NotPlain)?;
            let ids = line.strip_prefix("index ").filter(|ids| are_plain(ids)).map(|_| line);
            if ids.is_some() {
                line = self.line().ok_or(NotPlain)?;
            }
            git = Some((pair, ids));
        }
        let old = line.strip_prefix("--- ").filter(|name| is_plain_name(name)).ok_or(NotPlain)?;
        let line = self.line().ok_or(NotPlain)?;
        let new = line.strip_prefix("+++ ").filter(|name| is_plain_name(name)).ok_or(NotPlain)?;
        self.is_named = true;
        Ok(PlainNames { git, old, new, lines: (first, self.number) })
    }

    /// Reads the header of a hunk.
    fn range(&mut self, line: &str) -> Plain<PlainRange> {
        let has_file = self.is_named || self.hunks > 0;
        let header = line.strip_prefix("@@ -").and_then(|_| range::read(line)).ok_or(NotPlain)?;
        let counts = header.counts.filter(|counts| counts.0 > 0 && counts.1 > 0).ok_or(NotPlain)?;
        self.is_named = false;
        self.hunks += 1;
        self.left = counts;
        if !has_file || self.hunks > EDITS_PER_CALL_MAX {
            return Err(NotPlain);
        }
        Ok(PlainRange { header, counts, line: self.number })
    }

    /// Reads a line of a hunk. A line that could be a header is none here.
    fn hunk_line(&mut self, line: &'t str) -> Plain<PlainPart<'t>> {
        let (kind, old, new) = match line.as_bytes() {
            [b'-', b'-', ..] | [b'+', b'+', b'+', ..] => return Err(NotPlain),
            // Tags around an edit are removed first.
            [b' ', ..] if envelope::begins_tag(line) => return Err(NotPlain),
            [b' ', ..] => (HunkLineKind::Context, 1, 1),
            [b'-', ..] => (HunkLineKind::Removed, 1, 0),
            [b'+', ..] => (HunkLineKind::Added, 0, 1),
            _ => return Err(NotPlain),
        };
        let left = self.left.0.checked_sub(old).zip(self.left.1.checked_sub(new));
        self.left = left.ok_or(NotPlain)?;
        Ok(PlainPart::Line(kind, &line[1..]))
    }
}

/// True for words that the parser takes as they are.
fn are_plain(words: &str) -> bool {
    words.split(' ').all(is_plain_name)
}

/// True for a name that the parser takes as it is.
fn is_plain_name(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    name.bytes().all(is_plain) && name.bytes().any(|byte| byte.is_ascii_alphanumeric()) && name != "/dev/null"
}

impl PlainNames<'_> {
    /// Creates the part of the patch about the file; `None` if one of its headers is not what it seems.
    fn into_patch(self) -> Option<FilePatch> {
        let side = |name: &str| Some(HeaderSide { name: Some(name.to_owned()), absent: false });
        let mut file = FilePatch {
            lines: self.lines,
            sides: BothSides { old: side(self.old), new: side(self.new) },
            ..FilePatch::default()
        };
        if let Some((pair, ids)) = self.git {
            file.git = true;
            file.pair = name::git_pair(pair, TextEncoding::Utf8).into();
            if ids.is_some_and(|ids| header::read(&mut file, ids, TextEncoding::Utf8) != Ok(true)) {
                return None;
            }
        }
        Some(file)
    }
}

impl PlainRange {
    /// Creates the hunk, without its lines.
    fn into_hunk(self) -> NumberedHunk {
        let PlainRange { header, counts: (old, new), line } = self;
        let hunk = Hunk {
            lines: Vec::with_capacity(old.saturating_add(new).min(RESERVED_LINES_MAX)),
            section: header.section,
            first: first_line(header.first.0, Some(old), true),
            source_line: line,
            ..Hunk::default()
        };
        NumberedHunk { hunk, new_first: first_line(header.first.1, Some(new), true), crlf: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::parser::UnifiedDiffParser;
    use super::{ParseOptions, plain_lines};
    use crate::formats::testing::check_plain;
    use crate::formats::unified_diff::UnifiedDiff;
    use proptest::prelude::*;

    const PLAIN: &str = "--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@ fn main()\n a\n-b\n+c\n@@ -9 +9,2 @@\n-d\n+e\n+\n--- y\n+++ y\n@@ -1 +1 @@\n-f\n+g";

    #[test]
    fn only_patches_without_flaws_are_plain() {
        assert_eq!(plain_lines(PLAIN), Some(15));
        let flaws =
            [("+c\n", ""), ("@@ -9", "@@ -8,9"), ("a/x.rs", "\"a\""), ("-f", "--f"), (" a", "a"), (" a\n", " a\r\n")];
        for (from, to) in flaws {
            assert_eq!(plain_lines(&PLAIN.replacen(from, to, 1)), None, "{to}");
        }
        assert_eq!(plain_lines(&format!("{PLAIN}\nDone.\n")), None);
    }

    /// Returns texts that are plain patches, or nearly.
    fn patches() -> impl Strategy<Value = String> {
        let parts = [
            "@@ -1 +1 @@\n-b\n+c",
            "@@ -1,2 +1,2 @@\n a\n-b\n+c",
            "@@ -3,2 +3 @@ @@\n-\n ",
            "@@ -3,1 +4,2 @@\n+@@\n ```",
            "--- y\n+++ y\n@@ -1 +1 @@\n-f\n+g",
            "--- a/x\n+++ b/x\n@@ -1,1 +2,1 @@ x\n+g\n-f",
            "--- a/x\n+++ b/x.orig\n@@ -0,1 +0,1 @@ x\n+g\n-f",
            "--- /x\n+++ z",
            " ",
            "diff --git a/x b/x\nindex 12ab..34cd 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-f\n+g",
            "diff --git a/x b/x\nindex 12ab..e69de29 120000\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-f\n+f",
            "diff --git a/x b/y\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-f\n+g",
            "diff --git a/y b/y\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-f\n+g",
            "diff --git a/x b/x",
            "index 12ab..34cd",
            "-- ",
            "@@ -2 +2,2 @@\n+-- a\n ++ a",
            "@@ -5,2 +5,3 @@\n *** Begin Patch\n+*** Update File: x\n ```python",
            "@@ -5,1 +5,3 @@\n edit(path=\"x\", old_string=\"a\", new_string=\"b\")\n+{\"old_string\": \"a\"}\n+=======",
            "@@ -1,1 +1,2 @@\n+=======\n SEARCH",
        ];
        let parts = prop::collection::vec(prop::sample::select(parts.to_vec()), 0..6);
        (parts, any::<bool>(), any::<bool>()).prop_map(|(parts, is_named, is_cut)| {
            let names = if is_named { "--- a/x\n+++ b/x\n" } else { "" };
            format!("{names}{}{}", parts.join("\n"), if is_cut { "" } else { "\n" })
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn plain_patches_are_detected_as_a_whole(text in patches()) {
            if let Some(count) = plain_lines(&text) {
                let whole = 0..count;
                prop_assert_eq!(UnifiedDiffParser::detect_ranges(&text), [whole]);
            }
        }

        #[test]
        fn plain_patches_are_read_as_all_patches_are(
            text in patches(),
            strip in prop::option::of(0_usize..3),
            file in prop::option::of(Just("x".to_owned())),
            reverse: bool,
            is_format_named: bool,
        ) {
            let options = ParseOptions { strip, file, reverse, ..ParseOptions::default() };
            check_plain(&UnifiedDiff, &text, is_format_named, &options);
        }
    }
}
