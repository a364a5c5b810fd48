//! Edits for which a text names several files, as a heading with one name above a sentence with another one does.

use crate::code::Code;
use crate::error::{Error, Result};
use crate::locate::op::{FileAction, FileRequest, Locator, Request};
use crate::text::snapshot::Snapshot;
use crate::work::{self, STEP_BYTES};
use memchr::memmem;

impl Request {
    /// Gives every file that has rivals the only one of its names that can be meant: that of a file that exists, or the
    /// only such file with the texts that the edits search for.
    ///
    /// Errors: [`Code::EditUnparsable`] if several names are possible.
    pub fn choose_names(
        &mut self,
        exists: impl Fn(&str) -> bool,
        text: impl Fn(&str) -> Option<Snapshot>,
    ) -> Result<()> {
        let Request { files, notes } = self;
        for file in files.iter_mut().filter(|file| !file.rivals.is_empty()) {
            let names: Vec<&str> = std::iter::once(&file.path).chain(&file.rivals).map(String::as_str).collect();
            let possible: Vec<&str> =
                names.iter().copied().filter(|name| exists(name) != file.action.creates()).collect();
            let chosen = match &*possible {
                [] => continue,
                [only] => (*only).to_owned(),
                several => {
                    let texts: Vec<Option<Snapshot>> = several.iter().map(|name| text(name)).collect();
                    let Some(only) = only_with_targets(file, &texts) else { return Err(unclear(several)) };
                    let only = several[only];
                    notes.push(format!(
                        "The lines above a block name {}; only {only} has the text that the block searches for.",
                        several.join(" and ")
                    ));
                    only.to_owned()
                }
            };
            file.path = chosen;
            file.rivals.clear();
        }
        Ok(())
    }
}

/// Returns the only text with everything that the edits of a file search for; if none has it exactly, the only one that
/// has all of the lines without their indentation. A file that cannot be read may have everything.
fn only_with_targets(file: &FileRequest, texts: &[Option<Snapshot>]) -> Option<usize> {
    let exact: fn(&str, &str) -> bool = |text, old| match old.strip_suffix('\n') {
        Some(lines) => contains(text, lines, true),
        None => contains(text, old, false),
    };
    let lines: fn(&str, &str) -> bool = |text, old| old.lines().all(|line| contains(text, line.trim(), false));
    for is_in in [exact, lines] {
        let mut fitting = (0..texts.len())
            .filter(|at| texts[*at].as_ref().is_none_or(|text| has_targets(file, |old| is_in(text.text(), old))));
        if let Some(first) = fitting.next() {
            return fitting.next().is_none().then_some(first);
        }
    }
    None
}

/// True if all texts that the edits of a file search for are found.
fn has_targets(file: &FileRequest, is_found: impl Fn(&str) -> bool) -> bool {
    let FileAction::Edit { ops, .. } = &file.action else { return true };
    ops.iter().all(|op| matches!(&op.at, Locator::Find(find) if is_found(&find.old)))
}

/// Searches a text for another one, which may have to be whole lines, within the work of the call.
fn contains(text: &str, old: &str, is_lines: bool) -> bool {
    let bytes = text.as_bytes();
    let is_line_end = |at: usize| matches!(bytes.get(at), None | Some(b'\n' | b'\r'));
    !work::spend_or_end(1 + text.len() / STEP_BYTES)
        && memmem::find_iter(bytes, old.as_bytes())
            .any(|at| !is_lines || (at == 0 || is_line_end(at - 1)) && is_line_end(at + old.len()))
}

fn unclear(names: &[&str]) -> Error {
    let what = format!("The lines above a block name {}, and it is not clear which is meant.", names.join(" and "));
    Error::new(Code::EditUnparsable, what).next("Put the path of the file alone on the line directly above the block.")
}
