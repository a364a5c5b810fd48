//! Tool calls for edits that a reply contains as text: JSON, tags, or the marks of a model's chat template, with prose
//! around them. Only literal arguments are parsed; nothing is guessed about a call that is not an edit.

mod arguments;
mod fields;
mod json;
mod tags;

pub(super) use arguments::{NEW_FIELDS, OLD_FIELDS, PATH_FIELDS};
pub(super) use fields::{FieldRole, role};
pub(super) use tags::attributes;

use super::line_parser::ParseOptions;
use super::parsed_text::ParsedText;
use super::ranges::{FormatRanges, KnownRanges};
use super::whole_file;
use super::{FormatInput, call_literal, format_by_name, stray_edits};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{FileAction, FileRequest, Locator, Op, OpOrder, Request};
use crate::work;
use core::ops::Range;
use serde_json::Value;

/// Maximum number of places of a text at which a call is tried; each costs one pass at most.
const CALLS_TRIED_MAX: usize = 128;

/// Marks around calls that have no meaning of their own.
const FRAMES: [&str; 16] = [
    "<tool_call>", "</tool_call>", "<tool_calls>", "</tool_calls>", "<tool_use>", "</tool_use>", "<tools>", "</tools>",
    "<function_call>", "</function_call>", "<function_calls>", "</function_calls>", "[TOOL_CALLS]", "[TOOL_CALL]",
    "[/TOOL_CALL]", "<|python_tag|>",
];

/// A call in a text.
#[derive(Debug, PartialEq)]
struct WrittenCall {
    /// The tool's name, if the call has one.
    name: Option<String>,
    /// The arguments of the call.
    arguments: Value,
    /// The byte range of the call in the text.
    bytes: Range<usize>,
}

/// The calls of a text.
#[derive(Debug, Default)]
struct FoundCalls {
    /// The calls from first to last.
    list: Vec<WrittenCall>,
    /// Offset of the first call that begins but could not be parsed.
    broken: Option<usize>,
}

/// Parses a text that consists of calls for edits and prose; `None` for any other text.
pub(super) fn parse(text: &str, options: &ParseOptions, known: &mut KnownRanges) -> Option<Result<ParsedText>> {
    let FoundCalls { list, broken } = find(text);
    let (calls, how) = match list {
        calls if calls.is_empty() && known.of(text).is_empty() => (literals(text)?, "in code"),
        calls if calls.is_empty() => return None,
        calls if text[calls[0].bytes.start..].starts_with('<') => (calls, "in tags"),
        calls => (calls, "as JSON"),
    };
    let converted: Vec<(&'static str, Value)> = calls
        .iter()
        .flat_map(|call| arguments::by_file(&call.arguments).into_iter().map(|of_file| (call.name.as_deref(), of_file)))
        .map(|(name, of_file)| arguments::converted(name, &of_file, options.file.as_deref()))
        .collect::<Option<_>>()?;
    let ranges: Vec<Range<usize>> = calls.iter().map(|call| lines_of(text, &call.bytes)).collect();
    // A fence in an argument is a line of the file that the call changes.
    let files = || whole_file::ranges_beside(text, &ranges);
    let is_quiet = |(format, found): &FormatRanges| {
        is_inside(found, &ranges) || format.spec().name == "whole_file" && is_inside(&files(), &ranges)
    };
    if !known.of(text).iter().all(is_quiet) {
        return None;
    }
    if let Some(at) = broken {
        return Some(Err(unread_call(text, at)));
    }
    let (name, _) = *converted.first()?;
    let format = format_by_name(name)?;
    if let Some(error) = stray_edits::check_stray_edits(text, format, &ranges) {
        return Some(Err(error));
    }
    let count = converted.len();
    let request = merged(converted, count);
    Some(request.map(|mut request| {
        let what = match calls.len() {
            1 => format!("The text is a call {how}; it was read as the arguments of `{name}`."),
            count => format!("The text has {count} calls {how}; they were read as one change."),
        };
        request.notes.push_front(what);
        ParsedText { format, request, directory: None }
    }))
}

/// Returns the lines of the calls of a text.
pub(super) fn ranges(text: &str) -> Vec<Range<usize>> {
    let calls = find(text).list.into_iter().chain(literals(text).into_iter().flatten());
    calls.map(|call| lines_of(text, &call.bytes)).collect()
}

/// Returns the only call of a text as arguments of `edit`, `multi_edit` or `write`, for a hint.
pub(super) fn hint(text: &str) -> Option<Value> {
    let mut calls = find(text).list.into_iter().chain(literals(text).into_iter().flatten());
    let call = calls.next()?;
    let same = arguments::call_of(None, &call.arguments)?;
    let format = if same.get("content").is_some() { "write" } else { "replace" };
    (calls.next().is_none() && arguments::fits_name(call.name.as_deref(), format)).then_some(same)
}

/// Creates the error for a call that begins at this offset, next to other calls, and cannot be parsed.
fn unread_call(text: &str, at: usize) -> Error {
    let line = text[..at].matches('\n').count() + 1;
    let what =
        format!("Line {line} of the request: a tool call begins that could not be read; it may have been cut off.");
    Error::new(Code::EditUnparsable, what)
        .next("Send all calls again, each complete; nothing was changed.")
        .fact("line", line)
}

/// True if all ranges that a format detected are inside of calls.
fn is_inside(found: &[Range<usize>], calls: &[Range<usize>]) -> bool {
    found.iter().all(|inner| calls.iter().any(|call| call.start <= inner.start && inner.end <= call.end))
}

/// Returns the lines that contain a byte range.
fn lines_of(text: &str, bytes: &Range<usize>) -> Range<usize> {
    let first = text[..bytes.start].matches('\n').count();
    first..first + text[bytes.clone()].trim_end_matches('\n').matches('\n').count() + 1
}

/// Returns the calls written as code; each begins a line.
fn literals(text: &str) -> Option<Vec<WrittenCall>> {
    let calls = call_literal::calls(text)?.into_iter();
    Some(calls.map(|(arguments, bytes)| WrittenCall { name: None, arguments, bytes }).collect())
}

/// Combines calls; edits of one file become one list.
///
/// Errors: those of the calls, with the number of the call if there are several.
fn merged(converted: Vec<(&'static str, Value)>, count: usize) -> Result<Request> {
    let mut out = Request::default();
    let mut errors: Vec<Error> = Vec::new();
    for (nth, (name, arguments)) in converted.into_iter().enumerate() {
        let Some(format) = format_by_name(name) else { continue };
        match format.parse(FormatInput::Json(arguments)) {
            Ok(request) => request.files.into_iter().for_each(|file| add(&mut out.files, file)),
            Err(error) if count == 1 => errors.push(error),
            Err(error) => errors.push(error.prefixed(&format!("Call {}: ", nth + 1))),
        }
    }
    Error::combine(errors, count).map_or(Ok(out), Err)
}

/// Adds the change of a file; edits by text join those of a preceding call for the same file.
fn add(files: &mut Vec<FileRequest>, file: FileRequest) {
    let by_text = |ops: &[Op]| ops.iter().all(|op| matches!(op.at, Locator::Find(_)));
    if let Some(last) = files.last_mut().filter(|last| last.path == file.path)
        && let (FileAction::Edit { ops, order }, FileAction::Edit { ops: more, .. }) = (&mut last.action, &file.action)
        && by_text(ops)
        && by_text(more)
    {
        ops.extend(more.iter().cloned());
        *order = OpOrder::AsNeeded;
        return;
    }
    files.push(file);
}

/// Finds the calls of a text.
fn find(text: &str) -> FoundCalls {
    let mut found = FoundCalls::default();
    let (mut at, mut read) = (0, 0);
    // True directly after a mark that must be followed by a call.
    let mut opened = false;
    // The last list that could not be read, and whether its first element is a call.
    let mut list: Option<(usize, bool)> = None;
    for _ in 0..CALLS_TRIED_MAX {
        let Some(start) = next_start(text, at, read) else { break };
        let rest = &text[start..];
        if work::spend_or_end(rest.len() / (4 * work::STEP_BYTES)) {
            break;
        }
        if let Some(frame) = FRAMES.iter().find(|frame| rest.starts_with(**frame)) {
            at = start + frame.len();
            read = at;
            opened = !frame[1..].starts_with('/');
            continue;
        }
        let parsed = if rest.starts_with('<') { tags::call(rest) } else { json::calls(rest) };
        if let Some((calls, len)) = parsed {
            at = start + len;
            read = at;
            list = list.map(|(open, begins)| (open, begins || text[open + 1..start].trim().is_empty()));
            let calls = calls.into_iter();
            found.list.extend(calls.map(|(name, arguments)| WrittenCall { name, arguments, bytes: start..at }));
        } else {
            at = start + 1;
            if opened
                || tags::begins(rest)
                || found.list.iter().any(|call| begins_like(rest, &text[call.bytes.clone()]))
            {
                found.broken = found.broken.or(Some(start));
            }
            list = if rest.starts_with('[') { Some((start, false)) } else { list };
        }
        opened = false;
    }
    if let (Some((open, true)), Some(last)) = (list, found.list.last()) {
        let below = text[last.bytes.end..].trim_start_matches(|ch: char| ch == ',' || ch.is_whitespace());
        found.broken = found.broken.or_else(|| (!below.starts_with(']')).then_some(open));
    }
    found
}

/// True for a text that begins with the tag of a call, or that ends inside of it or of a mark around calls.
fn begins_like(text: &str, call: &str) -> bool {
    let tag = call.split(['>', ' ', '\n']).next().filter(|tag| tag.starts_with('<'));
    let has_tag = tag.and_then(|tag| text.strip_prefix(tag)).is_some_and(|rest| rest.starts_with(['>', ' ', '\n']));
    let end = text.trim_end();
    has_tag || end.len() > 1 && (call.starts_with(end) || FRAMES.iter().any(|frame| frame.starts_with(end)))
}

/// Returns the next offset from `at` at which a call may begin: at the start of a line, or directly after `read`, the
/// end of what was parsed so far.
fn next_start(text: &str, at: usize, read: usize) -> Option<usize> {
    let mut from = at;
    loop {
        let start = from + memchr::memchr3(b'<', b'{', b'[', text.as_bytes().get(from..)?)?;
        let line = text[..start].rfind('\n').map_or(0, |end| end + 1);
        if text[line.max(read)..start].trim().is_empty() {
            return Some(start);
        }
        // No call begins in the rest of this line.
        from = start + text[start..].find('\n')?;
    }
}

#[cfg(test)]
mod tests;
