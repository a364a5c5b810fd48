//! Conversion of parsed operations to a request, and errors that show the corrected patch.

use super::marker;
use super::mistakes::{ApplyPatchMistake, ApplyPatchMistakes};
use super::parser::{PatchSection, SectionAction};
use super::print::print;
use crate::advice::Advice;
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::line_parser::ParseOptions;
use crate::locate::doubled_plus;
use crate::locate::op::EDITS_PER_CALL_MAX;
use crate::locate::op::{FileAction, FileRequest, Hunk, HunkLineKind, NewFile, Op, OpOrder, Request};
use crate::note::Notes;
use std::collections::HashMap;

/// Maximum number of characters of a line that a message shows.
const LINE_CHARS_MAX: usize = 200;
/// Maximum bytes of a corrected patch that an error shows; a longer one is cheaper to correct in place.
const CORRECTED_PATCH_BYTES_MAX: usize = 4_000;

/// A problem with a line.
#[derive(Debug)]
pub(super) struct PatchProblem {
    line: usize,
    shown: String,
    what: String,
    next: Advice,
    /// True if the intention is certain enough to show the corrected patch.
    pub(super) sure: bool,
}

impl PatchProblem {
    pub(super) fn new(line: usize, shown_line: &str, what: impl Into<String>, next: impl Into<Advice>) -> PatchProblem {
        PatchProblem { line, shown: shown(shown_line).to_owned(), what: what.into(), next: next.into(), sure: false }
    }

    fn to_error(&self) -> Error {
        Error::new(Code::EditUnparsable, format!("Line {} of the request: {}", self.line, self.what))
            .evidence(format!("{}: {}", self.line, self.shown))
            .next(self.next.clone())
            .fact("line", self.line)
    }
}

/// The operations of a request, and those that were omitted.
pub(super) struct BuiltRequest {
    files: Vec<FileRequest>,
    edits: usize,
    /// Line of the first chunk that changes nothing.
    idle: Option<usize>,
    problem: Option<PatchProblem>,
}

/// Converts sections to operations. Those on one file are joined, unless something else touches the file in between.
pub(super) fn build(sections: Vec<PatchSection>, mistakes: &mut ApplyPatchMistakes) -> BuiltRequest {
    let mut out = BuiltRequest { files: Vec::new(), edits: 0, idle: None, problem: None };
    // The entry that further edits of a file may join.
    let mut open: HashMap<String, usize> = HashMap::new();
    for PatchSection { path, also, bare_to, line, action: what } in sections {
        out.edits += 1;
        let known = open.remove(&path);
        let action = match what {
            SectionAction::Add { text } => {
                if doubled_plus::is_suspected(text.lines()) && !doubled_plus::is_patch_name(&path) {
                    let header = format!("*** Add File: {path}");
                    out.problem.get_or_insert(PatchProblem::new(
                        line,
                        &header,
                        doubled_plus::NEW_FILE_PROBLEM,
                        doubled_plus::NEW_FILE_ADVICE,
                    ));
                }
                FileAction::Create(NewFile::Text(text))
            }
            SectionAction::Delete => FileAction::Delete { text: None },
            SectionAction::Update { to, hunks } => {
                let empty = hunks.is_empty();
                if let Some(text) = unmarked_without_change(&hunks) {
                    let header = format!("*** Update File: {path}");
                    let what = format!("no chunk of this update changes anything, and lines have no sign: `{text}`.");
                    out.problem.get_or_insert(PatchProblem::new(line, &header, what, SIGNS_ADVICE));
                }
                let ops = out.effective(hunks, mistakes);
                match (to, known) {
                    (Some(to), _) => {
                        open.remove(&to);
                        FileAction::Move { to, ops }
                    }
                    (None, _) if empty => {
                        let header = format!("*** Update File: {path}");
                        let next =
                            "Write at least one chunk below it: `@@`, then lines that begin with ` `, `-` or `+`.";
                        out.problem.get_or_insert(PatchProblem::new(line, &header, "the update has no chunk.", next));
                        continue;
                    }
                    (None, Some(at)) => {
                        if let Some(FileAction::Edit { ops: earlier, .. }) =
                            out.files.get_mut(at).map(|file| &mut file.action)
                        {
                            earlier.extend(ops);
                        }
                        open.insert(path, at);
                        continue;
                    }
                    (None, None) if ops.is_empty() => continue,
                    (None, None) => {
                        open.insert(path.clone(), out.files.len());
                        FileAction::Edit { ops, order: OpOrder::AsNeeded }
                    }
                }
            }
        };
        let also = if matches!(action, FileAction::Create(_)) { Vec::new() } else { also };
        let is_prefixed = !also.is_empty();
        out.files.push(FileRequest {
            alternatives: also,
            bare_destination: bare_to.filter(|_| is_prefixed),
            ..FileRequest::new(path, action)
        });
    }
    out
}

/// The advice for an update of which nobody knows which lines are new.
const SIGNS_ADVICE: &str = "Begin each line with a space (it stays), `-` (removed) or `+` (new); or leave the file out, if it is not to change.";

/// True for a chunk that changes nothing.
fn is_idle(hunk: &Hunk) -> bool {
    hunk.open.0 == hunk.open.1 && hunk.old_text() == hunk.new_text()
}

/// Returns the first line of a chunk without a mark that is not blank.
fn unmarked(hunk: &Hunk) -> Option<&str> {
    hunk.lines
        .iter()
        .find(|line| line.kind == HunkLineKind::Bare && !line.text.trim().is_empty())
        .map(|line| &*line.text)
}

/// Returns the first line without a mark, if no chunk changes anything: such lines may be meant as new ones.
fn unmarked_without_change(hunks: &[Hunk]) -> Option<&str> {
    hunks.iter().find_map(unmarked).filter(|_| hunks.iter().all(is_idle)).map(shown)
}

impl BuiltRequest {
    /// Returns the operations for those chunks that change something. Beside these, a chunk that only has lines without a
    /// mark must be found as well: they may be no lines of the file at all.
    fn effective(&mut self, hunks: Vec<Hunk>, mistakes: &mut ApplyPatchMistakes) -> Vec<Op> {
        self.edits += hunks.len();
        let idle: Vec<bool> = hunks.iter().map(is_idle).collect();
        let changes = idle.contains(&false);
        let mut ops = Vec::with_capacity(hunks.len());
        for (hunk, is_idle) in hunks.into_iter().zip(idle) {
            if !is_idle || changes && unmarked(&hunk).is_some() {
                ops.push(hunk.into_op());
            } else {
                mistakes.add(ApplyPatchMistake::SamePart, hunk.source_line);
                self.idle.get_or_insert(hunk.source_line);
            }
        }
        ops
    }
}

/// Returns the request, or the error.
pub(super) fn into_request(
    built: BuiltRequest,
    problem: Option<PatchProblem>,
    options: &ParseOptions,
    notes: Notes,
) -> Result<Request> {
    let BuiltRequest { files, edits, idle, problem: empty } = built;
    let request = Request { files, notes };
    if let Some(problem) = problem {
        let error = problem.to_error();
        let fix =
            print(&request).filter(|text| problem.sure && empty.is_none() && text.len() <= CORRECTED_PATCH_BYTES_MAX);
        return Err(match fix {
            Some(text) => error.next(problem.next.and(&format!("The whole patch, corrected:\n{text}").into())),
            None => error,
        });
    }
    if let Some(problem) = empty {
        return Err(problem.to_error());
    }
    if edits > EDITS_PER_CALL_MAX {
        let what =
            format!("{edits} operations and chunks are more than the {EDITS_PER_CALL_MAX} that one call may have.");
        return Err(Error::new(Code::CallTooLarge, what).next("Send them in several calls."));
    }
    if request.files.is_empty() {
        let what = match idle {
            Some(line) => format!("Line {line} of the request: the chunk changes nothing, and neither do the others."),
            None => "The patch has no operation.".to_owned(),
        };
        return Err(
            Error::new(Code::EditNoChange, what).next("Mark the lines to remove with `-` and the new ones with `+`.")
        );
    }
    if options.reverse {
        return request.reverse();
    }
    Ok(request)
}

/// Creates the error for a text that contains no patch.
pub(super) fn no_patch() -> Error {
    let what = format!("The text contains no patch: there is no line `{}`.", marker::BEGIN_MARKER);
    Error::new(Code::EditUnparsable, what).next(format!(
        "Send `{}`, the operations (`*** Update File: PATH`, then `@@` and the changed lines), `{}`.",
        marker::BEGIN_MARKER,
        marker::END_MARKER
    ))
}

/// Creates the error for a patch that has no end.
pub(super) fn truncated(line: usize, last: &str, problem: Option<&PatchProblem>) -> Error {
    let end = marker::END_MARKER;
    let indented = if last.trim() == end { ", in the first column" } else { "" };
    let error = Error::new(
        Code::EditUnparsable,
        format!("The patch may be cut off: `{end}` is missing; line {line} of the request is its last."),
    );
    let error = error.evidence(format!("{line}: {last}")).fact("line", line);
    let error = match problem {
        Some(problem) => error.evidence(problem.to_error().message()),
        None => error,
    };
    error.next(format!("Send the whole patch again, with `{end}` as its last line{indented}."))
}

/// Returns a line as it is shown in a message.
pub(super) fn shown(line: &str) -> &str {
    line.char_indices().nth(LINE_CHARS_MAX).map_or(line, |(at, _)| &line[..at])
}

/// Strips the first `count` directories from a name.
pub(super) fn strip_directories(name: &str, count: usize) -> Option<&str> {
    let mut rest = name;
    for _ in 0..count {
        rest = rest.split_once('/')?.1.trim_start_matches('/');
    }
    Some(rest)
}

/// True for `--- NAME` or `+++ NAME` (with the prefix `start`) of this file.
pub(super) fn is_file_header(line: &str, start: &str, path: &str) -> bool {
    let Some(name) = line.strip_prefix(start) else { return false };
    let name = marker::clean(name.split('\t').next().unwrap_or(name)).0;
    name == path || without_side(name) == without_side(path)
}

/// Returns a name without the prefix `a/` or `b/` of a git diff.
fn without_side(name: &str) -> &str {
    name.strip_prefix("a/").or(name.strip_prefix("b/")).unwrap_or(name)
}

/// True for the lines of a git diff above its `---` line.
pub(super) fn is_diff_line(line: &str, path: &str) -> bool {
    if let Some(index) = line.strip_prefix("index ") {
        let (before, after) = index.split(' ').next().and_then(|ids| ids.split_once("..")).unwrap_or_default();
        return is_object_id(before) && is_object_id(after);
    }
    line.strip_prefix("diff --git ").is_some_and(|names| names.ends_with(path))
}

/// True for an abbreviated object id.
fn is_object_id(id: &str) -> bool {
    id.len() >= 4 && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}
