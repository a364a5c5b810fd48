//! Texts that contain both SEARCH/REPLACE blocks and whole files: some files are edited, others are written.

use super::envelope::UnwrappedText;
use super::line_parser::{self, ParseOptions};
use super::name::fence;
use super::parsed_text::ParsedText;
use super::ranges::{FormatRanges, KnownRanges, outermost_index};
use super::{Format, stray_edits};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::Request;
use std::collections::HashSet;
use std::ops::Range;

/// Maximum number of lines above a whole file that may name it.
const NAME_LINES_ABOVE: usize = 2;

const MIXED_NOTE: &str = "The text has SEARCH/REPLACE blocks and whole files; both were read.";

/// Parses a text with both formats; `None` for any other text.
///
/// Errors: those of both formats, and [`Code::EditUnparsable`] for a file that occurs in both.
pub(super) fn parse_mixed(
    unwrapped: &UnwrappedText<'_>,
    named: Option<&'static dyn Format>,
    call_options: &ParseOptions,
    known: &mut KnownRanges,
) -> Option<Result<ParsedText>> {
    let UnwrappedText { text, format, options, directory, notes } = unwrapped;
    if named.is_some() || call_options.reverse || !text.contains("SEARCH") {
        return None;
    }
    let ranges = known.of(text);
    let both = is_both(&ranges) && outermost_index(&ranges).is_none() && format.is_none() && !options.reverse;
    let ([blocks, files], true) = (&ranges[..], both) else { return None };
    let call_options = ParseOptions {
        strip: call_options.strip.or(options.strip),
        file: call_options.file.clone().or_else(|| options.file.clone()),
        reverse: false,
        encoding: call_options.encoding,
    };
    let request = request(text, blocks, files, &call_options);
    Some(request.map(|mut request| {
        let mut notes = notes.clone();
        notes.push(MIXED_NOTE);
        notes.append(&mut request.notes);
        request.notes = notes;
        ParsedText { format: blocks.0, request, directory: directory.clone() }
    }))
}

/// True if exactly these two formats were detected, with no range inside another.
fn is_both(ranges: &[FormatRanges]) -> bool {
    let [(blocks, parts), (files, wholes)] = ranges else { return false };
    (blocks.spec().name, files.spec().name) == ("search_replace", "whole_file") && are_apart(parts, wholes)
}

/// True if no range of one list overlaps one of the other. Both lists are sorted, and their ranges are disjoint.
fn are_apart(parts: &[Range<usize>], wholes: &[Range<usize>]) -> bool {
    parts.iter().all(|part| {
        let next = wholes.partition_point(|whole| whole.end <= part.start);
        wholes.get(next).is_none_or(|whole| part.end <= whole.start)
    })
}

fn request(text: &str, blocks: &FormatRanges, files: &FormatRanges, call_options: &ParseOptions) -> Result<Request> {
    let mut all: Vec<Range<usize>> = blocks.1.iter().chain(&files.1).cloned().collect();
    all.sort_by_key(|range| range.start);
    if let Some(error) = stray_edits::check_stray_edits(text, blocks.0, &all) {
        return Err(error);
    }
    let names: Vec<Range<usize>> =
        files.1.iter().map(|range| range.start.saturating_sub(NAME_LINES_ABOVE)..range.end).collect();
    let parts = kept(text, |at, _| !is_within(&files.1, at));
    // A fence above a whole file belongs to the block before it.
    let is_named = |at, line: &str| is_within(&names, at) && !is_within(&blocks.1, at) && fence(line).is_none();
    let wholes = kept(text, |at, line| is_within(&files.1, at) || is_named(at, line));
    let mut request = read_as(blocks.0, &parts, call_options)?;
    let written = read_as(files.0, &wholes, call_options)?;
    stray_edits::check_whole_files(&written)?;
    let edited: HashSet<&str> = request.files.iter().map(|file| file.path.as_str()).collect();
    let twice = written.files.iter().find(|file| edited.contains(file.path.as_str()));
    if let Some(file) = twice {
        let what = format!("{} is changed by blocks and written as a whole in one text.", file.path);
        return Err(Error::new(Code::EditUnparsable, what)
            .next("Send the file as a whole with all changes in it, or only the blocks.")
            .fact("path", file.path.clone()));
    }
    request.files.extend(written.files);
    request.notes.extend(written.notes);
    request.notes.extend(stray_edits::unused_fence(text, &all));
    Ok(request)
}

/// True for a line in one of the ranges, which are sorted by their starts and by their ends.
fn is_within(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).is_some_and(|range| range.start <= at)
}

/// Returns the text with all other lines empty, so that line numbers are preserved.
fn kept(text: &str, keep: impl Fn(usize, &str) -> bool) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    lines.map(|(at, line)| if keep(at, line) { line } else { "\n" }).collect()
}

fn read_as(format: &'static dyn Format, text: &str, call_options: &ParseOptions) -> Result<Request> {
    let machine = format
        .line_parser(call_options)
        .ok_or_else(|| Error::new(Code::InternalBug, format!("{} has no parser for texts.", format.spec().name)))?;
    line_parser::parse_text(machine, text)
}

#[cfg(test)]
mod tests {
    use crate::error::Result;
    use crate::formats::detect::parse_any;
    use crate::formats::line_parser::ParseOptions;
    use crate::formats::parsed_text::ParsedText;
    use crate::locate::op::FileAction;

    const BLOCK: &str = "a.py\n```python\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n```\n";
    const FILE: &str = "**b.py**\n\n```python\nx = 1\n```\n";

    fn read(text: &str) -> Result<ParsedText> {
        parse_any(text, None, &ParseOptions::default())
    }

    #[test]
    fn blocks_and_whole_files_mix_in_any_order() {
        for text in [format!("First:\n{BLOCK}\nThen:\n\n{FILE}"), format!("{FILE}\n{BLOCK}Done.\n")] {
            let ParsedText { request, .. } = read(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            let [edited, written] = &request.files[..] else { panic!("{text}: {:?}", request.files) };
            assert_eq!((edited.path.as_str(), written.path.as_str()), ("a.py", "b.py"), "{text}");
            assert!(matches!(&edited.action, FileAction::Edit { ops, .. } if ops.len() == 1), "{text}");
            assert_eq!(written.action, FileAction::Write("x = 1\n".to_owned()), "{text}");
        }
    }

    #[test]
    fn fence_of_a_block_is_not_that_of_the_file_below_it() {
        for info in ["py b.py", "py:b.py"] {
            let text = format!(
                "a.py\n```\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n```\n\n```{info}\nx = 1\n```\n"
            );
            let request = read(&text).unwrap_or_else(|error| panic!("{text}: {error}")).request;
            let paths: Vec<&str> = request.files.iter().map(|file| &*file.path).collect();
            assert_eq!(paths, ["a.py", "b.py"]);
        }
    }

    #[test]
    fn file_has_either_blocks_or_a_whole_text() {
        let error = read(&format!("{BLOCK}\n{}", FILE.replace("b.py", "a.py"))).err().unwrap();
        assert!(error.message().contains("changed by blocks and written as a whole"), "{error}");
    }
}
