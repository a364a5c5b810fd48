//! `whole_file`: whole files in a reply, each in a fence with its name above it or in its info string (aider's whole
//! format), in Cline's `<write_to_file>`, or in `<file path="…">`.
//!
//! A name has to be alone on its line: a sentence about a file may be followed by only a part of it. If the end of a
//! file is ambiguous, the text is refused.

mod draft;
mod element;
pub mod elided;
mod mistakes;
mod reader;
mod text_end;
mod text_lines;

use super::line_parser::{self, LineParser, ParseOptions, StreamEvent};
use super::ranges::contains_any;
use super::{Format, FormatSpec, name};
use crate::advice;
use crate::advice::{Advice, Phrase};
use crate::error::Result;
use crate::locate::doubled_plus::is_patch_name;
use crate::locate::op::{FileAction, FileRequest, Request};
use crate::work;
use reader::{FileContent, WholeFileReader};
use std::collections::HashMap;
use std::ops::Range;
use text_end::TextEnd;

/// The format.
pub struct WholeFile;

impl Format for WholeFile {
    fn spec(&self) -> &'static FormatSpec {
        &FormatSpec {
            name: "whole_file",
            summary: "whole files in a reply, each in a fence with its name above it",
            prompt: PROMPT,
            schema: None,
            key: "",
            example: "src/main.rs\n```rust\nfn main() {}\n```\n",
            grammar: None,
        }
    }

    fn detected_ranges(&self, text: &str) -> Vec<Range<usize>> {
        ranges_beside(text, &[])
    }

    fn line_parser(&self, options: &ParseOptions) -> Option<Box<dyn LineParser>> {
        Some(Box::new(WholeFileParser { reader: WholeFileReader::new(options), reverse: options.reverse }))
    }
}

/// Returns the lines of files in a text with edits in these ranges, which are sorted by their starts. A fence in an edit
/// is a line of the file that the edit changes.
pub(super) fn ranges_beside(text: &str, edits: &[Range<usize>]) -> Vec<Range<usize>> {
    if !contains_any(text, &["```", "~~~"]) && !element::may_open(text) {
        return Vec::new();
    }
    let is_named = |info: &str, above: &str| text_lines::is_text(info) && text_lines::named(info, above).is_some();
    ranges(text, edits, false, is_named)
}

/// Returns the lines of fences below a line that may be the name of an existing file, and of those that begin with a
/// comment that is a name.
pub(super) fn possible_ranges(text: &str) -> Vec<Range<usize>> {
    ranges(text, &[], true, |info, above| text_lines::perhaps_named(info, above).is_some())
}

/// True for an info string that may be the name of a file.
pub(super) fn may_be_named(info: &str) -> bool {
    text_lines::named(info, "").is_some() || text_lines::perhaps_named(info, "").is_some()
}

/// False for the info string of a fence that contains a diff.
pub(super) fn may_be_file(info: &str) -> bool {
    text_lines::is_text(info)
}

/// Returns the lines of fences with a name, or with that of the file that the call names above them.
pub(super) fn named_ranges(text: &str, file: &str) -> Vec<Range<usize>> {
    ranges(text, &[], false, |info, above| {
        text_lines::is_text(info) && (above.trim() == file || text_lines::named(info, above).is_some())
    })
}

/// Returns the lines of all fences that may be the file that the call names.
pub(super) fn nameless_ranges(text: &str) -> Vec<Range<usize>> {
    ranges(text, &[], false, |info, _| text_lines::is_text(info))
}

/// Returns the lines of files in a text, each from its fence or tag to its end. `is_named` returns true if a fence has
/// a name, given its info string and the line above. `named_inside` is true if a comment in the fence may name it.
/// Lines in `edits` neither open nor close a fence, unless they are in a file.
fn ranges(
    text: &str,
    edits: &[Range<usize>],
    named_inside: bool,
    is_named: impl Fn(&str, &str) -> bool,
) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut edits = edits.iter().peekable();
    let mut open: Option<(usize, TextEnd, bool)> = None;
    // True until there is a line with text.
    let mut fresh = true;
    // The info string of the fence, as long as a comment may name the file.
    let mut inside: Option<&str> = None;
    // The last line, or the one above it if the last one is blank.
    let (mut above, mut blank, mut count) = ("", false, 0);
    for (at, line) in work::lines(text).enumerate() {
        count = at + 1;
        while edits.next_if(|edit| edit.end <= at).is_some() {}
        let in_edit = edits.peek().is_some_and(|edit| edit.start <= at);
        match &mut open {
            None | Some((_, _, false)) if in_edit => {}
            None => {
                let named = |info| is_named(info, above);
                let fence = TextEnd::of_fence(line).map(|(end, info)| (at, end, named(info)));
                let fence = fence.filter(|(_, end, named)| *named || !matches!(end, TextEnd::Tag(_)));
                inside =
                    name::fence(line).map(|(_, _, info)| info).filter(|info| named_inside && text_lines::is_text(info));
                open = fence.or_else(|| reader::opens_tag(line).map(|end| (at, end, true)));
                fresh = true;
            }
            Some((start, end, is_file)) => {
                if let Some(info) = inside.take().filter(|_| !end.is_on(line)) {
                    *is_file |= name::in_comment(line, info).is_some();
                    inside = Some(info).filter(|_| at == *start + 1 && text_lines::precedes_name(line));
                }
                // Text that begins like an edit is an edit, with the name of its file above.
                *is_file &= !fresh || !text_lines::is_edit(line);
                // A fence inside a fence is an example in the file.
                let is_fence = matches!(end, TextEnd::Fence { .. });
                let wraps = name::is_frame(line) && !(is_fence && name::fence(line).is_some());
                fresh &= line.trim().is_empty() || wraps;
                if end.is_on(line) {
                    out.extend(is_file.then_some(*start..count));
                    open = None;
                }
            }
        }
        if !line.trim().is_empty() || blank {
            above = line;
        }
        blank = line.trim().is_empty();
    }
    out.extend(open.filter(|(_, _, is_file)| *is_file).map(|(start, ..)| start..count));
    out
}

struct WholeFileParser {
    reader: WholeFileReader,
    reverse: bool,
}

impl LineParser for WholeFileParser {
    fn next_line_end(&mut self, crlf: bool) {
        self.reader.next_line_end(crlf);
    }

    fn line(&mut self, line: &str, out: &mut Vec<StreamEvent>) {
        self.reader.line(line, out);
    }

    fn finish(self: Box<Self>, _cut: bool, out: &mut Vec<StreamEvent>) -> Result<Request> {
        if self.reverse {
            return Err(line_parser::irreversible("A whole file"));
        }
        let (files, notes) = self.reader.end(out)?;
        if files.is_empty() {
            return Err(mistakes::broken(1, "there is no fence with a file name right above it."));
        }
        if let Some(file) = files.iter().find(|file| !is_patch_name(&file.path) && text_lines::is_hunk(&file.text)) {
            let what =
                format!("the text of {} consists of lines of a diff: each begins with a space, - or +.", file.path);
            return Err(mistakes::broken(file.at, &what).next(hunk_advice()));
        }
        let mut known: HashMap<&str, usize> = HashMap::new();
        for FileContent { path, at, .. } in &files {
            if let Some(first) = known.insert(path, *at) {
                return Err(mistakes::broken(
                    *at,
                    &format!("{path} is written a second time (first on line {first})."),
                )
                .next("Send each file once, with its whole text."));
            }
        }
        Ok(Request { files: files.into_iter().map(request).collect(), notes })
    }
}

fn request(file: FileContent) -> FileRequest {
    let FileContent { path, text, must_exist, fence, closing, .. } = file;
    FileRequest { must_exist, fence, closing, ..FileRequest::new(path, FileAction::Write(text)) }
}

/// Returns the advice for a whole file of lines of a diff.
fn hunk_advice() -> Advice {
    let headers = "To change these lines, put --- and +++ lines with the path of the file above them, then a line @@";
    advice![headers, "; to write the text as it is, use ", Phrase::Tool("write"), "."].or(format!("{headers}."))
}

const PROMPT: &str = "\
Writes whole files. Each file: its path alone on a line, then a fence with its whole text:

src/main.rs
```
the whole text of the file
```

Leave nothing out: what is not in the fence is not in the file. A fence inside the text needs a longer one around it (````). An \
existing file must have been read first; to change a part of a file, use an edit.";

#[cfg(test)]
mod tests;
