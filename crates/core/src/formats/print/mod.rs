//! Printers: changes of files as text in a format, for `convert` and for errors that show a corrected edit.
//!
//! Every printed text is parsed and applied before it is returned. A change that a format cannot express is refused,
//! never approximated.

mod anchors;
mod apply_patch;
mod binary;
mod blocks;
mod git_name;
mod hashline;
mod hunk;
mod sequence;
mod unified;
mod whole;

pub(crate) use anchors::by_number as numbered_anchors;
pub use binary::binary_patch;
pub use git_name::{ended_name, quoted_name};
pub(crate) use unified::restore_bytes;

use crate::code::Code;
use crate::error::{Error, Result};
use crate::formats::{
    Format, FormatInput, anchors::WordAnchors, apply_patch::ApplyPatch, canonical_name, hashline::Hashline,
    search_replace::SearchReplace, unified_diff::UnifiedDiff, whole_file::WholeFile,
};
use crate::locate::op::{FileAction, FileMode, FileRequest, Locator, NewFile, Op, OpOrder, ResolveSettings};
use crate::locate::resolve::resolve;
use crate::text::snapshot::Snapshot;

/// The change of one file.
#[derive(Clone, Copy)]
pub struct FileDelta<'a> {
    /// The current path, or the former one of a deleted file.
    pub path: &'a str,
    /// The former path, if it changed.
    pub from: Option<&'a str>,
    /// The text before; `None` for a new file.
    pub before: Option<&'a Snapshot>,
    /// The current text; `None` for a deleted file.
    pub after: Option<&'a Snapshot>,
    /// The permissions before and now, if they changed or must be stated; `None` if they are not stated.
    pub modes: (Option<FileMode>, Option<FileMode>),
}

impl<'a> FileDelta<'a> {
    /// Creates the change of a file whose text was edited.
    pub fn edited(path: &'a str, before: &'a Snapshot, after: &'a Snapshot) -> FileDelta<'a> {
        FileDelta { path, from: None, before: Some(before), after: Some(after), modes: (None, None) }
    }

    /// The path of the text before.
    fn old_path(&self) -> &'a str {
        self.from.unwrap_or(self.path)
    }

    /// Returns a new file with its byte order mark in its text, because a format that creates files states all of it.
    fn marked(&self) -> Option<Snapshot> {
        let after = self.after.filter(|after| self.before.is_none() && after.codec().mark > 0)?;
        after.raw_text().map(Snapshot::from_text)
    }

    /// Returns the new permission, if it changed.
    fn new_mode(&self) -> Option<FileMode> {
        self.modes.1.filter(|mode| self.modes.0 != Some(*mode))
    }

    fn text_before(&self) -> &'a str {
        self.before.map_or("", Snapshot::text)
    }

    fn text_after(&self) -> &'a str {
        self.after.map_or("", Snapshot::text)
    }
}

/// A file before and after a change: what a [`FileDelta`] borrows.
pub struct FileVersions {
    /// The current path, or the former one of a deleted file.
    pub path: String,
    /// The former path, if it changed.
    pub from: Option<String>,
    /// The text before; `None` for a new file.
    pub before: Option<Snapshot>,
    /// The current text; `None` for a deleted file.
    pub after: Option<Snapshot>,
    /// Whether the file was executable, and whether it is; `None` where this is not stated.
    pub executable: (Option<bool>, Option<bool>),
}

impl FileVersions {
    /// Creates the removal of a file.
    pub fn removed(path: String, before: Snapshot) -> FileVersions {
        FileVersions { path, from: None, before: Some(before), after: None, executable: (None, None) }
    }

    /// Returns the change of the file.
    pub fn delta(&self) -> FileDelta<'_> {
        let mode = |executable| if executable { FileMode::Executable } else { FileMode::Regular };
        FileDelta {
            path: &self.path,
            from: self.from.as_deref(),
            before: self.before.as_ref(),
            after: self.after.as_ref(),
            modes: (self.executable.0.map(mode), self.executable.1.map(mode)),
        }
    }
}

/// A format that changes can be printed in.
pub struct PrintFormat {
    /// The name used in calls.
    pub name: &'static str,
    /// The format that parses the printed text.
    pub format: &'static dyn Format,
    /// Prints the changes, with at least this many context lines around each.
    print: fn(&[FileDelta<'_>], usize) -> Result<String>,
}

/// Every print format.
pub static PRINT_FORMATS: &[PrintFormat] = &[
    PrintFormat { name: "unified_diff", format: &UnifiedDiff, print: unified::print },
    PrintFormat { name: "apply_patch", format: &ApplyPatch, print: apply_patch::print },
    PrintFormat { name: "search_replace", format: &SearchReplace, print: blocks::print },
    PrintFormat { name: "whole_file", format: &WholeFile, print: whole::print },
    PrintFormat { name: "hashline", format: &Hashline::SEED, print: hashline::print },
    PrintFormat { name: "anchors", format: &WordAnchors, print: anchors::print },
];

/// Numbers of context lines around a change; the next number is tried if the parser does not find the place with the
/// previous one.
const CONTEXT_LINES: [usize; 3] = [3, 12, 100];

impl PrintFormat {
    /// Returns the print format with this name.
    pub fn target_by_name(name: &str) -> Option<&'static PrintFormat> {
        let own = canonical_name(name);
        PRINT_FORMATS.iter().find(|target| target.name == own)
    }

    /// Returns the print format that a call names.
    ///
    /// Errors: [`Code::CallInvalid`], with the names.
    pub fn requested(name: &str) -> Result<&'static PrintFormat> {
        PrintFormat::target_by_name(name).ok_or_else(|| {
            let names: Vec<&str> = PRINT_FORMATS.iter().map(|target| target.name).collect();
            Error::new(Code::CallInvalid, format!("`{name}` is not a format that edits can be converted to."))
                .next(format!("Use one of: {}.", names.join(", ")))
        })
    }

    /// Prints the changes as text that leads from the texts before to exactly the bytes after.
    ///
    /// Errors: [`Code::CallInvalid`] for a change that the format cannot express, [`Code::EditNoChange`] if there is
    /// none.
    pub fn print(&self, deltas: &[FileDelta<'_>]) -> Result<String> {
        if deltas.is_empty() {
            return Err(Error::new(Code::EditNoChange, "There is no change to print."));
        }
        for delta in deltas {
            let lines = delta.text_before().lines().chain(delta.text_after().split('\n'));
            if lines.into_iter().any(|line| line.ends_with('\r')) {
                return Err(unsaid(delta.path, "a line ends in a CR that belongs to its text"));
            }
        }
        let marked: Vec<Option<Snapshot>> = deltas.iter().map(FileDelta::marked).collect();
        let with_marks =
            deltas.iter().zip(&marked).map(|(it, after)| FileDelta { after: after.as_ref().or(it.after), ..*it });
        let deltas = &*sequence::in_sequence(&with_marks.collect::<Vec<_>>());
        let mut last = None;
        for context in CONTEXT_LINES {
            let text = (self.print)(deltas, context)?;
            match self.check(deltas, &text) {
                Ok(()) => return Ok(text),
                Err(error) => last = Some(error),
            }
        }
        let what = format!("{} cannot express this change.", self.name);
        let error = Error::new(Code::CallInvalid, what).next("Use another format, or write the file.");
        Err(last.map_or(error.clone(), |last| error.evidence(last.message())))
    }

    /// Parses a text and compares its effect with the actual changes.
    fn check(&self, deltas: &[FileDelta<'_>], text: &str) -> Result<()> {
        let request = self.format.parse(FormatInput::Text(text.to_owned()))?;
        if request.files.len() != deltas.len() {
            return Err(unsaid("it", "it is read as another number of files"));
        }
        for (file, delta) in request.files.iter().zip(deltas) {
            let (path, bytes) = outcome(file, delta.before)?.ok_or_else(|| misread(delta))?;
            let mode = delta.before.is_none() || delta.after.is_none() || file.mode == delta.new_mode();
            let is_sure = delta.before.is_some() || !file.must_exist;
            let same = bytes.as_deref() == delta.after.map(Snapshot::raw);
            if !(same && is_sure && mode && path == delta.path && file.path == delta.old_path()) {
                return Err(misread(delta));
            }
        }
        Ok(())
    }
}

/// Creates the error for a text that the parser would understand as another change.
fn misread(delta: &FileDelta<'_>) -> Error {
    unsaid(delta.path, "it would be read as another change")
}

/// Path of a file after a request, and its bytes; `None` if it is deleted.
type FileOutcome<'a> = (&'a str, Option<Vec<u8>>);

/// Applies a request to one file; `None` for a request that no printer produces.
fn outcome<'a>(file: &'a FileRequest, before: Option<&Snapshot>) -> Result<Option<FileOutcome<'a>>> {
    Ok(match &file.action {
        FileAction::Edit { ops, order } => Some((&*file.path, Some(apply_ops(before, ops, *order)?))),
        FileAction::Move { to, ops } => Some((&**to, Some(apply_ops(before, ops, OpOrder::Together)?))),
        FileAction::Write(text) if before.is_none() => Some((&*file.path, Some(text.clone().into_bytes()))),
        FileAction::Write(text) => {
            let whole = Op { at: Locator::Whole, text: text.clone() };
            Some((&*file.path, Some(apply_ops(before, &[whole], OpOrder::Together)?)))
        }
        FileAction::Create(NewFile::Text(text)) if before.is_none() => {
            Some((&*file.path, Some(text.clone().into_bytes())))
        }
        FileAction::Delete { .. } if before.is_some() => Some((&*file.path, None)),
        _ => None,
    })
}

/// Applies operations to the version before.
fn apply_ops(before: Option<&Snapshot>, ops: &[Op], order: OpOrder) -> Result<Vec<u8>> {
    match before {
        Some(before) if ops.is_empty() => Ok(before.raw().to_vec()),
        Some(before) => {
            let ops = anchors::by_number(before, ops)?;
            Ok(resolve(before, &ops, order, ResolveSettings::default())?.changes.apply(before))
        }
        None => {
            let empty = Snapshot::from_text("");
            Ok(resolve(&empty, ops, order, ResolveSettings::default())?.changes.apply(&empty))
        }
    }
}

/// Creates the error for a change that a format cannot express.
fn unsaid(path: &str, why: &str) -> Error {
    Error::new(Code::CallInvalid, format!("The change of {path} cannot be expressed in this format: {why}."))
        .next("Use another format, or write the file.")
}

#[cfg(test)]
mod tests;
