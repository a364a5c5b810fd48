//! Conversion of parsed operations to a request, and errors that show the corrected patch.

use super::machine::{Section, What};
use super::marker;
use super::print::print;
use super::slips::{Slip, Slips};
use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::multi_edit::MOST_EDITS;
use crate::formats::stream::Manner;
use crate::op::{Ask, FileRequest, Hunk, NewFile, Op, Order, Request};
use std::collections::HashMap;

/// Characters of a line that a message shows.
const SHOWN: usize = 200;
/// Bytes of a corrected patch that an error shows; a longer one is cheaper to correct in place.
const LONGEST_FIX: usize = 4_000;

/// A problem with a line.
#[derive(Debug)]
pub(super) struct Problem {
    line: usize,
    shown: String,
    what: String,
    next: String,
    /// The intention is certain enough to show the corrected patch.
    pub(super) sure: bool,
}

impl Problem {
    pub(super) fn new(line: usize, shown_line: &str, what: impl Into<String>, next: impl Into<String>) -> Problem {
        Problem { line, shown: shown(shown_line).to_owned(), what: what.into(), next: next.into(), sure: false }
    }

    fn to_error(&self) -> Error {
        Error::new(Code::EditUnparsable, format!("Line {} of the request: {}", self.line, self.what))
            .evidence(format!("{}: {}", self.line, self.shown))
            .next(self.next.clone())
            .fact("line", self.line)
    }
}

/// The operations of a request, and the omitted ones.
pub(super) struct Built {
    files: Vec<FileRequest>,
    edits: usize,
    /// Line of the first chunk that changes nothing.
    idle: Option<usize>,
    problem: Option<Problem>,
}

/// Converts sections to operations. Those on one file are joined, unless something else touches the file in between.
pub(super) fn build(sections: Vec<Section>, slips: &mut Slips) -> Built {
    let mut out = Built { files: Vec::new(), edits: 0, idle: None, problem: None };
    // The entry that further edits of a file may join.
    let mut open: HashMap<String, usize> = HashMap::new();
    for Section { path, also, line, what } in sections {
        out.edits += 1;
        let known = open.remove(&path);
        let ask = match what {
            What::Add { text } => Ask::Create(NewFile::Text(text)),
            What::Delete => Ask::Delete { text: None },
            What::Update { to, hunks } => {
                let empty = hunks.is_empty();
                let ops = out.effective(hunks, slips);
                match (to, known) {
                    (Some(to), _) => {
                        open.remove(&to);
                        Ask::Move { to, ops }
                    }
                    (None, _) if empty => {
                        let header = format!("*** Update File: {path}");
                        let next =
                            "Write at least one chunk below it: `@@`, then lines that begin with ` `, `-` or `+`.";
                        out.problem.get_or_insert(Problem::new(line, &header, "the update has no chunk.", next));
                        continue;
                    }
                    (None, Some(at)) => {
                        if let Some(Ask::Edit { ops: earlier, .. }) = out.files.get_mut(at).map(|file| &mut file.ask) {
                            earlier.extend(ops);
                        }
                        open.insert(path, at);
                        continue;
                    }
                    (None, None) if ops.is_empty() => continue,
                    (None, None) => {
                        open.insert(path.clone(), out.files.len());
                        Ask::Edit { ops, order: Order::AsNeeded }
                    }
                }
            }
        };
        let also = if matches!(ask, Ask::Create(_)) { Vec::new() } else { also };
        out.files.push(FileRequest { also, ..FileRequest::new(path, ask) });
    }
    out
}

impl Built {
    /// Returns the operations of the chunks that change something.
    fn effective(&mut self, hunks: Vec<Hunk>, slips: &mut Slips) -> Vec<Op> {
        self.edits += hunks.len();
        let changes = |hunk: &Hunk| hunk.open.0 != hunk.open.1 || hunk.old_text() != hunk.new_text();
        let mut ops = Vec::with_capacity(hunks.len());
        for hunk in hunks {
            if changes(&hunk) {
                ops.push(hunk.into_op());
            } else {
                slips.add(Slip::SamePart, hunk.said_at);
                self.idle.get_or_insert(hunk.said_at);
            }
        }
        ops
    }
}

/// Returns the request, or the error.
pub(super) fn settle(built: Built, problem: Option<Problem>, manner: &Manner, notes: Vec<String>) -> Result<Request> {
    let Built { files, edits, idle, problem: empty } = built;
    let request = Request { files, notes };
    if let Some(problem) = problem {
        let error = problem.to_error();
        let fix = print(&request).filter(|text| problem.sure && empty.is_none() && text.len() <= LONGEST_FIX);
        return Err(match fix {
            Some(text) => error.next(format!("{} The whole patch, corrected:\n{text}", problem.next)),
            None => error,
        });
    }
    if let Some(problem) = empty {
        return Err(problem.to_error());
    }
    if edits > MOST_EDITS {
        let what = format!("{edits} operations and chunks are more than the {MOST_EDITS} that one call may have.");
        return Err(Error::new(Code::CallTooLarge, what).next("Send them in several calls."));
    }
    if request.files.is_empty() {
        let what = match idle {
            Some(line) => format!("Line {line} of the request: the chunk changes nothing, and neither does the rest."),
            None => "The patch has no operation: nothing was asked.".to_owned(),
        };
        return Err(Error::new(Code::EditNoChange, what)
            .next("Mark the lines to take away with `-` and the new ones with `+`."));
    }
    if manner.reverse {
        return request.reversed();
    }
    Ok(request)
}

/// Creates the error for a text without any patch.
pub(super) fn none() -> Error {
    let what = format!("There is no patch in it: no line says `{}`.", marker::BEGIN);
    Error::new(Code::EditUnparsable, what).next(format!(
        "Send `{}`, the operations (`*** Update File: PATH`, then `@@` and the changed lines), `{}`.",
        marker::BEGIN,
        marker::END
    ))
}

/// Creates the error for a patch without its end.
pub(super) fn cut(line: usize, last: &str, problem: Option<&Problem>) -> Error {
    let end = marker::END;
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

/// Returns a line as a message shows it.
pub(super) fn shown(line: &str) -> &str {
    line.char_indices().nth(SHOWN).map_or(line, |(at, _)| &line[..at])
}

/// Strips the first `count` directories from a name.
pub(super) fn stripped(name: &str, count: usize) -> Option<&str> {
    let mut rest = name;
    for _ in 0..count {
        rest = rest.split_once('/')?.1.trim_start_matches('/');
    }
    Some(rest)
}

/// True for `--- NAME` or `+++ NAME` (with the prefix `start`) of this file.
pub(super) fn names(line: &str, start: &str, path: &str) -> bool {
    let Some(name) = line.strip_prefix(start) else { return false };
    let name = marker::clean(name.split('\t').next().unwrap_or(name)).0;
    let bare = |name: &'_ str| name.strip_prefix("a/").or(name.strip_prefix("b/")).unwrap_or(name).to_owned();
    name == path || bare(name) == bare(path)
}

/// True for the lines of a git diff above its `---` line.
pub(super) fn is_diff_line(line: &str, path: &str) -> bool {
    if let Some(index) = line.strip_prefix("index ") {
        let (before, after) = index.split(' ').next().and_then(|ids| ids.split_once("..")).unwrap_or_default();
        let is_id = |id: &str| id.len() >= 4 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        return is_id(before) && is_id(after);
    }
    line.strip_prefix("diff --git ").is_some_and(|names| names.ends_with(path))
}
