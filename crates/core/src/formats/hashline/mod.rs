//! `hashline`: edits by line number against a tagged version, as `read` prints it. Two dialects of one language: the
//! seed's (`¶PATH#TAG`; `replace`, `delete`, `insert`) and the current one (`[PATH#TAG]`; `PUT`, `CUT`, `MV`, `REM`).
//!
//! The header determines the dialect of its section. Unambiguous mistakes are repaired with a note; everything else is
//! refused with the text to send instead.

mod body;
mod current;
mod detect;
mod dialect;
mod fence_line;
mod fenced_body;
mod foreign;
mod header;
mod older_spelling;
mod parser;
mod prose;
mod section;
mod seed;
mod stray;
#[cfg(test)]
mod tests;
mod token;

use super::line_parser::{LineParser, ParseOptions};
use super::{Format, FormatSpec};
use crate::code::Code;
use crate::error::Error;
use crate::text::content::HeaderStyle;
use dialect::HashlineDialect;
use parser::HashlineParser;
use std::ops::Range;

/// The format, with the instructions for one dialect. It parses both dialects.
pub struct Hashline(HeaderStyle);

impl Hashline {
    /// The dialect of the seed: `¶PATH#TAG` and verbs.
    pub const SEED: Hashline = Hashline(HeaderStyle::Pilcrow);
    /// The current dialect: `[PATH#TAG]`, `PUT` and `CUT`.
    pub const CURRENT: Hashline = Hashline(HeaderStyle::Brackets);
}

/// True for a line that can only be a header of this format: at the left margin, with a tag.
pub(super) fn opens(line: &str) -> bool {
    header::classify(line).is_some_and(|(_, inner)| header::is_tagged(inner))
}

/// True for an operation with a body that begins at the left margin.
pub(super) fn begins(line: &str) -> bool {
    let sure = line.starts_with(|first: char| first.is_ascii_alphabetic()) && line.trim_end().ends_with(':');
    sure && [HeaderStyle::Pilcrow, HeaderStyle::Brackets]
        .into_iter()
        .any(|header| (HashlineDialect::dialect_of(header).read)(line).is_some_and(|op| op.is_ok_and(|op| op.colon)))
}

pub(super) use foreign::convert;

/// True for a path that headers of both kinds can contain unambiguously.
pub fn is_name(path: &str) -> bool {
    let tag = crate::text::content::ShortTag::of("");
    [HeaderStyle::Pilcrow, HeaderStyle::Brackets].into_iter().all(|header| {
        let line = header.line(path, tag);
        let read = (!path.contains(['\n', '\r'])).then(|| header::classify(&line)).flatten();
        read.is_some_and(|(found, inner)| found == header && header::read(inner).is_some_and(|it| it.path == path))
    })
}

/// Creates the error for a line of the input.
fn broken(at: usize, what: &str, row: &str) -> Error {
    let row = crate::locate::line_format::clip(row);
    Error::new(Code::EditUnparsable, format!("line {at}: {what}"))
        .evidence(format!("Line {at} of the input: {row}"))
        .fact("line", at)
}

static SEED_SPEC: FormatSpec = FormatSpec {
    name: "hashline",
    summary: "hunks by line number against a tagged version (¶path#TAG, replace/delete/insert)",
    prompt: SEED_PROMPT,
    schema: None,
    key: "",
    example: "¶src/main.rs#1A2B\nreplace 2..3:\n+let x = 2;\ninsert after 9:\n+done();\n",
    grammar: Some(SEED_GRAMMAR),
};

static CURRENT_SPEC: FormatSpec = FormatSpec {
    name: "hashline_put",
    summary: "hunks by line number against a tagged version ([path#TAG], PUT/CUT/MV/REM)",
    prompt: CURRENT_PROMPT,
    schema: None,
    key: "",
    example: "[src/main.rs#1A2B]\nPUT 2.=3:\n+let x = 2;\nCUT 9\n",
    grammar: Some(CURRENT_GRAMMAR),
};

impl Format for Hashline {
    fn spec(&self) -> &'static FormatSpec {
        match self.0 {
            HeaderStyle::Pilcrow => &SEED_SPEC,
            HeaderStyle::Brackets => &CURRENT_SPEC,
        }
    }

    fn detected_ranges(&self, text: &str) -> Vec<Range<usize>> {
        detect::detect_ranges(text, HashlineDialect::dialect_of(self.0))
    }

    fn is_first_line(&self, line: &str) -> bool {
        let dialect = HashlineDialect::dialect_of(self.0);
        let header = header::classify(line).is_some_and(|(header, inner)| header == self.0 && !inner.is_empty());
        header || (dialect.read)(line).is_some() || stray::begins_like_an_operation(line)
    }

    fn line_parser(&self, options: &ParseOptions) -> Option<Box<dyn LineParser>> {
        Some(Box::new(HashlineParser::new(options)))
    }
}

/// The instructions for the seed's dialect.
pub const SEED_PROMPT: &str = "\
Edits files by line number. read prints a header ¶PATH#TAG and rows N:TEXT; copy the header, use only the numbers.

¶src/a.ts#1A2B
replace 4..6:
+new line
+another
delete 9
insert after 12:
+text

replace N..M: puts the rows below in place of lines N to M, delete N..M removes them, insert before N: / after N: / head: / tail: adds \
rows. replace block N: and delete block N mean the whole syntactic block that begins on line N, insert after block N: the place behind it. \
Every row of a body begins with +, the rest is the line as it shall be; + alone is an empty line. All numbers mean the file as it \
was shown, whatever other hunks do; no line may be in two ranges. Ranges name exactly the lines that change: never repeat the lines \
around them in the body. Several sections, one per file, are applied all or not at all. The reply gives the new header; use it for the \
next edit. If the tag is stale, read again. To be safe against a miscount, a range may say what its first line holds: \
replace 4..6 |fn a(|:";

const CURRENT_PROMPT: &str = "\
Edits files by line number. read prints a header [PATH#TAG] and rows N:TEXT; copy the header, use only the numbers.

[src/a.ts#1A2B]
PUT 4.=6:
+new line
+another
CUT 9
PUT >12:
+text

PUT N.=M: puts the rows below in place of lines N to M; PUT <N: before line N, PUT >N: behind it, PUT <1: at the head, PUT >$: at the \
tail. CUT N.=M removes lines. PUT N*: and CUT N* mean the whole syntactic block that begins on line N, PUT >N*: the place behind it. Every row of a body begins with +, the rest is the line as it shall be; + alone is an empty line. To move \
text: CUT N.=M @name, then PUT >K @name without a colon, also under another header. MV PATH moves the file, REM removes it. All numbers \
mean the file as it was shown, whatever other hunks do; the number behind .= is a line, not a count; no line may be in two ranges. Never \
repeat the lines around a range in its body. Several sections, one per file, are applied all or not at all. The reply gives the new header.";

/// Creates a grammar from the rules of a dialect and the common ones. A line is referred to by its number or its
/// anchor. A path may contain any character, except for decorations around it; it ends at the tag.
macro_rules! grammar {
    ($rules:literal) => {
        concat!(
            $rules,
            r##"row: "+" TEXT? LF
line: NUMBER | WORD
begin: "*** Begin Patch" LF
end: "*** End Patch" LF?
TEXT: /[^\n]+/
NUMBER: /[1-9][0-9]*/
WORD: /[A-Z][a-z]{2,}([A-Z][a-z]{2,})?/
LF: "\n"
"##
        )
    };
}

const SEED_GRAMMAR: &str = grammar!(
    r##"start: begin? section+ end?
section: HEADER LF op+
op: replace | delete | insert
replace: "replace " range CHECK? ":" LF row+ | "replace block " line ":" LF row+
delete: "delete " range CHECK? LF | "delete block " line LF
insert: "insert " place ":" LF row+
place: "before " line | "after " line | "after block " line | "head" | "tail"
range: line (".." line)?
HEADER: /¶[^ \t\n\r\x0b\x0c"'*]([^\n\r]*[^ \t\n\r\x0b\x0c"'])?#[0-9A-F]{4}/
CHECK: / \|[^\n]*[^\s|][^\n]*\|/
"##
);

const CURRENT_GRAMMAR: &str = grammar!(
    r##"start: begin? section+ end?
section: HEADER LF (op+ move? | move | "REM" LF)
op: "PUT " target ":" LF row+ | "PUT " target register? LF | "CUT " lines register? LF
target: lines | "<" line | ">" line | ">" line "*" | ">$"
lines: line (".=" line)? | line "*"
register: " @" /[A-Za-z0-9_-]{1,64}/
move: "MV " MOVED LF
HEADER: /\[[^ \t\n\r\x0b\x0c"'*]([^\n\r]*[^ \t\n\r\x0b\x0c"'])?#[0-9A-F]{4}\]/
MOVED: /[^\s"']([^\n]*[^\s])?/
"##
);
