//! Detection of the format of a text.

use super::envelope::{self, UnwrappedText};
use super::line_parser::{self, LineParser, ParseOptions};
use super::mixed;
use super::parsed_text::ParsedText;
use super::ranges::{FormatRanges, KnownRanges, outermost, outermost_index};
use super::reasoning::ReasonedReply;
use super::search_replace::{self, SearchReplace};
use super::unified_diff::UnifiedDiff;
use super::whole_file::elided::ElidedFile;
use super::whole_file::{self, WholeFile};
use super::{Format, repair_hint, stray_edits, text_formats, tool_calls, whole_text};
use crate::advice::{Advice, Phrase};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::elided;
use crate::locate::op::Request;
use crate::note::Notes;
use crate::work;
use std::borrow::Cow;
use std::ops::Range;

/// A text without its wrappers, and its format.
pub(super) struct DetectedText<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) format: &'static dyn Format,
    options: ParseOptions,
    directory: Option<String>,
    notes: Notes,
    /// The lines that are certainly in the format; empty if detection was not needed.
    detected: Vec<Range<usize>>,
}

impl DetectedText<'_> {
    /// True if there was no wrapper, so that text and options are those of the caller.
    pub(super) fn has_no_wrapper(&self) -> bool {
        self.notes.is_empty()
    }

    /// True if a part of the text may be missing: its last line has no line end, and no wrapper was closed behind it.
    pub(super) fn is_cut(&self) -> bool {
        self.has_no_wrapper() && line_parser::is_cut(&self.text)
    }

    /// Creates a parser for the text.
    pub(super) fn line_parser(&self) -> Result<Box<dyn LineParser>> {
        self.format.line_parser(&self.options).ok_or_else(|| {
            let name = self.format.spec().name;
            Error::new(Code::CallInvalid, format!("`{name}` is not a text format."))
                .next("Call the tool of that name with JSON.")
        })
    }

    /// Combines the text with the request that its format parsed.
    ///
    /// Errors: [`Code::EditUnparsable`] for a part outside of the format that looks like an edit.
    pub(super) fn into_parsed(mut self, mut request: Request) -> Result<ParsedText> {
        if let Some(error) = stray_edits::check_stray_edits(&self.text, self.format, &self.detected) {
            return Err(error);
        }
        // The formats of whole files report unused fences themselves.
        if !["whole_file", "elided"].contains(&self.format.spec().name) {
            self.notes.extend(stray_edits::unused_fence(&self.text, &self.detected));
        }
        self.notes.append(&mut request.notes);
        request.notes = self.notes;
        Ok(ParsedText { format: self.format, request, directory: self.directory })
    }
}

/// Detects the format of a text whose wrappers were removed.
pub(super) fn detect_unwrapped<'a>(
    unwrapped: UnwrappedText<'a>,
    named: Option<&'static dyn Format>,
    call_options: &ParseOptions,
    known: &mut KnownRanges,
) -> Result<DetectedText<'a>> {
    let UnwrappedText { mut text, format, options: wrapper_options, directory, mut notes } = unwrapped;
    work::check()?;
    let call_options = ParseOptions {
        strip: call_options.strip.or(wrapper_options.strip),
        file: call_options.file.clone().or(wrapper_options.file),
        reverse: call_options.reverse != wrapper_options.reverse,
        encoding: call_options.encoding,
    };
    let (format, detected): FormatRanges = match named.or_else(|| super::format_by_name(format?)) {
        Some(format) => (format, format.detected_ranges(&text)),
        // Bare hunks are incomplete by themselves, but valid if the file is known.
        None if call_options.file.as_ref().is_some_and(|file| is_nameless_diff(&text, file, known)) => {
            (&UnifiedDiff, Vec::new())
        }
        None => match (detect(&text, known), call_options.file.as_ref().and_then(|file| without_frame(&text, file))) {
            (Err(_), Some((format, converted, note))) => {
                notes.push(note.to_owned());
                let ranges = format.detected_ranges(&converted);
                text = Cow::Owned(converted);
                (format, ranges)
            }
            (Err(error), None) => possible_files(&text, &call_options).ok_or(error)?,
            (detected, _) => detected?,
        },
    };
    Ok(DetectedText { text, format, options: call_options, directory, notes, detected })
}

/// True for hunks of a diff without a file name, unless the first of them is a part of an edit in a format, or of the
/// text of a file.
fn is_nameless_diff(text: &str, file: &str, known: &mut KnownRanges) -> bool {
    repair_hint::nameless_hunk(text).is_some_and(|first| {
        let has_first = |range: &Range<usize>| range.start < first && first < range.end;
        let ranges = known.of(text);
        let mut edits =
            ranges.iter().filter(|(format, _)| format.family() != "whole_file").flat_map(|(_, found)| found);
        // The fence of a diff begins with it.
        let is_after_text = |fence: &Range<usize>| {
            work::lines(text).take(first).skip(fence.start + 1).any(|line| !line.trim().is_empty())
        };
        let mut files = whole_file::named_ranges(text, file).into_iter();
        !edits.any(has_first) && !files.any(|fence| has_first(&fence) && is_after_text(&fence))
    })
}

/// Converts a text that is complete only together with the name of its file to a format that names each part. Returns
/// the format, the text and the note.
fn without_frame(text: &str, file: &str) -> Option<(&'static dyn Format, String, &'static str)> {
    bare_markers(text).or_else(|| {
        // Fences in prose are examples in it, but the text of any other file has none.
        let is_prose = whole_text::is_prose(file.rsplit_once('.').map(|(_, extension)| extension));
        let is_fenced = || !is_prose && !whole_file::nameless_ranges(text).is_empty();
        let is_bare = elided::is_elided(text) && repair_hint::is_unlike_edits(text) && !is_fenced();
        is_bare.then(|| {
            // The fence is longer than any fence in the text.
            let longest = text.split(|ch| ch != '`').map(str::len).max().unwrap_or_default();
            let fence = "`".repeat(3.max(longest + 1));
            let note = "The text was read as lines of the named file, with placeholders for those that stay.";
            (&ElidedFile as &dyn Format, format!("{fence}\n{}\n{fence}\n", text.trim_end_matches('\n')), note)
        })
    })
}

/// Converts the blocks between bare conflict markers to a format that names each part. Returns the format, the text and
/// the note.
fn bare_markers(text: &str) -> Option<(&'static dyn Format, String, &'static str)> {
    if let Some(blocks) = repair_hint::bare_blocks(text) {
        return Some((
            &SearchReplace,
            blocks,
            "Bare conflict markers were read as the markers of SEARCH/REPLACE blocks.",
        ));
    }
    let hunk = repair_hint::bare_blocks_in_context(text)?;
    let note = "Bare conflict markers were read as one change; the lines around them as unchanged lines of the file.";
    Some((&UnifiedDiff, hunk, note))
}

/// Returns the fences that may be the file of the call, or that may have the name of an existing file, if the text looks
/// like nothing else.
fn possible_files(text: &str, call_options: &ParseOptions) -> Option<FormatRanges> {
    let is_named = call_options.file.is_some();
    let ranges = if is_named { whole_file::nameless_ranges(text) } else { whole_file::possible_ranges(text) };
    let are_files = !ranges.is_empty() && repair_hint::is_unlike_edits(text);
    are_files.then(|| (elided_or_whole(text, &ranges), ranges))
}

/// Returns a text without the byte order mark that some programs write in front of it, and which says nothing about the
/// edits in it.
pub fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Parses a text as a model sent it: leaves out its reasoning, removes wrappers, uses the named format or detects it, and parses the rest. The
/// caller's options in `call_options` override those of a wrapper.
///
/// Errors: [`Code::EditUnparsable`] for a text in no format, or in several; those of the format's parser.
pub fn parse_any(text: &str, named: Option<&'static dyn Format>, call_options: &ParseOptions) -> Result<ParsedText> {
    if let Some(plain) = plain_text(text, named, call_options) {
        // If the work had to end, the text was not read to its end.
        work::check()?;
        return Ok(plain);
    }
    let Some(reply) = ReasonedReply::read(text)? else { return parse_answer(text, named, call_options) };
    let parsed = parse_answer(&reply.answer, named, call_options);
    if !reply.has_draft() {
        return parsed;
    }
    match parsed {
        Ok(mut parsed) => {
            parsed.request.notes.push(reply.note());
            Ok(parsed)
        }
        Err(_) if !reply.has_answer() => Err(reply.without_answer()),
        Err(error) => Err(error),
    }
}

/// Parses a text without reasoning.
///
/// Errors: as [`parse_any`].
fn parse_answer(text: &str, named: Option<&'static dyn Format>, call_options: &ParseOptions) -> Result<ParsedText> {
    let mut known = KnownRanges::default();
    if let Some(understood) = calls(text, named, call_options, &mut known) {
        return understood;
    }
    let parsed = parse_wrapped(text, named, call_options, &mut known);
    if parsed.is_ok() {
        return parsed;
    }
    let Some(text) = search_replace::without_indentation(text) else { return parsed };
    let mut parsed = parse_wrapped(&text, named, call_options, &mut KnownRanges::default())?;
    parsed.request.notes.push("The indentation of the fence was removed from the lines in it.".to_owned());
    Ok(parsed)
}

/// Parses a text that may have wrappers and flaws.
///
/// Errors: as [`parse_any`].
pub(super) fn parse_wrapped(
    text: &str,
    named: Option<&'static dyn Format>,
    call_options: &ParseOptions,
    known: &mut KnownRanges,
) -> Result<ParsedText> {
    let unwrapped = envelope::unwrap_text(text);
    if let Some(understood) = mixed::parse_mixed(&unwrapped, named, call_options, known) {
        return understood;
    }
    let settled = detect_unwrapped(unwrapped, named, call_options, known)?;
    let request = line_parser::parse_lines(settled.line_parser()?, &settled.text, settled.is_cut())?;
    if named.is_none() {
        stray_edits::check_whole_files(&request)?;
    }
    settled.into_parsed(request)
}

/// Parses a text in which everything is as it should be, as in most of them. A plain text is in one format from its first
/// line to its last, so anything else in it is part of what that format writes.
fn plain_text(text: &str, named: Option<&'static dyn Format>, call_options: &ParseOptions) -> Option<ParsedText> {
    let read = |format: &'static dyn Format| {
        let request = format.parse_plain(text, call_options)?;
        Some(ParsedText { format, request, directory: None })
    };
    match named {
        Some(format) => read(format),
        None => text_formats().find_map(read),
    }
}

/// True if a text is probably meant in this format: its first line indicates it, or no other format can parse it. An
/// empty patch, and a hunk for which nobody names a file, are in no format.
pub fn is_intended_format(text: &str, format: &'static dyn Format, names_file: bool) -> bool {
    let peeled = envelope::unwrap_text(text);
    let is_layout = |line: &&str| line.trim().is_empty() || ["*** Begin Patch", "*** End Patch"].contains(&line.trim());
    let first = peeled.text.lines().find(|line| !is_layout(line));
    let begins = first.is_none_or(|line| format.is_first_line(line) || line.starts_with("@@") && !names_file);
    peeled.format.is_none() && (begins || outermost(&peeled.text).is_none_or(|it| it.spec().name == format.spec().name))
}

/// Parses a text that consists of tool calls for edits, and prose.
pub(super) fn calls(
    text: &str,
    named: Option<&'static dyn Format>,
    call_options: &ParseOptions,
    known: &mut KnownRanges,
) -> Option<Result<ParsedText>> {
    if named.is_some() || call_options.reverse || !text.contains(['{', '(', '<']) {
        return None;
    }
    tool_calls::parse(text, call_options, known)
}

/// Returns the format of a text.
#[cfg(test)]
pub(super) fn detect_format(text: &str) -> Result<&'static dyn Format> {
    detect(text, &mut KnownRanges::default()).map(|(format, _)| format)
}

/// Detects the only format of a text, and the lines that are certainly in it. If two formats detect parts of it, the
/// ranges of one must contain those of the other: a patch may add lines that look like another format.
///
/// Errors: [`Code::EditUnparsable`] if no format detects a part of the text, with a hint; and if two do, with the first
/// line of each.
fn detect(text: &str, known: &mut KnownRanges) -> Result<FormatRanges> {
    let mut ranges = known.of(text);
    match outermost_index(&ranges) {
        Some(at) => {
            let (format, stretches) = ranges.swap_remove(at);
            let whole = format.spec().name == WholeFile.spec().name;
            Ok((if whole { elided_or_whole(text, &stretches) } else { format }, stretches))
        }
        None if ranges.is_empty() => Err(repair_hint::unknown_format(text)),
        None => Err(ambiguous(text, &ranges)),
    }
}

/// Returns the format of whole files, with or without placeholders in them.
fn elided_or_whole(text: &str, files: &[Range<usize>]) -> &'static dyn Format {
    if ElidedFile::has_placeholder(text, files) { &ElidedFile } else { &WholeFile }
}

fn ambiguous(text: &str, ranges: &[FormatRanges]) -> Error {
    let name = |(format, _): &FormatRanges| format.spec().name;
    let names: Vec<&str> = ranges.iter().map(name).collect();
    let lines = ranges.iter().map(|claim| {
        let first = claim.1.first().map_or(0, |range| range.start);
        let line: String = text.lines().nth(first).unwrap_or_default().chars().take(120).collect();
        format!("{}: from line {} ({line})", name(claim), first + 1)
    });
    let apart = "Send each in a separate call";
    let mut named = vec![format!("{apart}; or, if one of them is only text, name the format that is meant: ").into()];
    for (nth, name) in names.iter().enumerate() {
        named.extend((nth > 0).then(|| Phrase::from(" or ")));
        named.push(Phrase::Set("format", (*name).into()));
    }
    named.push(".".into());
    Error::new(Code::EditUnparsable, format!("The text is in several formats: {}.", names.join(" and ")))
        .evidence(lines.collect::<Vec<String>>().join("\n"))
        .next(Advice::new(named).or(format!("{apart}.")))
        .fact("formats", names)
}

#[cfg(test)]
mod tests {
    use super::{
        Code, Format, KnownRanges, ParseOptions, calls, detect_format, is_intended_format, parse_any, parse_wrapped,
        plain_text,
    };
    use crate::formats::{format_by_name, text_formats};
    use crate::work::{self, Meter};
    use proptest::prelude::*;
    use std::sync::Arc;

    fn name(text: &str) -> Result<&'static str, String> {
        detect_format(text).map(|format| format.spec().name).map_err(|error| error.to_string())
    }

    #[test]
    fn plain_text_that_is_too_much_work_is_not_cut_off() {
        let patch = format!("--- a/x\n+++ b/x\n{}", "@@ -1 +1 @@\n-b\n+c\n".repeat(5_000));
        let block = "x\n<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n".repeat(5_000);
        let update = format!("*** Begin Patch\n{}*** End Patch\n", "*** Update File: x\n@@\n-a\n+b\n".repeat(5_000));
        for (text, name) in [(patch, "unified_diff"), (block, "search_replace"), (update, "apply_patch")] {
            let format = format_by_name(name);
            assert!(parse_any(&text, format, &ParseOptions::default()).is_ok(), "{name}");
            for steps in (0..10_000).step_by(97) {
                let _entered = Meter::new(steps, Arc::default()).enter();
                let parsed = parse_any(&text, format, &ParseOptions::default());
                assert!(parsed.is_err() || work::check().is_ok(), "{name}, {steps}");
            }
        }
    }

    /// Lines that mean something in a format, in a wrapper or in a call.
    fn lines() -> impl Strategy<Value = Vec<String>> {
        let examples = text_formats().flat_map(|format| format.spec().example.lines()).map(str::to_owned);
        let calls = [
            "{\"path\": \"a\", \"old_string\": \"b\", \"new_string\": \"c\"}",
            "{\"patch\": \"",
            "\"}",
            "edit(path=\"a\", old_string=\"b\", new_string=\"c\")",
            "<patch>",
            "</patch>",
            "<args><file><path>a</path><content>b</content></file></args>",
            "<edit_file><path>a</path><old_text>b</old_text><new_text>c</new_text></edit_file>",
            "<tool_call>",
            "{\"name\": \"write\", \"arguments\": {\"path\": \"a\", \"content\": \"b\"}}",
            "</tool_call>",
            "Vec<String>",
            "fn a<T>(b: &T) {",
            "apply_patch <<'EOF'",
            "EOF",
            "cat > a <<EOF",
            "$ git apply",
            "rest of code ...",
            "...",
            "",
            "a",
            "b",
        ];
        let line = prop::sample::select(examples.chain(calls.map(str::to_owned)).collect::<Vec<String>>());
        prop::collection::vec(prop_oneof![3 => line, 1 => "[ a-c+@<>*=`{}-]{0,5}"], 1..6)
    }

    /// Returns a text in one of the formats that have plain texts, with these lines on its sides.
    fn text_with(old: &[String], new: &[String], frame: usize) -> String {
        let marked = |mark: &str, lines: &[String]| lines.iter().map(|it| format!("{mark}{it}\n")).collect::<String>();
        let [count, more] = [old.len(), new.len()];
        match frame {
            0 => {
                let (both, with_new) = (marked(" ", old), marked("+", new));
                format!("--- a/x\n+++ b/x\n@@ -1,{count} +1,{} @@\n{both}{with_new}", count + more)
            }
            1 => {
                let (gone, with_new) = (marked("-", old), marked(" ", new));
                format!("*** Begin Patch\n*** Update File: x\n@@\n{gone}{with_new}*** End Patch\n")
            }
            _ => {
                let name = ["x\n", ""][frame % 2];
                let (search, replace) = (marked("", old), marked("", new));
                format!("{name}<<<<<<< SEARCH\n{search}=======\n{replace}>>>>>>> REPLACE\n")
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2048))]

        #[test]
        fn plain_texts_are_read_as_all_texts_are(
            parts in prop::collection::vec((lines(), lines(), 0_usize..4), 1..3),
            names_format: bool,
            file in prop::option::of(Just("x".to_owned())),
            reverse: bool,
        ) {
            let text: String = parts.iter().map(|(old, new, frame)| text_with(old, new, *frame)).collect();
            let names = ["unified_diff", "apply_patch", "search_replace", "search_replace"];
            let named = if names_format { format_by_name(names[parts[0].2]) } else { None };
            let options = ParseOptions { file, reverse, ..ParseOptions::default() };
            if let Some(plain) = plain_text(&text, named, &options) {
                let mut known = KnownRanges::default();
                let full = calls(&text, named, &options, &mut known)
                    .unwrap_or_else(|| parse_wrapped(&text, named, &options, &mut known));
                // Hunks in blocks may seem to go on in the next block, so the text may seem to be in two formats.
                if full.as_ref().is_err_and(|error| error.to_string().contains("in several formats")) {
                    return Ok(());
                }
                let full = full.unwrap();
                let name = |format: &dyn Format| format.spec().name;
                prop_assert_eq!((name(plain.format), plain.request), (name(full.format), full.request));
                prop_assert_eq!(plain.directory, full.directory);
            }
        }
    }

    #[test]
    fn every_case_has_its_format_detected() {
        let cases: serde_json::Value = serde_json::from_str(include_str!("../../tests/cases/patches.json")).unwrap();
        for case in cases.as_array().unwrap() {
            let format = if case["format"] == "codex" { "apply_patch" } else { "unified_diff" };
            assert_eq!(name(case["patch"].as_str().unwrap()).as_deref(), Ok(format), "{}", case["name"]);
        }
        for format in text_formats() {
            let spec = format.spec();
            for text in [spec.example.to_owned(), format!("Here it is:\n\n````\n{}````\nDone.\n", spec.example)] {
                let expected =
                    if text.starts_with("Here") && format.family() == "whole_file" { continue } else { spec.name };
                assert_eq!(name(&text).as_deref(), Ok(expected), "{text}");
            }
        }
    }

    #[test]
    fn patch_that_contains_other_formats_is_detected() {
        let added = |text: &str| text.lines().map(|line| format!("+{line}\n")).collect::<String>();
        for inner in text_formats() {
            let lines = added(inner.spec().example);
            let v4a = format!("*** Begin Patch\n*** Add File: page.md\n{lines}*** End Patch\n");
            assert_eq!(name(&v4a).as_deref(), Ok("apply_patch"), "{v4a}");
            let count = lines.lines().count();
            let diff = format!("--- /dev/null\n+++ b/page.md\n@@ -0,0 +1,{count} @@\n{lines}");
            assert_eq!(name(&diff).as_deref(), Ok("unified_diff"), "{diff}");
            let block = format!("page.md\n<<<<<<<<< SEARCH\n=========\n{}>>>>>>>>> REPLACE\n", inner.spec().example);
            assert_eq!(name(&block).as_deref(), Ok("search_replace"), "{block}");
            let file = format!("page.md\n````\nAn edit:\n\n{}````\n", inner.spec().example);
            assert_eq!(name(&file).as_deref(), Ok("whole_file"), "{file}");
        }
    }

    #[test]
    fn lines_of_an_edit_do_not_change_its_format() {
        let options = ParseOptions { file: Some("x".to_owned()), ..ParseOptions::default() };
        let header = "*** Begin Patch\n*** Update File: x\n@@\n-¶a.ts#1A2B\n+¶a.ts#1A2C\n*** End Patch\n";
        let hunk = "Like this:\n\n<<<<<<< SEARCH\n@@ -1 +1 @@\n-a\n=======\n+a\n>>>>>>> REPLACE\n";
        let fenced = "x\n```\n@@ -1 +1 @@\n-a\n+b\n```\n";
        let bare = "x.rs\n```\n\n@@\n-a\n+b\n```\n";
        let file = "y/x\n```\na\n@@\n b\n+p\n```\n";
        // A word alone above a fence is too little to decide.
        assert!(parse_any(&file[2..], None, &options).is_err());
        for (text, name) in [
            (header, "apply_patch"),
            (hunk, "search_replace"),
            (fenced, "unified_diff"),
            (bare, "unified_diff"),
            (file, "whole_file"),
        ] {
            let parsed = parse_any(text, None, &options).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(parsed.format.spec().name, name, "{text}");
            let mut known = KnownRanges::default();
            let parsed = parse_wrapped(text, None, &options, &mut known).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(parsed.format.spec().name, name, "{text}");
        }
    }

    #[test]
    fn two_formats_are_ambiguous() {
        let of = |name: &str| text_formats().find(|format| format.spec().name == name).unwrap().spec().example;
        let both = format!("{}\n{}", of("apply_patch"), of("search_replace"));
        let error = detect_format(&both).err().unwrap();
        for part in ["search_replace and apply_patch", "from line 1 (*** Begin Patch)", "\"format\": \"apply_patch\""] {
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn default_format_applies_unless_another_is_clear() {
        let hashline = text_formats().find(|format| format.spec().name == "hashline").unwrap();
        for text in [
            "",
            "2\n+Q\n",
            "foo bar\n",
            "¶a.ts#1A2B\n",
            "@@ replace 2..3 @@\n+x\n",
            "¶a.ts#1A2B\n@@ replace 2..3 @@\n+x\n",
            "*** Begin Patch\n¶a.ts#1A2B\n*** Update File: b.ts\n@@\n-a\n+b\n*** End Patch\n",
            "¶a.ts#1A2B\n@@ -1,2 +1,2 @@\n-a\n+b\n",
            "*** Begin Patch\n*** End Patch\n",
            "@@ -1,2 +1,2 @@\n-a\n+b\n",
        ] {
            assert!(is_intended_format(text, hashline, false), "{text}");
        }
        assert!(!is_intended_format("@@ -1,2 +1,2 @@\n-a\n+b\n", hashline, true));
        for other in text_formats().filter(|format| !format.spec().name.starts_with("hashline")) {
            assert!(!is_intended_format(other.spec().example, hashline, false), "{}", other.spec().name);
        }
    }

    #[test]
    fn single_format_is_detected_and_unwrapped() {
        let block = "a.rs\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n";
        assert_eq!(detect_format(block).unwrap_or_else(|error| panic!("{error}")).spec().name, "search_replace");
        let error = detect_format("only prose").err().unwrap();
        assert_eq!(error.code(), Code::EditUnparsable);
        let wrapped = serde_json::json!({ "input": block, "workdir": "/w" }).to_string();
        let understood = parse_any(&wrapped, None, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((understood.request.files[0].path.as_str(), understood.directory.as_deref()), ("a.rs", Some("/w")));
        assert!(understood.request.notes[0].to_string().contains("`input`"));
        let hunk = serde_json::json!({ "path": "b.rs", "diff": "@@\n-old\n+new\n" }).to_string();
        let understood = parse_any(&hunk, None, &ParseOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(understood.request.files[0].path, "b.rs");
    }
}
