//! `unified_diff`: the output of `diff -u` and git, and what models write in its style. The text shows which lines are
//! kept, removed and added; their place in the file is found later. Line numbers are hints, and counts are evidence.
//!
//! `docs/formats/unified_diff.md` lists every flaw and whether it is repaired or refused.

mod binary_patch;
mod body;
mod both_sides;
mod bounds;
mod header;
mod mistakes;
mod move_sources;
mod name;
mod outside;
mod parser;
mod patch;
mod plain;
mod range;

use super::line_parser::{LineParser, ParseOptions};
use super::ranges::contains_any;
use super::{Format, FormatSpec};
use crate::locate::op::Request;
use parser::UnifiedDiffParser;
pub(super) use parser::nameless_hunk_advice;
use std::ops::Range;

/// The format.
pub struct UnifiedDiff;

impl Format for UnifiedDiff {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "unified_diff",
            summary: "a patch as diff -u and git write it, with hunks of marked lines",
            prompt: PROMPT,
            schema: None,
            key: "",
            example: "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,3 +1,3 @@\n fn main() {\n-    let x = 1;\n+    let x = 2;\n }\n",
            grammar: None,
        }
    }

    fn detected_ranges(&self, text: &str) -> Vec<Range<usize>> {
        if let Some(lines) = plain::plain_lines(text) {
            return std::iter::once(0..lines).collect();
        }
        let occurs = contains_any(text, &["@@", "--- ", "+++ ", "diff --", "Index: "]);
        if occurs { UnifiedDiffParser::detect_ranges(text) } else { Vec::new() }
    }

    fn parse_plain(&self, text: &str, options: &ParseOptions) -> Option<Request> {
        plain::parse_plain(text, options)
    }

    fn line_parser(&self, options: &ParseOptions) -> Option<Box<dyn LineParser>> {
        Some(Box::new(UnifiedDiffParser::new(options)))
    }
}

/// Returns a parser for a diff that follows this number of lines of the request.
pub(super) fn parser_behind(lines: usize, options: &ParseOptions) -> Box<dyn LineParser> {
    Box::new(UnifiedDiffParser::new(options).behind(lines))
}

const PROMPT: &str = "\
Changes files by a unified diff. For each file:

--- a/path/of/file
+++ b/path/of/file
@@ -10,4 +10,5 @@ name of the function around it
 an unchanged line begins with a space
-a removed line begins with -
+an added line begins with +
 three lines around each change, copied exactly, without line numbers in front

Every line of a hunk has one mark in front of the text, blank lines too. The numbers after @@ are the first line and the count of \
lines, old and new; when you do not know them, write just @@. Removed lines must be in the file as they are there. Each place in \
the file is found by the lines of the hunk: give enough of them to make it unique. A new file has --- /dev/null and only lines with \
+; a deleted one +++ /dev/null and all its lines with -. To rename, begin with diff --git a/OLD b/NEW, rename from OLD, rename to NEW. \
If the last line of a file has no line end, write \\ No newline at end of file below it.";

#[cfg(test)]
mod tests;
