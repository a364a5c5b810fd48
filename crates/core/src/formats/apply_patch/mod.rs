//! `apply_patch`: patches as Codex models write them (`*** Begin Patch`, also called V4A), for several files at once.
//!
//! One parser handles both incremental and complete patches. Unambiguous mistakes are repaired and reported; a patch
//! without its end is refused, because it may be truncated.

mod body;
mod marker;
mod mistakes;
mod parser;
mod plain;
mod print;
mod request;
mod shell;
mod unified;

use super::line_parser::{LineParser, ParseOptions};
use super::ranges::contains_any;
use super::{Format, FormatSpec, hashline};
use crate::locate::op::Request;
use crate::work;
use marker::Marker;
use std::ops::Range;

pub use print::print;

/// The format.
pub struct ApplyPatch;

impl Format for ApplyPatch {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "apply_patch",
            summary: "patches with `*** Begin Patch`, for several files, as Codex models write them (V4A)",
            prompt: PROMPT,
            schema: None,
            key: "",
            example: "*** Begin Patch\n*** Update File: src/main.rs\n@@ fn main() {\n-    let x = 1;\n+    let x = 2;\n     run(x);\n*** End Patch\n",
            grammar: Some(include_str!("grammar.lark")),
        }
    }

    fn detected_ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut out = Vec::new();
        if !contains_any(text, &["**"]) {
            return out;
        }
        // The first line of the open patch, and of the shell line directly above it.
        let (mut open, mut above) = (None, None);
        let (mut last, mut indented_end) = (0, None);
        let (mut names_file, mut margin) = (false, 0);
        for (number, line) in work::lines(text).enumerate() {
            let trimmed = line.trim();
            let found = marker::read(trimmed).map(|(marker, exact)| (marker, exact, line.starts_with('*')));
            names_file |= found.is_some_and(|(marker, exact, at_margin)| exact && at_margin && marker.is_operation());
            let is_marked = names_file && line.starts_with(['+', '-', ' ']);
            let indent = line.len() - line.trim_start().len();
            match (open, found) {
                (None, Some((Marker::Begin, ..))) => {
                    (open, indented_end, names_file) = (Some(above.unwrap_or(number)), None, false);
                    margin = indent;
                }
                // Words of a patch may precede a header of hashline, which belongs to that format.
                (None, Some((marker, true, true))) if marker.is_operation() && !hashline::opens(line) => {
                    (open, indented_end, margin) = (Some(number), None, 0);
                }
                (Some(from), Some((Marker::End, _, true))) => {
                    out.push(from..number + 1);
                    open = None;
                }
                // An indented marker may be a line of the file; the last one counts.
                (Some(_), Some((Marker::End, _, false))) => indented_end = Some(number),
                (Some(_), Some(_)) => margin = margin.min(indent),
                // A patch whose markers are indented may be context in a unified diff: other text ends it.
                (Some(from), None) if indent < margin && !trimmed.is_empty() && !may_be_in_hunk(line) => {
                    out.push(from..indented_end.unwrap_or(last) + 1);
                    open = None;
                }
                // The patch is the envelope of another format, unless it changes such a line of a file.
                (Some(_), None) if !is_marked && hashline::opens(line) => open = None,
                _ => {}
            }
            if !trimmed.is_empty() {
                above = (open.is_none() && shell::opener(trimmed).is_some()).then_some(number);
                last = number;
            }
        }
        out.extend(open.map(|from| from..indented_end.unwrap_or(last) + 1));
        out
    }

    fn parse_plain(&self, text: &str, options: &ParseOptions) -> Option<Request> {
        plain::parse_plain(text, options)
    }

    fn line_parser(&self, options: &ParseOptions) -> Option<Box<dyn LineParser>> {
        Some(Box::new(parser::ApplyPatchParser::new(options)))
    }
}

/// True for a line as those of a hunk, but for the line above the signature of a mail.
fn may_be_in_hunk(line: &str) -> bool {
    line.starts_with(['+', '-', ' ']) && line.trim_end() != "--" || line.starts_with("@@")
}

/// The instructions for a model.
pub const PROMPT: &str = "\
Changes files by a patch, all or nothing:

*** Begin Patch
*** Update File: src/a.py
@@ class Config:
@@     def load(self):
         first = 1
-        second = 2
+        second = 3
*** Update File: old/name.py
*** Move to: new/name.py
*** Add File: src/b.py
+every line of a new file begins with a plus
*** Delete File: src/c.py
*** End Patch

An update has chunks. Each begins with `@@`; its lines begin with a blank (the line stays), `-` (it goes) or `+` (it is new), \
followed by the line as it is in the file, indentation included. Give about three lines that stay before and after a change. \
The old lines of a chunk must occur once in the file: where they occur more often, write more of them, or name the function \
or class around them behind `@@`, outermost first, each on a line of its own. Lines that are only new go directly below the \
line named behind `@@`. `*** End of File` below a chunk says that it reaches the end of the file. No line numbers. \
`*** Move to:` goes directly below its `*** Update File:` and needs no chunk. Add and Move refuse a path that exists. \
Write `*** End Patch` last: a patch without it is refused.";

#[cfg(test)]
mod tests;
